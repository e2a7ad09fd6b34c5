/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash_table_warm: readers fetch a table into their caches before it is shown to them.
 *
 * A table that another CPU has just written is in none of a reader's caches: each lookup's line
 * comes out of the other CPU's, and the first bursts would take ten times what they took. Only the
 * reader itself can have the lines brought to its side. So between bursts (a task of rcu) each of
 * them prefetches some lines, in the order of the directory, over and over: few in the first
 * rounds, while they come from far; then about as many a step as its bursts look at in the present
 * table, because a cache keeps what is used as often as the rest. The directory's lines, which
 * every burst shares, take turns of their own. Not fetched: records, which elements with data,
 * comment or state have.
 *
 * Reads and no more; the table may be shown and changed meanwhile. Cost: a step O(lines of the
 * rounds[]), a table of a million addresses some 30,000 steps.
 */
#include "set/hash_table_internal.h"

enum { LINE = 64, ROOT_LINES = 48, LEAST_NS = 200000, LINE_NS = 3000, MOST_NS = 300000000 };

/* Lines that a step fetches, by round. */
static const unsigned rounds[] = {8, 16, 32, 64, 64, 64, 64};

enum { ROUNDS = sizeof(rounds) / sizeof(rounds[0]) };

/* How far a reader is: where in the table, which line of that segment and which round. */
struct progress {
	uint64_t at, root_line;
	uint32_t line, round;
};

_Static_assert(sizeof(struct progress) == 3 * sizeof(uint64_t), "a task's state");

static size_t lines_of(size_t bytes)
{
	return (bytes + LINE - 1) / LINE;
}

/* What lookups look at in a segment: head, buckets and keys in one piece, and two columns. */
struct parts {
	const uint8_t *base[3];
	uint32_t lines[3];
};

static void parts_of(const struct hash_table *t, const struct hash_segment *seg, size_t n_buckets,
		     struct parts *out)
{
	size_t slots = n_buckets * SLOTS;

	out->base[0] = (const uint8_t *)seg;
	out->lines[0] = (uint32_t)lines_of(sizeof(*seg) + n_buckets * sizeof(struct hash_bucket) +
					   slots * t->key_size);
	out->base[1] = (const uint8_t *)LOAD_ACQUIRE(&seg->column[HASH_EXPIRES]);
	out->base[2] = (const uint8_t *)LOAD_ACQUIRE(&seg->column[HASH_RECORD]);
	for (unsigned p = 1; p < 3; p++)
		out->lines[p] = out->base[p] ? (uint32_t)lines_of(slots * sizeof(uint64_t)) : 0;
}

/* Fetches up to n lines of a segment from `from` on; how many. */
static uint32_t fetch_lines(const struct parts *s, uint32_t from, uint32_t n)
{
	uint32_t done = 0;

	for (unsigned p = 0; p < 3; p++) {
		for (; from < s->lines[p] && done < n; from++, done++)
			__builtin_prefetch(s->base[p] + (size_t)from * LINE);
		from -= MIN(from, s->lines[p]);
	}
	return done;
}

static void fetch_root(const struct hash_root *root, uint64_t *turn)
{
	size_t n = lines_of(sizeof(*root) + (sizeof(uint64_t) << root->depth));

	for (unsigned i = 0; i < MIN(n, (size_t)ROOT_LINES); i++)
		__builtin_prefetch((const uint8_t *)root + (*turn)++ % n * LINE);
}

/* To the segment behind that of this depth; false: that was the last one of the last round. */
static bool next_segment(const struct hash_root *root, struct progress *p, unsigned depth)
{
	p->line = 0;
	p->at += depth ? 1ULL << (64 - depth) : 0;
	__builtin_prefetch(entry_segment(entry_load(root, p->at)));
	if (p->at)
		return true;
	if (p->round < ROUNDS - 1)
		return p->round++, true;
	return false;
}

static bool warm(const struct rcu_task *task, uint64_t state[3])
{
	const struct hash_table *t = container_of(task, struct hash_table, warm);
	const struct hash_root *root = LOAD_ACQUIRE(&t->root);
	struct progress p;
	bool more = true;

	/* When that changes, the step before the first burst on the table fetches its line. */
	if (LOAD_ACQUIRE(t->shown) == t)
		return true;
	memcpy(&p, state, sizeof(p));
	__builtin_prefetch(t);
	fetch_root(root, &p.root_line);
	uint64_t entry = entry_load(root, p.at);
	const struct hash_segment *seg = entry_segment(entry);
	struct parts s;
	parts_of(t, seg, entry >> ENTRY_SHIFT, &s);
	uint32_t n = fetch_lines(&s, p.line, rounds[p.round]);
	p.line += n;
	if (n < rounds[p.round])
		more = next_segment(root, &p, seg->depth);
	memcpy(state, &p, sizeof(p));
	return !more;
}

void hash_table_warm(struct hash_table *t, struct hash_table *const *shown, uint64_t deadline)
{
	size_t most = LEAST_NS + lines_of(hash_table_bytes(t)) * LINE_NS;

	t->warm.step = warm;
	t->shown = shown;
	rcu_run(t->config.rcu, &t->warm, MIN(most, (size_t)MOST_NS), deadline);
}

void hash_table_warmed(struct hash_table *t)
{
	rcu_withdraw(t->config.rcu, &t->warm);
}
