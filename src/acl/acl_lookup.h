/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acl_lookup: the read side for those that have keys of their own making. Any worker, wait-free.
 */
#ifndef TAMIS_ACL_LOOKUP_H
#define TAMIS_ACL_LOOKUP_H

#include <tamis/acl.h>

#include "acl/classifier.h"

/* Makes a key of a packet's. `fragments`: tamis_acls_fragments(). */
void acl_key_set(struct cls_key *key, const struct tamis_acl_key *k, bool fragments);

/* tamis_acl_lookup() of keys that are set. */
uint64_t acl_lookup(const struct tamis_acl_context *ctx, const struct cls_key *keys, uint64_t mask,
		    struct tamis_acl_hit *hits);

/* True if the context has no ACLs: it judges nothing. */
bool acl_context_empty(const struct tamis_acl_context *ctx);
/* fn is told when the context, empty now, gets its first ACL and when it loses its last one. By the
 * control thread, inside the change, which may be taken back. */
void acl_context_watch(struct tamis_acl_context *ctx, void (*fn)(void *arg, bool any), void *arg);
/* True if some entry of these ACLs is permit+reflect. */
bool acls_reflect(const struct tamis_acls *a);

/*
 * The first match of packets in a MAC-IP ACL, whose keys are macip_key_set()'s. Packets without a
 * match, and those of protocols that such an ACL does not know, are denied. An ACL that is gone
 * matches nothing.
 */
void macip_key_set(struct cls_key *k, unsigned family, const uint8_t mac[6], const uint8_t *src);
uint64_t macip_lookup(const struct tamis_acls *a, uint32_t index, const struct cls_key *keys,
		      uint64_t mask, struct tamis_acl_hit *hits);

#endif
