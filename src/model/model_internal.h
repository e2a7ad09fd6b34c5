/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_internal: what the files of the model share: the model itself, the undo log, the steps.
 *
 * The undo log. Every step that changes the model first makes sure of its entry in the log, then of
 * all other memory it needs, and only then changes something: it is done whole or not at all.
 * Playing the log backwards needs no memory. For that names that a transaction takes out stay in
 * their maps (marked `deleted`, or with another name than the key says) until the commit, and
 * nothing is freed before all of the log is played: elements of verdict maps and rules point at
 * chains, and a set's own rollback tells them so.
 *
 * One thread, as model.h says.
 */
#ifndef TAMIS_MODEL_MODEL_INTERNAL_H
#define TAMIS_MODEL_MODEL_INTERNAL_H

#include "base/vec.h"
#include "model/check.h"
#include "model/check_internal.h"

enum { NS_PER_MS = 1000000, FAMILIES = FAMILY_IP6 + 1, JUMP_DEPTH_MAX = 15, NAME_BUFFER = 512 };
enum { MODEL_NAME_MAX = 255 }; /* of tables, chains, sets, objects, as the kernel has it */

static inline bool set_is_verdict_map(const struct set_decl *d)
{
	return d->flags & SETF_MAP && d->data.n && d->data.fields[0] == &type_verdict;
}

enum undo_kind {
	UNDO_ADD,	/* item came: out with it */
	UNDO_DELETE,	/* item went: back in front of `next` */
	UNDO_HANDLES,	/* item is a table, number its next_handle */
	UNDO_FLAGS,	/* item is a table, number its flags and UNDO_FOREIGN */
	UNDO_CHAIN,	/* item is a chain, saved its old struct chain_decl */
	UNDO_FLOWTABLE, /* item is one, saved its old struct flowtable_decl */
	UNDO_RENAME,	/* item is a chain, saved its old name */
	UNDO_SET,	/* item is a set, saved its old struct set_decl */
	UNDO_QUOTA,	/* item is an object, saved its old struct obj_decl */
	UNDO_RESET,	/* item is a struct state; nothing happens before the commit */
};

#define UNDO_FOREIGN (UINT64_C(1) << 32) /* it was foreign, and had no comment */

struct undo {
	enum undo_kind kind;
	enum model_noun noun;
	void *item;
	struct list *next;
	uint64_t number;
	void *saved; /* malloc'ed */
	/* ADD, RENAME: the entry of the same name that was replaced in the map of names. */
	void *shadow;
	const void *shadow_key;
	void *same_handle; /* ADD: the deleted item whose handle it has */
	struct loc loc;	   /* ADD: the command's place */
};

struct model {
	const struct lang_env *env;
	struct list tables; /* head */
	struct map table_by_name[FAMILIES];
	uint64_t next_table_handle, saved_table_handle;
	struct list timed; /* head */
	uint64_t next_id, walk, transaction;
	bool open;
	VEC(struct undo) log;
	VEC(struct model_set *) touched; /* sets with an open journal of their own */
	uint64_t now;			 /* the latest that model_apply() was given */
	struct arena scratch;		 /* of one command's check, of one listed element */
	struct arena elements;		 /* of some elements on their way into a set */
};

/* The load of a command list. */
struct apply {
	struct model *m;
	struct source_set *src;
	uint64_t now;
	struct strbuf *out;
	const struct cmd_list *cmds; /* all */
	const struct cmd *cmd;	     /* the one at hand */
	struct loc failing;	     /* of it: the element that was refused, if it was one */
	VEC(struct loc) failed;	     /* the same of those before, or all of one */
	bool kernel_kind; /* the error just told is of the second kind, see fail_kernel() */
};

/* The language counts in ms, sets and states in ns. */
static inline uint64_t ms_to_ns(uint64_t ms)
{
	return ms > UINT64_MAX / NS_PER_MS ? UINT64_MAX : ms * NS_PER_MS;
}

/* Runs fn with the arena's allocations unable to fail: -ENOMEM instead. */
int arena_try(struct arena *a, void (*fn)(struct arena *a, void *to, const void *from), void *to,
	      const void *from);

/* --- model_item.c: making and freeing, names, lists ------------------------------------------- */

struct model_table *table_new(enum family f, const char *name);
void table_free(struct model_table *t);
struct model_chain *chain_new(struct model *m, struct model_table *t, const char *name);
void chain_free(struct model_chain *c);
void rule_free(struct model_rule *r);
struct model_set *set_item_new(struct model *m, struct model_table *t, const char *name);
void set_item_free(struct model_set *s);
struct model_object *object_new(struct model *m, struct model_table *t, enum obj_kind k,
				const char *name);
void object_free(struct model_object *o);
struct model_flowtable *flowtable_new(struct model_table *t, const char *name);
void flowtable_free(struct model_flowtable *f);
void item_free(enum model_noun noun, void *item);

struct list *item_link(void *item);
bool *item_deleted(void *item);
const char *item_name(enum model_noun noun, const void *item);
const uint64_t *item_handle(enum model_noun noun, const void *item);
/* The map that knows the item by name; NULL for rules. */
struct map *item_names(struct model *m, enum model_noun noun, void *item);
struct map *item_handles(enum model_noun noun, void *item); /* NULL for tables */
/* The item of that handle in the table, not a deleted one. */
void *item_by_handle(const struct model_table *t, enum model_noun noun, uint64_t handle);
/* The table's list of such items; NOUN_TABLE and NOUN_RULE have none. */
struct list *item_list(struct model_table *t, enum model_noun noun);

/* --- model_log.c: the undo log --------------------------------------------------------------- */

/* Room for n more entries, so that log_push() cannot fail. 0 or -ENOMEM. */
int log_reserve(struct model *m, size_t n);
void log_push(struct model *m, struct undo u);
/*
 * Enters a finished item in list, maps and log, in front of `before`; a rule is counted by the
 * caller afterwards. 0 or -ENOMEM, and then nothing happened.
 */
int item_add(struct model *m, enum model_noun noun, void *item, struct list *before,
	     struct loc loc);
/* Takes an item out; -ENOMEM. */
int item_delete(struct model *m, enum model_noun noun, void *item);
/* The next handle of a table, 0 when out of memory. */
uint64_t handle_take(struct model *m, struct model_table *t);
int chain_rename(struct model *m, struct model_chain *c, const char *name);

/* --- model_devices.c: interfaces of chains and flowtables ---------------------------------------
 */

struct expr_list devices_clone(struct arena *a, const struct expr_list *from);
/* -ENOMEM. Those that are there already are left out. */
int devices_add(struct arena *a, struct expr_list *l, const struct expr_list *more);
/* -ENOENT if one is not there, -ENOMEM; then nothing is changed. */
int devices_take(struct arena *a, struct expr_list *l, const struct expr_list *what);

/* --- model_refs.c: who uses what ------------------------------------------------------------- */

/* Calls fn for each expression below the statements, parents first, in the order of the text; not
 * for those in the bodies of anonymous chains. Stops at the first result that is not 0. */
typedef int (*expr_fn)(void *arg, struct expr *e, const struct stmt *s);
int stmts_visit(struct stmt *first, expr_fn fn, void *arg);
/* A rule of the transaction writes to the set. */
int set_written(struct apply *a, struct model_set *s, struct loc loc);
/* True if both declare the same kind of set: types and flags; size and times may differ. */
bool set_decl_same(const struct set_decl *a, const struct set_decl *b);
/* Counts the rule in (1) or out (-1): at its chain and at all that it names, its anonymous chains'
 * rules too. */
void rule_count(struct model_rule *r, int delta);
/* struct set_desc's data_use for verdict maps and object maps. */
void verdict_data_use(void *set, const void *data, int delta);
void object_data_use(void *set, const void *data, int delta);
/* Where elements of a verdict map lead: a chain, dangling once n is 0 and the transaction over. */
struct target {
	struct list link; /* in set.targets */
	struct model_chain *chain;
	uint64_t n; /* elements */
};
bool target_is_used(const struct model_set *s, const struct model_chain *c);
/* The set's note of where its elements may lead; before an element with that chain is added. */
int target_reserve(struct model_set *s, struct model_chain *c);
void targets_purge(struct model_set *s);
void targets_free(struct model_set *s);

/* --- model_table.c, model_set.c, model_reload.c ----------------------------------------------- */

/* What commands make, to be undone by an abort. */
int table_item_add(struct model *m, enum family family, const char *name,
		   const struct table_decl *d, struct loc loc, struct model_table **out);
int set_item_add(struct model *m, struct model_table *t, const char *name, const struct set_decl *d,
		 struct loc loc, struct model_set **out);
/*
 * Brings the foreign sets of a table that was deleted back, into a table of its name, without those
 * that the commands declare. 0 or -ENOMEM.
 */
int foreign_carry(struct model *m, const struct model_table *from, const struct cmd *first,
		  uint64_t now);

/* --- model_jumps.c ---------------------------------------------------------------------------- */

/* A rule is in its list: sees to it that jumps are checked at the end, if that is in question. */
void jumps_rule_came(struct model_rule *r);
/*
 * Looks below all base chains of the table for jumps nested too deep, circles among them: -EMLINK;
 * and for rules that may not be reached from there: -EOPNOTSUPP. With the newest rule on the way.
 */
int jumps_check(struct model *m, struct model_table *t, struct model_rule **culprit);

/* --- model_state.c: running states ----------------------------------------------------------- */

/* The statement that such a state would come from, with its present values; NULL: out of memory. */
struct stmt *stmt_from_state(struct arena *a, const struct state_info *info);
/* States for all statements that have one. -ENOMEM, -EOVERFLOW...; the caller frees on error too.
 */
int stmts_state_new(struct stmt *first, uint64_t now);
void stmts_state_free(struct stmt *first);
/* Present values of the rule's states and names of chains, its anonymous chains' too, into its
 * statements; before they are printed. */
void rule_refresh(struct model_rule *r, uint64_t now);
int object_state_new(struct model_object *o, uint64_t now);
void object_refresh(struct model_object *o, uint64_t now);
/* Notes resets to be done at the commit. */
int rule_reset(struct model *m, struct model_rule *r);
int state_reset_later(struct model *m, struct state *st);

/* --- model_key.c: set elements and their expressions ----------------------------------------- */

/* An element as listed; NULL when out of memory. In arena a. */
struct expr *element_expr(struct arena *a, const struct model_set *s, const struct set_view *v,
			  uint64_t now);

/* --- model_listed.c: the elements that a set's own text lists
 * -------------------------------------
 */

/* The item, which is in the set now, is listed; was deleted by a command. 0 or -ENOMEM. */
int listed_add(struct model_set *s, const struct set_item *item);
int listed_drop(struct model_set *s, const struct set_item *item);
int listed_flush(struct model_set *s); /* all; before the set's flush */
/* The set is touched by a transaction; its end. */
void listed_begin(struct model_set *s);
void listed_commit(struct model_set *s, uint64_t now);
void listed_abort(struct model_set *s);
void listed_free(struct listed *l);

struct listed_index; /* opaque; until the set is changed */
int listed_index_make(const struct model_set *s, struct listed_index **out);
bool listed_index_has(const struct listed_index *x, const struct set_view *v);
void listed_index_free(struct listed_index *x);

/* --- model_apply.c: errors ------------------------------------------------------------------- */

/* An error that nft itself would tell, before it asks the kernel. -EINVAL. */
#define fail(a, loc, ...) ((a)->kernel_kind = false, diag_error((a)->src, (loc), __VA_ARGS__))
/* One that the kernel would tell; not shown when the load has errors of the first kind. */
int fail_kernel(struct apply *a, struct loc loc, int err);
/* -ENOMEM as it is, other errors as fail_kernel(). */
int fail_errno(struct apply *a, struct loc loc, int err);
/* No such file or directory, with a suggestion if there is a near name. */
int fail_missing(struct apply *a, enum model_noun noun, struct name_at name, bool kernel);

/* What the command names, an error being told where it is not there. */
int cmd_table(struct apply *a, bool kernel, struct model_table **out);
int cmd_chain(struct apply *a, struct model_table *t, bool kernel, struct model_chain **out);
int cmd_set(struct apply *a, struct model_table *t, bool kernel, struct model_set **out);
int cmd_object(struct apply *a, struct model_table *t, bool kernel, struct model_object **out);
int cmd_flowtable(struct apply *a, struct model_table *t, bool kernel,
		  struct model_flowtable **out);
struct check apply_check(struct apply *a, struct model_table *t, struct model_chain *c);
/* The result of a check_*() as a command's. */
int check_result(struct apply *a, int err);

/* --- the commands ---------------------------------------------------------------------------- */

int table_apply(struct apply *a);
int chain_apply(struct apply *a);
int rule_apply(struct apply *a);
int set_apply(struct apply *a);
int element_apply(struct apply *a);
int object_apply(struct apply *a);
int flowtable_apply(struct apply *a);
int list_apply(struct apply *a);
int rule_delete(struct model *m, struct model_rule *r);

/* --- model_list.c ---------------------------------------------------------------------------- */

struct lister {
	struct model *m;
	uint64_t now;
	struct strbuf *out;
	bool handles;
};

struct lister lister_for(struct model *m, uint64_t now, struct strbuf *out);
void list_table(struct lister *l, struct model_table *t);
/* "table ip t {" and "}"; what stands between is the caller's. */
void list_table_open(struct lister *l, const struct model_table *t);
void list_table_close(struct lister *l);
void list_chain(struct lister *l, struct model_chain *c, bool rules);
/* A chain with one of its rules. */
void list_chain_rule(struct lister *l, struct model_chain *c, struct model_rule *r);
/* A set with its elements; or those of `only`, ended by NULL, in their place. */
void list_set(struct lister *l, struct model_set *s, struct expr *const *only);
void list_object(struct lister *l, struct model_object *o);
void list_flowtable(struct lister *l, struct model_flowtable *f);

#endif
