/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine: what stands behind the public API.
 *
 * A load is parsed and checked on the model inside a transaction, compiled, published, and only
 * then committed; if anything fails the transaction is played back. The packet path sees the
 * published root alone. In this form bursts and loads come from one thread, so that the root before
 * the present one has no reader left once compile_publish() returns, and compile_settle() may
 * follow at once.
 */
#ifndef TAMIS_ENGINE_ENGINE_H
#define TAMIS_ENGINE_ENGINE_H

#include <tamis/tamis.h>

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "compile/compile.h"
#include "ct/ct.h"
#include "engine/acl_path.h"
#include "engine/interface.h"
#include "engine/local.h"
#include "eval/eval.h"
#include "model/model.h"

struct tamis {
	struct lang_env env;	  /* of the model */
	struct arena names_arena; /* of names */
	struct host_names names;  /* of marks, realms, ... as the host's files have them */
	struct interface_table *interfaces;
	struct local local;
	struct model *model;
	struct compile *compile;
	struct eval *eval;
	struct ct_table *ct;
	struct acl_path *acl; /* NULL until there is one to ask for */
	enum tamis_path path;
	bool walk, classify;
	uint64_t now;	       /* of the latest packet or load */
	uint64_t collect_next; /* before it engine_collect_step() has nothing to do */

	struct strbuf *notes; /* where a load's notes go */

	struct tamis_totals totals;
	void (*trace)(void *arg, const struct tamis_trace *e);
	void *trace_arg;
	void (*log)(void *arg, const struct tamis_log *e);
	void *log_arg;
};

/* The end of time stands for never. */
static inline uint64_t engine_time(uint64_t t)
{
	return MIN(t, UINT64_MAX - 1);
}

struct tamis_burst {
	struct tamis *engine;
	struct burst b;
	const uint8_t *given[BURST_MAX]; /* bytes as they were added */
	uint8_t *copies[BURST_MAX];	 /* and as rules wrote to them, or NULL */
	uint32_t dev[BURST_MAX];
	uint8_t path[BURST_MAX]; /* enum eval_path */
	burst_mask trace;	 /* traced, or found to be by a rule */
	struct eval_result result;
	unsigned judged; /* packets that `result` is about */
	int err;	 /* what a run has no memory for: a text, a packet's copy */
};

/* Frees elements whose time has come, up to `budget` of each set. */
void engine_collect(struct tamis *t, uint64_t now, unsigned budget);
/*
 * The same beside packets: an element goes at most half its set's gc-interval, or 100 ms, late.
 * Looks at the sets no more often than that.
 */
void engine_collect_step(struct tamis *t, uint64_t now, unsigned budget);

/* Compiles what the open transaction made and puts it in the place of what runs. 0 or -ENOMEM. */
int engine_publish(struct tamis *t);

/* eval's callbacks; arg is the struct tamis_burst. */
void trace_event(void *arg, const struct eval_trace *e);
void trace_log(void *arg, const struct eval_place *at, const struct prog_log *log);
/* acl_path's; the same arg. */
void trace_acl(void *arg, const struct acl_event *e);

#endif
