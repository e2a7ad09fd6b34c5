/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tamis-bench: our structures beside the peers that Debian packages.
 *
 *	tamis-bench [--json] [--tamis PROGRAM] sets|eval|acl [NOUN ...]
 *
 * Results are a table of rows: the median of several runs with the least and the most of them. Then
 * what is to hold, and whether it does. With --json they are one object.
 */
#include <malloc.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

static const struct noun {
	const char *group, *name;
	void (*run)(void);
} nouns[] = {
	{"sets", "hash", bench_hash},
	{"sets", "writer", bench_writer},
	{"sets", "expiry", bench_expiry},
	{"sets", "replace", bench_replace},
	{"sets", "growth", bench_growth},
	{"sets", "load", bench_load},
	{"sets", "interval", bench_interval},
	{"sets", "interval_map", bench_interval_map},
	{"sets", "interval_expiry", bench_interval_expiry},
	{"sets", "concat", bench_concat},
	{"sets", "port", bench_port},
	{"eval", "linear", bench_eval_linear},
	{"eval", "few", bench_eval_few},
	{"eval", "names", bench_eval_names},
	{"eval", "change", bench_eval_change},
	{"acl", "context", bench_context},
	{"acl", "overlap", bench_overlap},
	{"acl", "six", bench_acl_six},
	{"acl", "million", bench_acl_million},
};

/* Of group "acl": sets of classbench.h. */
static const char *const acl_sets[] = {
	"acl1_1k", "fw1_1k",   "ipc1_1k",   "acl1_10k", "acl2_10k",  "fw1_10k",
	"fw2_10k", "ipc1_10k", "acl1_100k", "fw1_100k", "ipc1_100k",
};

static bool json;
static unsigned n_rows;
static const char *program;

static struct reported {
	char subject[32], figure[64], who[16];
	double value;
} * reported;

static struct target {
	char figure[96];
	double value, most;
	const char *unit;
} targets[256];
static unsigned n_targets;

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

static uint64_t random_fixed; /* 0: not */

void bench_random_fix(uint64_t seed)
{
	random_fixed = seed;
}

/* In the place of libc's. */
ssize_t getrandom(void *buf, size_t len, unsigned flags)
{
	uint8_t *out = buf;

	if (!random_fixed)
		return syscall(SYS_getrandom, buf, len, flags);
	for (size_t i = 0; i < len; i++)
		out[i] = (uint8_t)bench_random(&random_fixed);
	return (ssize_t)len;
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

static size_t mapped;

/* In the place of libc's, for what is mapped beside malloc(), which has its own way. */
void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	void *got = (void *)syscall(SYS_mmap, at, len, prot, flags, fd, offset);
	if (got != MAP_FAILED)
		__atomic_fetch_add(&mapped, len, __ATOMIC_RELAXED);
	return got;
}

int munmap(void *at, size_t len)
{
	int err = (int)syscall(SYS_munmap, at, len);
	if (!err)
		__atomic_fetch_sub(&mapped, len, __ATOMIC_RELAXED);
	return err;
}

size_t bench_memory(void)
{
	struct mallinfo2 m = mallinfo2();
	return m.uordblks + m.hblkhd + __atomic_load_n(&mapped, __ATOMIC_RELAXED);
}

static void row(const char *subject, const char *figure, const char *who, const double *v, size_t n,
		const char *unit)
{
	double value = v[n / 2];

	if (json) {
		printf("%s\n  {\"subject\": \"%s\", \"figure\": \"%s\", \"who\": \"%s\", "
		       "\"value\": %.6g, \"unit\": \"%s\"",
		       n_rows ? "," : "{\"rows\": [", subject, figure, who, value, unit);
		if (n > 1)
			printf(", \"runs\": %zu, \"least\": %.6g, \"most\": %.6g", n, v[0],
			       v[n - 1]);
		putchar('}');
	} else if (n > 1) {
		printf("%-20s %-46s %-9s %10.2f %-5s %10.2f ..%10.2f\n", subject, figure, who,
		       value, unit, v[0], v[n - 1]);
	} else {
		printf("%-20s %-46s %-9s %10.2f %s\n", subject, figure, who, value, unit);
	}
	fflush(stdout);
	reported = realloc(reported, (n_rows + 1) * sizeof(*reported));
	if (!reported)
		abort();
	struct reported *r = &reported[n_rows++];
	snprintf(r->subject, sizeof(r->subject), "%s", subject);
	snprintf(r->figure, sizeof(r->figure), "%s", figure);
	snprintf(r->who, sizeof(r->who), "%s", who);
	r->value = value;
}

double bench_value(const char *subject, const char *figure, const char *who)
{
	for (unsigned i = n_rows; i-- > 0;) {
		const struct reported *r = &reported[i];
		if (!strcmp(r->subject, subject) && !strcmp(r->figure, figure) &&
		    !strcmp(r->who, who))
			return r->value;
	}
	return 0;
}

void bench_row(const char *subject, const char *figure, const char *who, double value,
	       const char *unit)
{
	row(subject, figure, who, &value, 1, unit);
}

double bench_runs(const char *subject, const char *figure, const char *who, double *v, size_t n,
		  const char *unit)
{
	qsort(v, n, sizeof(*v), ascending);
	row(subject, figure, who, v, n, unit);
	return v[n / 2];
}

void bench_target(const char *figure, double value, double most, const char *unit)
{
	if (n_targets == ARRAY_SIZE(targets))
		abort();
	struct target *t = &targets[n_targets++];
	snprintf(t->figure, sizeof(t->figure), "%s", figure);
	t->value = value;
	t->most = most;
	t->unit = unit;
}

void bench_skip(const char *subject, const char *why)
{
	fprintf(json ? stderr : stdout, "%-20s skipped: %s\n", subject, why);
}

static void show_targets(void)
{
	unsigned held = 0;

	if (json)
		printf("%s],\n\"targets\": [", n_rows ? "\n" : "{\"rows\": [");
	else if (n_targets)
		printf("\n%-76s %10s %10s\n", "to hold", "measured", "at most");
	for (unsigned i = 0; i < n_targets; i++) {
		const struct target *t = &targets[i];
		bool holds = t->value <= t->most;
		held += holds;
		if (json)
			printf("%s\n  {\"figure\": \"%s\", \"value\": %.6g, \"most\": %.6g, "
			       "\"unit\": \"%s\", \"holds\": %s}",
			       i ? "," : "", t->figure, t->value, t->most, t->unit,
			       holds ? "true" : "false");
		else
			printf("%-76s %10.2f %10.2f %-12s %s\n", t->figure, t->value, t->most,
			       t->unit, holds ? "holds" : "missed");
	}
	if (json)
		printf("\n]}\n");
	else if (n_targets)
		printf("%u of %u hold\n", held, n_targets);
}

void bench_pin(unsigned cpu)
{
	static cpu_set_t given; /* before anything was pinned */
	cpu_set_t one;

	if (!CPU_COUNT(&given) && sched_getaffinity(0, sizeof(given), &given))
		return;
	cpu %= (unsigned)CPU_COUNT(&given);
	for (unsigned c = 0; c < CPU_SETSIZE; c++)
		if (CPU_ISSET(c, &given) && !cpu--) {
			CPU_ZERO(&one);
			CPU_SET(c, &one);
			sched_setaffinity(0, sizeof(one), &one);
			return;
		}
}

/* The program that was built beside this one. */
static void find_program(void)
{
	static char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash = n > 0 ? strrchr(path, '/') : NULL;

	if (!slash)
		return;
	int room = (int)(path + sizeof(path) - slash);
	if (snprintf(slash, (size_t)room, "/../cmd/tamis/tamis") < room && !access(path, X_OK))
		program = path;
}

const char *bench_tamis(void)
{
	if (!program)
		find_program();
	return program;
}

static int usage(void)
{
	const char *group = "";

	fprintf(stderr, "usage: tamis-bench [--json] [--tamis PROGRAM] sets|eval|acl [NOUN ...]\n"
			"PROGRAM is a tamis whose loads are timed, else the one built beside this. "
			"Without a NOUN all of the group "
			"are run:");
	for (unsigned i = 0; i < ARRAY_SIZE(nouns); i++) {
		if (strcmp(group, nouns[i].group)) {
			group = nouns[i].group;
			fprintf(stderr, "\n  %-5s", group);
		}
		fprintf(stderr, " %s", nouns[i].name);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(acl_sets); i++)
		fprintf(stderr, "%s %s", i % 6 ? "" : "\n       ", acl_sets[i]);
	fprintf(stderr, "\n");
	return 1;
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
	unsigned ran = 0;

	argc--;
	argv++;
	for (; argc && !strncmp(argv[0], "--", 2); argc--, argv++) {
		if (!strcmp(argv[0], "--json")) {
			json = true;
		} else if (!strcmp(argv[0], "--tamis") && argc > 1) {
			program = argv[1];
			argc--;
			argv++;
		} else {
			break;
		}
	}
	bench_pin(1);
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
	if (!ran)
		return usage();
	show_targets();
	return 0;
}
