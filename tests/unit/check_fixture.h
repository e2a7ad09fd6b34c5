/* SPDX-License-Identifier: Apache-2.0 */
/* One rule through the checks: what it lists as, or the first line of the message. */
#ifndef CHECK_FIXTURE_H
#define CHECK_FIXTURE_H

#include "model_fixture.h"

static inline uint32_t check_ifindex(void *arg, const char *name, size_t len)
{
	return len == 2 && !memcmp(name, "lo", 2) ? 1 : 0;
}

static inline const char *check_ifname(void *arg, uint32_t index)
{
	return index == 1 ? "lo" : NULL;
}

/* A rule in FAMILY's chain `c`; `before` are commands, with t for the table. The caller frees. */
static inline char *check_one_rule(const char *family, const char *chain, const char *before,
				   const char *rule, int *err)
{
	struct fixture f;
	struct strbuf text = STRBUF_INIT;
	char *out;

	*err = fixture_init(&f);
	if (*err)
		return NULL;
	f.env.ifindex = check_ifindex;
	f.env.ifname = check_ifname;
	strbuf_printf(&text, "add table %s t; add chain %s t r; add chain %s t c { %s }; %s",
		      family, family, family, chain, before ? before : "");
	*err = fixture_load(&f, strbuf_str(&text), FIXTURE_COMMIT);
	if (!*err) {
		strbuf_truncate(&text, 0);
		strbuf_printf(&text, "add rule %s t c %s", family, rule);
		*err = fixture_load(&f, strbuf_str(&text), FIXTURE_COMMIT);
	}
	if (*err) {
		out = strdup(f.messages);
	} else {
		const struct model_table *t =
			container_of(model_tables(f.m)->next, struct model_table, link);
		struct model_chain *c = model_chain_find(t, "c");
		struct model_rule *r = container_of(c->rules.prev, struct model_rule, link);

		strbuf_truncate(&text, 0);
		print_rule(&r->decl, &f.env, &text);
		out = strdup(strbuf_str(&text));
	}
	strbuf_free(&text);
	fixture_free(&f);
	return out;
}

#endif
