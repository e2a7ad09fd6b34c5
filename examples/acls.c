/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acls: access lists and a lookup context alone, without a ruleset: two ACLs in a context, a burst
 * of keys, one entry more while it is in use, and what each entry counted.
 *
 *	cc acls.c $(pkg-config --cflags --libs tamis) -o acls && ./acls
 */
#include <stdio.h>
#include <string.h>
#include <tamis/acl.h>

static struct tamis_acl_rule to_port(enum tamis_acl_action action, uint16_t port)
{
	struct tamis_acl_rule r;

	tamis_acl_rule_init(&r, action, 4);
	r.proto = 6;
	r.dport_first = r.dport_last = port;
	return r;
}

static int print_entry(void *arg, const struct tamis_acl_entry *e)
{
	printf("ACL %u, entry %u: %llu packets\n", *(const uint32_t *)arg, (unsigned)e->position,
	       (unsigned long long)e->count.packets);
	return 0;
}

static void judge(struct tamis_acl_worker *w, const struct tamis_acl_context *ctx)
{
	static const uint16_t ports[] = {443, 22, 8080};
	struct tamis_acl_key keys[TAMIS_BURST_MAX] = {{0}};
	struct tamis_acl_hit hits[TAMIS_BURST_MAX];
	uint64_t hit;

	for (unsigned i = 0; i < 3; i++) {
		keys[i].family = 4;
		keys[i].proto = 6;
		keys[i].dport = ports[i];
		memcpy(keys[i].src, "\xcb\x00\x71\x07", 4);
		memcpy(keys[i].dst, "\xc0\x00\x02\x01", 4);
	}
	hit = tamis_acl_lookup(w, ctx, keys, 7, hits);
	for (unsigned i = 0; i < 3; i++) {
		if (!(hit >> i & 1)) {
			printf("port %u: denied, no entry matches\n", ports[i]);
			continue;
		}
		printf("port %u: %s by ACL %u\n", ports[i],
		       hits[i].action == TAMIS_ACL_DENY ? "denied" : "permitted", hits[i].acl);
		tamis_acl_count(w, hits[i].entry, 40);
	}
	tamis_acl_quiescent(w);
}

int main(void)
{
	struct tamis_acl_rule deny = to_port(TAMIS_ACL_DENY, 22), more;
	struct tamis_acl_rule web = to_port(TAMIS_ACL_PERMIT, 443);
	struct tamis_acl_context *ctx = NULL;
	struct tamis_acl_worker *w = NULL;
	struct tamis_acls *a = NULL;
	uint32_t first = TAMIS_ACL_NEW, second = TAMIS_ACL_NEW;
	tamis_acl_handle entry;
	int err = tamis_acls_new(NULL, &a);

	if (!err)
		err = tamis_acl_put(a, &first, "closed", &deny, 1);
	if (!err)
		err = tamis_acl_put(a, &second, "open", &web, 1);
	if (!err)
		err = tamis_acl_context_new(a, &ctx);
	if (!err)
		err = tamis_acl_context_insert(ctx, first, TAMIS_ACL_END);
	if (!err)
		err = tamis_acl_context_insert(ctx, second, TAMIS_ACL_END);
	if (!err)
		err = tamis_acl_worker_new(a, "w0", &w);
	if (!err) {
		judge(w, ctx);
		more = to_port(TAMIS_ACL_PERMIT, 8080);
		err = tamis_acl_insert(a, second, 0, &more, &entry);
	}
	if (!err) {
		judge(w, ctx);
		err = tamis_acl_entry_each(a, first, print_entry, &first);
	}
	if (!err)
		err = tamis_acl_entry_each(a, second, print_entry, &second);
	if (err)
		fprintf(stderr, "acls: %s\n", strerror(-err));
	tamis_acl_worker_free(w);
	tamis_acl_context_free(ctx);
	tamis_acls_free(a);
	return err ? 1 : 0;
}
