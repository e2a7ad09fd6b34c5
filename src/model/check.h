/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check: gives the parsed form its meaning.
 *
 * Symbols become values of the type that their place asks for, widths and operators are checked,
 * names are looked up, the dependencies that nft adds (`tcp dport` needs meta l4proto tcp, `ip
 * saddr` in an inet table needs meta nfproto ipv4) become implicit statements, and the whole is
 * brought to the form that the listing has: sorted anonymous sets, merged intervals, redundant
 * dependencies hidden. The result is the checked form described in lang/ast.h.
 *
 * In place, in the arena given; on an error a message at the culprit's place, with a suggestion
 * where a name is nearly right, and -EINVAL (or -ENOENT and the like where a kernel would say so).
 * Does not change the model. Cost: proportional to the expression, O(n log n) for sets.
 */
#ifndef TAMIS_MODEL_CHECK_H
#define TAMIS_MODEL_CHECK_H

#include "model/model.h"

struct check {
	struct model *model;
	struct source_set *sources;
	struct arena *arena;
	const struct lang_env *env;
	enum family family;
	struct model_table *table; /* NULL while the table itself is checked */
	struct model_chain *chain; /* of the rule; NULL elsewhere */
	struct loc loc;		   /* of the command, for what the kernel refuses as a whole */
};

/* Bodies of anonymous chains are checked too; the caller makes model_chains of them afterwards. */
int check_rule(struct check *c, struct rule_decl *r);
/* Types of key and data, flags, timeouts; not the elements. */
int check_set_decl(struct check *c, struct set_decl *d, struct loc loc);
/* Elements of an EX_SET for the set: keys, data, statements. Left in the order of the text. */
int check_elements(struct check *c, const struct set_decl *d, struct expr *elements);
/* The same for delete and get, where a map's elements may come without data. */
int check_element_keys(struct check *c, const struct set_decl *d, struct expr *elements);
int check_chain_decl(struct check *c, struct chain_decl *d, struct loc loc);
int check_object_decl(struct check *c, struct obj_decl *d, struct loc loc);
int check_flowtable_decl(struct check *c, struct flowtable_decl *d, struct loc loc);

/*
 * A checked key expression as bytes: lo and hi (inclusive; equal for single values), each
 * set_key_len() long. Concatenations field by field. False if e is no constant key.
 */
bool check_key_bytes(const struct expr *e, uint8_t *lo, uint8_t *hi);

#endif
