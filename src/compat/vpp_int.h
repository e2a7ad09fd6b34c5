/* SPDX-License-Identifier: Apache-2.0 */
/* vpp_int: what the parts of vpp.h share: the words of a command, and what to take back. */
#ifndef TAMIS_COMPAT_VPP_INT_H
#define TAMIS_COMPAT_VPP_INT_H

#include "base/vec.h"
#include "compat/vpp.h"

/* A word of a command; commas are words. */
struct vpp_word {
	const char *text;
	size_t len;
};

/* What is no part of the ACLs' own transaction, as it was. */
enum vpp_setting { VPP_MACIP, VPP_TIMEOUT, VPP_FRAGMENTS };
struct vpp_undo {
	enum vpp_setting what;
	uint32_t at, old;
};

struct vpp {
	struct tamis *t;
	struct tamis_acls *a;
	const char *file;
	unsigned line; /* of the command's first line */
	uint64_t now;
	struct strbuf *out, *messages;
	VEC(struct vpp_word) words;
	size_t at; /* the next word */
	VEC(struct vpp_undo) undo;
	VEC(struct tamis_acl_rule) rules;
	VEC(struct tamis_macip_rule) macip_rules;
	VEC(char *) strings; /* of the command's rules */
	unsigned n_passed, first_passed;
	char passed[32]; /* how the first line that was passed over begins */
};

/* "FILE:N: Error: ..."; -EINVAL. */
int vpp_fail(struct vpp *v, const char *fmt, ...) PRINTF_LIKE(2, 3);
void vpp_warn(struct vpp *v, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The next word, and past it; NULL at the end. */
const struct vpp_word *vpp_next(struct vpp *v);
/* Past the next word if it is this one. */
bool vpp_take(struct vpp *v, const char *word);
static inline bool vpp_is(const struct vpp_word *w, const char *text)
{
	return w && w->len == strlen(text) && !memcmp(w->text, text, w->len);
}
/* The number that `after` wants. */
int vpp_number(struct vpp *v, const char *after, uint64_t max, uint32_t *out);
/* The next word as a string of the command's; NULL without memory or word. */
const char *vpp_string(struct vpp *v, const char *text, size_t len);
/* An error about a word that has no place there. */
int vpp_unknown(struct vpp *v, const struct vpp_word *w);

/* --- vpp_rule.c: what stands behind `acl` --------------------------------------------------- */

struct vpp_acl {
	uint32_t index; /* TAMIS_ACL_NEW: not given */
	const char *tag;
};
/* Fills v->rules, v->macip_rules. */
int vpp_rules_parse(struct vpp *v, struct vpp_acl *out);
int vpp_macip_rules_parse(struct vpp *v, struct vpp_acl *out);

/* --- vpp_show.c ----------------------------------------------------------------------------- */

int vpp_show(struct vpp *v);

#endif
