/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model: the ruleset: tables with their chains, rules, sets, maps, objects and flowtables; and the
 * transactions that change it.
 *
 * A transaction is one or more loads of commands between model_begin() and model_commit(). Each
 * command is checked (check.h) and carried out at once on the model, with an entry in an undo log;
 * model_abort() plays the log backwards and leaves no trace: names, handles, element timeouts and
 * counters are as before. Its cost is what the transaction touched.
 *
 * What is referenced cannot go: chains by verdicts, sets and objects by rules and elements count
 * their users (nft's "Device or resource busy"). Handles count up per table as the kernel's do.
 *
 * Invariants: a name is unique in its table and kind (sets and maps share names); `chains`, `sets`,
 * ... keep the order of creation, which is the order of the listing.
 *
 * Control side only: one thread at a time. The packet path reads the programs that compile/ makes
 * from this, and shares the sets, objects and states that live here.
 */
#ifndef TAMIS_MODEL_MODEL_H
#define TAMIS_MODEL_MODEL_H

#include "base/list.h"
#include "base/map.h"
#include "base/rank.h"
#include "lang/ast.h"
#include "lang/print.h"
#include "set/set.h"
#include "state/state.h"

/*
 * What a table holds, and the table itself. Each begins with its link and its `deleted` mark. Lists
 * are in order of creation, those of rules in order of evaluation.
 */
enum model_noun { NOUN_TABLE, NOUN_CHAIN, NOUN_RULE, NOUN_SET, NOUN_OBJECT, NOUN_FLOWTABLE, NOUNS };

struct model_table {
	struct list link; /* in model.tables */
	bool deleted;	  /* by the open transaction: out of the list, still known by name */
	char *name;
	enum family family;
	uint64_t handle, next_handle;
	char *comment;
	uint32_t flags;
	bool handle_saved; /* the open transaction knows what next_handle was */
	bool jumps_added;  /* by it, such that they must be checked */
	bool jumps_stale;  /* the levels of chains are not what they are to be */
	bool foreign;	   /* there for foreign sets alone: no ruleset has declared it yet */
	struct list chains, sets, objects, flowtables; /* heads */
	struct map chain_by_name, set_by_name, flowtable_by_name;
	struct map object_by_name[OBJ_KINDS];
	struct map by_handle[NOUNS];
};

struct model_chain {
	struct list link;
	bool deleted;
	struct model_table *table;
	char *name; /* NULL for an anonymous chain, which its rule owns */
	uint64_t handle;
	uint64_t id; /* unique in this process's model, never reused; later chains have higher ones
		      */
	void *program;	    /* what compile/ made of it */
	struct arena arena; /* of decl */
	struct chain_decl decl;
	struct list rules; /* head */
	struct rank ranks; /* the same: which is the k-th? Of chains with a name. */
	struct list jumps; /* head: those of the rules that may leave for another chain, and
				    in regular chains those that some base chains may not reach */
	uint32_t n_rules;
	uint32_t use;  /* verdicts that name it */
	uint64_t walk; /* of the jumps' check: the last one, the depth of jumps it found, and the
			  base chains that may not jump here */
	uint8_t depth;
	uint32_t barred;
	/* Between checks: above those of the chains that lead here, 0 where no base chain does; the
	 * base chains that may lead here. */
	uint8_t level;
	uint32_t reach;
};

struct model_rule {
	struct list link;
	bool deleted;
	struct rank_node rank; /* in chain.ranks */
	struct model_chain *chain;
	uint64_t handle;
	struct list jump; /* in chain.jumps, or alone */
	struct arena arena;
	struct rule_decl decl; /* the checked form; decl.stmts[].state is a struct state */
	struct list anonymous; /* head: the chains that its verdicts own */
	void *compiled;	       /* what compile/ made of it */
};

struct model_set {
	struct list link;
	bool deleted;
	struct model_table *table;
	char *name;
	uint64_t handle, id;
	struct arena arena;
	struct set_decl decl;
	struct set *set;
	uint32_t use;
	bool fresh;		    /* made by the open transaction */
	bool foreign;		    /* of another front end: see model_reload() */
	struct list timed;	    /* among the sets whose elements have lifetimes, or alone */
	struct map target_by_chain; /* verdict maps: where their elements lead */
	struct list targets;	    /* head */
	struct listed *listed;	    /* of what its text lists; NULL: nothing */
	uint64_t declared;	    /* the last transaction that had its declaration */
};

struct model_object {
	struct list link;
	bool deleted;
	struct model_table *table;
	char *name;
	uint64_t handle, id;
	enum obj_kind kind;
	struct arena arena;
	struct obj_decl decl;
	struct state *state; /* of a counter, quota, limit; NULL for the other kinds */
	uint32_t use;
};

struct model_flowtable {
	struct list link;
	bool deleted;
	struct model_table *table;
	char *name;
	uint64_t handle;
	struct arena arena;
	struct flowtable_decl decl;
	uint32_t use;
};

struct model;

/* `env` outlives the model. NULL when out of memory. */
struct model *model_new(const struct lang_env *env);
void model_free(struct model *m);

/* -EBUSY if one is open. */
int model_begin(struct model *m);
/*
 * Checks and carries out commands in order. The text that `list` and `get` commands print is added
 * to `out` (may be NULL). `now`: ns, for element expiry. 0, or -EINVAL with messages in `sources`
 * (the first errors of up to 10 commands), or -ENOMEM; after an error the caller aborts.
 */
int model_apply(struct model *m, struct source_set *sources, struct cmd_list *cmds, uint64_t now,
		struct strbuf *out);
/*
 * The same on an empty ruleset, which takes the place of all that there is. Sets that were and are
 * declared the same keep what they hold: elements with their lifetimes and states, where nothing in
 * the new text is in their way, but for those that the old text listed and the new one does not;
 * named counters, quotas and limits go on from where they are.
 * Sets marked `foreign` are no part of a ruleset: they outlive this and `flush ruleset`, with all
 * that they hold, unless the commands declare a set of that name themselves; then it is that one
 * which keeps what they hold. A table that is deleted by its name takes them along.
 */
int model_reload(struct model *m, struct source_set *sources, struct cmd_list *cmds, uint64_t now,
		 struct strbuf *out);
/*
 * Makes changes of the set's elements, through set.h, part of the open transaction: opens the set's
 * own journal if it is not open and the set is older than the transaction. 0 or -ENOMEM.
 */
int model_set_touch(struct model *m, struct model_set *s);
void model_commit(struct model *m);
void model_abort(struct model *m);

/* What the open transaction did so far, in order; of what went again both coming and going. */
enum model_change_kind { MODEL_CAME, MODEL_WENT, MODEL_CHANGED };
struct model_change {
	enum model_change_kind kind;
	enum model_noun noun;
	void *item; /* of a table that went its contents went too, without changes of their own */
};
size_t model_change_count(const struct model *m);
/* False: step i is of no concern to what packets meet. */
bool model_change_at(const struct model *m, size_t i, struct model_change *out);

/* Lookup; NULL if it is not there. */
struct model_table *model_table_find(const struct model *m, enum family f, const char *name);
struct model_chain *model_chain_find(const struct model_table *t, const char *name);
struct model_set *model_set_find(const struct model_table *t, const char *name);
struct model_object *model_object_find(const struct model_table *t, enum obj_kind k,
				       const char *name);
struct model_flowtable *model_flowtable_find(const struct model_table *t, const char *name);

/* Walking: `for (l = model_tables(m)->next; l != model_tables(m); l = l->next)`. */
const struct list *model_tables(const struct model *m);
/* Of the sets that have lifetimes: their `timed` links. */
const struct list *model_timed_sets(const struct model *m);

/*
 * The states of an element as statements say: of a set's declaration or of `add @set { k counter
 * }`. *io is NULL or a template that is no longer wanted, and becomes that, or NULL if there are
 * none. 0, -ENOMEM, or -EINVAL and -EOVERFLOW as state_new(); then *io is what it was, or NULL.
 */
int model_state_template(const struct stmt *stmts, struct state_template **io);

/*
 * What a verdict map's data is in the set: 16 bytes.
 */
struct model_verdict {
	uint32_t code; /* enum verdict_code */
	uint32_t zero;
	struct model_chain *chain;
};
_Static_assert(sizeof(struct model_verdict) == 16, "the data length of verdict maps");
/* What an object map's data is: the struct model_object *, 8 bytes. */

/* The listing, as `nft list ruleset`; options come from the env given to model_new(). */
void model_list(struct model *m, uint64_t now, struct strbuf *out);
/* The JSON form: {"nftables": [...]}. 0 or -ENOMEM. */
int model_list_json(struct model *m, uint64_t now, struct strbuf *out);
/* One rule as the listing prints it, for reports. Refreshes counters from their states. */
void model_rule_print(struct model_rule *r, const struct lang_env *env, uint64_t now,
		      struct strbuf *out);

#endif
