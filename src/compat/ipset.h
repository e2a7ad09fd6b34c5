/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipset: the language of ipset(8) as `ipset restore` reads it: sets, and their place in nft's
 *world.
 *
 *	ipset_new(&s);
 *	ipset_restore(s, path, messages)	once or more
 *	ipset_publish(s, t, now, messages)	the sets stand in table `inet global`
 *	ipset_free(s);
 *
 * A restore carries out create, add, del, flush, destroy, rename and swap with the checks and words
 * of ipset 7.17; the first error ends it and names its line. Nothing of it reaches an engine before
 * ipset_publish(), which is one transaction.
 *
 * What stands for a set, type by type, is what `ipset-translate` makes of it: `ipv4_addr`,
 * `ether_addr`, `mark`, `ifname`, and for a port `inet_proto . inet_service` (an ICMP type and code
 * as the number 256 * type + code). Sets of networks, and those with a netmask or markmask, have
 * `flags interval`. Exceptions (`nomatch`) are cut out of the networks around them, most specific
 * first as ipset looks them up. A list:set is the union of its members at the time of publishing.
 *
 * Refused, since no nft set can hold them: masks with holes, `physdev:` interfaces, exceptions that
 * expire before what they are exceptions from, names that are no names in nft. Read and without
 * effect: hashsize, bucketsize, initval, skbinfo and its values. With forceadd a full set gives up
 * its oldest element.
 *
 * Cost: O(1) for each line; ranges cost their addresses, as in ipset; publishing that of the sets,
 * and networks times exceptions. The engine's thread.
 */
#ifndef TAMIS_COMPAT_IPSET_H
#define TAMIS_COMPAT_IPSET_H

#include <tamis/tamis.h>

#include "base/strbuf.h"

struct ipset; /* opaque: sets by name */

int ipset_new(struct ipset **out);
void ipset_free(struct ipset *s);

/*
 * Carries out the lines of a file, "-" for standard input. 0; -EINVAL with "FILE: Error in line N:
 * ..." in `messages`; -ENOENT, -EACCES, ...: the file could not be read; -ENOMEM. After an error
 * only ipset_free() may follow.
 */
int ipset_restore(struct ipset *s, const char *path, struct strbuf *messages);

/* 0, -EINVAL with messages, -ENOMEM; after an error the engine is as it was. */
int ipset_publish(struct ipset *s, struct tamis *t, uint64_t now, struct strbuf *messages);

#endif
