/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tamis-bench: our structures beside the peers that Debian packages.
 *
 *	tamis-bench [--json] sets|eval|acl [NOUN ...]
 *
 * Results are a table, or with --json one array of objects.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench.h"

static const struct noun {
	const char *group, *name;
	void (*run)(void);
} nouns[] = {
	{"sets", "hash", bench_hash},
	{"sets", "interval", bench_interval},
	{"sets", "interval_map", bench_interval_map},
	{"sets", "concat", bench_concat},
	{"eval", "linear", bench_eval_linear},
	{"eval", "change", bench_eval_change},
	{"acl", "context", bench_context},
};

/* Of group "acl": sets of classbench.h. */
static const char *const acl_sets[] = {
	"acl1_1k", "fw1_1k",   "ipc1_1k",   "acl1_10k", "acl2_10k",  "fw1_10k",
	"fw2_10k", "ipc1_10k", "acl1_100k", "fw1_100k", "ipc1_100k",
};

static bool json;
static unsigned n_rows;

static uint64_t read_clock(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t bench_now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t bench_ran(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t bench_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

double bench_quantile(double *v, size_t n, double share)
{
	qsort(v, n, sizeof(*v), ascending);
	size_t i = (size_t)(share * (double)n);
	return v[MIN(i, n - 1)];
}

double bench_median(double *v, size_t n)
{
	return bench_quantile(v, n, 0.5);
}

int bench_updates(const char *subject, const char *who, size_t n, int (*fn)(void *ctx, size_t i),
		  void *ctx)
{
	enum { ROUNDS = 5 };
	double *t = malloc(n * sizeof(*t)), *all = malloc(n * ROUNDS * sizeof(*all));
	int err = t && all ? 0 : -ENOMEM;

	for (size_t k = 0; k < n * ROUNDS && !err; k++) {
		uint64_t start = bench_ran();
		err = fn(ctx, k % n);
		all[k % n * ROUNDS + k / n] = (double)(bench_ran() - start);
	}
	for (size_t i = 0; i < n && !err; i++)
		t[i] = bench_median(all + i * ROUNDS, ROUNDS) / 1e3;
	if (!err) {
		bench_row(subject, "update, median", who, bench_median(t, n), "us");
		bench_row(subject, "update, 99.9th percentile", who, bench_quantile(t, n, 0.999),
			  "us");
		bench_row(subject, "update, longest", who, bench_quantile(t, n, 1), "us");
	}
	free(t);
	free(all);
	return err;
}

size_t bench_memory(void)
{
	struct mallinfo2 m = mallinfo2();
	return m.uordblks + m.hblkhd;
}

void bench_row(const char *subject, const char *figure, const char *who, double value,
	       const char *unit)
{
	if (json)
		printf("%s\n  {\"subject\": \"%s\", \"figure\": \"%s\", \"who\": \"%s\", "
		       "\"value\": %.6g, \"unit\": \"%s\"}",
		       n_rows ? "," : "[", subject, figure, who, value, unit);
	else
		printf("%-28s %-34s %-10s %12.2f %s\n", subject, figure, who, value, unit);
	fflush(stdout);
	n_rows++;
}

static bool asked_for(const char *group, const char *name, int argc, char **argv)
{
	if (strcmp(group, argv[0]))
		return false;
	for (int i = 1; i < argc; i++)
		if (!strcmp(name, argv[i]))
			return true;
	return argc == 1;
}

int main(int argc, char **argv)
{
	argc--;
	argv++;
	if (argc && !strcmp(argv[0], "--json")) {
		json = true;
		argc--;
		argv++;
	}
	unsigned ran = 0;
	for (unsigned i = 0; argc && i < ARRAY_SIZE(nouns); i++)
		if (asked_for(nouns[i].group, nouns[i].name, argc, argv)) {
			nouns[i].run();
			ran++;
		}
	for (unsigned i = 0; argc && i < ARRAY_SIZE(acl_sets); i++)
		if (asked_for("acl", acl_sets[i], argc, argv)) {
			bench_acl(acl_sets[i]);
			ran++;
		}
	if (json && n_rows)
		printf("\n]\n");
	if (!ran)
		fprintf(stderr, "usage: tamis-bench [--json] sets|eval|acl [NOUN ...]\n");
	return ran ? 0 : 1;
}
