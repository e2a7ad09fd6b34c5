/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frag: the flow of later fragments.
 *
 * The tuples of the FRAG_DATAGRAMS latest first fragments, by addresses, protocol and id: one more
 * takes the place of the oldest, so memory is bounded and what is found is the same for any secret
 * of the hash. One thread; O(1).
 */
#ifndef TAMIS_CT_FRAG_H
#define TAMIS_CT_FRAG_H

#include "ct/ct.h"

enum { FRAG_DATAGRAMS = 4096 };
#define FRAG_LIFETIME_NS (30 * 1000000000ULL)

struct frag_cache; /* opaque */

int frag_cache_new(struct frag_cache **out);
void frag_cache_free(struct frag_cache *c);
/* Packet i is the first fragment of a datagram of this tuple. */
void frag_remember(struct frag_cache *c, const struct burst *b, unsigned i,
		   const struct ct_tuple *tuple);
/* The tuple of the datagram that packet i is a later fragment of; NULL. */
const struct ct_tuple *frag_recall(struct frag_cache *c, const struct burst *b, unsigned i);

#endif
