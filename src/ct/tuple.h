/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tuple: a packet's addresses and ports, or what its protocol has in their place, as the key of a
 * flow, and the same seen from the other side. Pure functions.
 */
#ifndef TAMIS_CT_TUPLE_H
#define TAMIS_CT_TUPLE_H

#include "ct/ct.h"

_Static_assert(sizeof(struct ct_tuple) == 40,
	       "no padding: tuples are hashed and compared as bytes");

/* The tuple of packet i, which is IP; false if the transport header's part of it is not there. */
bool tuple_of_packet(const struct burst *b, unsigned i, struct ct_tuple *out);
/* The tuple of the packet that begins at `off` of packet i, quoted in an ICMP error. */
bool tuple_of_quote(const struct burst *b, unsigned i, uint8_t family, uint32_t off,
		    struct ct_tuple *out);
/* The tuple of answers; false if there is none: an ICMP type that is no query and no answer. */
bool tuple_invert(const struct ct_tuple *in, struct ct_tuple *out);
/* True for types of ICMP and ICMPv6 that may begin a flow: queries. */
bool icmp_type_is_query(uint8_t l4proto, uint8_t type);

#endif
