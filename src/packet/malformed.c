/* SPDX-License-Identifier: Apache-2.0 */
/* malformed: the names of the reasons. Pure functions, any thread. */
#include "packet/burst.h"

static const char *const texts[] = {
#define X(name, text) [MALFORMED_##name] = text,
	MALFORMED_REASONS(X)
#undef X
};

static const char *const names[] = {
	[MALFORMED_LINK] = "link",
	[MALFORMED_VLAN] = "vlan",
	[MALFORMED_ARP] = "arp",
	[MALFORMED_IP_VERSION] = "ip-version",
	[MALFORMED_IP_HEADER] = "ip-header",
	[MALFORMED_IP_LENGTH] = "ip-length",
	[MALFORMED_IP_CHECKSUM] = "ip-checksum",
	[MALFORMED_IP_OPTIONS] = "ip-options",
	[MALFORMED_EXTHDR] = "exthdr",
	[MALFORMED_FRAGMENT] = "fragment",
	[MALFORMED_TRANSPORT] = "transport",
	[MALFORMED_TCP_OFFSET] = "tcp-offset",
	[MALFORMED_UDP_LENGTH] = "udp-length",
	[MALFORMED_SCTP_CHUNK] = "sctp-chunk",
};

_Static_assert(ARRAY_SIZE(texts) == MALFORMED_KINDS, "a text for each reason");
_Static_assert(ARRAY_SIZE(names) == MALFORMED_KINDS, "a name for each reason");
_Static_assert(MALFORMED_KINDS <= 8 * sizeof(((struct burst *)0)->malformed[0]), "a bit a reason");

const char *malformed_reason_name(enum malformed_reason r)
{
	return names[r];
}

const char *malformed_reason_text(enum malformed_reason r)
{
	return texts[r];
}
