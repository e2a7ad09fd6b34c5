/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench: what the benchmarks share: time, random numbers, medians, memory in use, rows of results.
 *
 * A bench is a function in bench_<noun>.c, listed in main.c. It reports each figure with
 * bench_row(), ours and the peers' alike. Every figure that is a time is the median of BENCH_RUNS
 * runs, or what its name says.
 */
#ifndef TAMIS_BENCH_H
#define TAMIS_BENCH_H

#include "base/base.h"

enum { BENCH_RUNS = 7 };

uint64_t bench_now(void); /* ns */
/*
 * ns that this thread has run: what others take from the machine is not in it. Costs more, some
 * microseconds on virtual machines: not for single short calls.
 */
uint64_t bench_ran(void);
uint64_t bench_random(uint64_t *state);
double bench_median(double *v, size_t n);
/* The value that share (0 to 1) of the values are not above. */
double bench_quantile(double *v, size_t n, double share);
/* Bytes that malloc() has given out, its own included, and what is mapped beside it. */
size_t bench_memory(void);

/*
 * The times of n changes that are made in rounds, over and over: each counts with the median of its
 * rounds, so that what the machine did meanwhile does not. Changes come in pairs, 2i and 2i + 1,
 * the second undoing the first. Reports median, 99.9th percentile and longest in us. 0, or the
 * first error of fn.
 */
int bench_updates(const char *subject, const char *who, size_t n, int (*fn)(void *ctx, size_t i),
		  void *ctx);

/* One figure: "interval 1M", "lookup, burst of 64", "tamis", 7.3, "ns". */
void bench_row(const char *subject, const char *figure, const char *who, double value,
	       const char *unit);
/* That of several runs: their median, which is returned, the least and the most. Sorts them. */
double bench_runs(const char *subject, const char *figure, const char *who, double *v, size_t n,
		  const char *unit);
/* The value of a row that was reported; 0 if it was not. */
double bench_value(const char *subject, const char *figure, const char *who);
/* What is to hold: at most `most`. All of them are listed at the end. */
void bench_target(const char *figure, double value, double most, const char *unit);
/* Says why rows are not there. */
void bench_skip(const char *subject, const char *why);

/* From now on secrets are drawn from this seed, for runs that are to be alike; 0: the system's. */
void bench_random_fix(uint64_t seed);

/* This thread stays on one of the CPUs that the process may use, counted from 0 and round. */
void bench_pin(unsigned cpu);

/* The path of the program `tamis`, or NULL. */
const char *bench_tamis(void);

/* DPDK without huge pages and devices, begun at the first call; 0 or -errno. */
int bench_dpdk(void);

void bench_hash(void);
void bench_writer(void);
void bench_expiry(void);
void bench_replace(void);
void bench_growth(void);
void bench_load(void);
void bench_interval(void);
void bench_interval_map(void);
void bench_interval_expiry(void);
void bench_concat(void);
void bench_port(void);
void bench_acl(const char *set); /* of classbench.h */
void bench_acl_six(void);
void bench_acl_million(void);
void bench_overlap(void);
void bench_context(void);
void bench_eval_linear(void);
void bench_eval_few(void);
void bench_eval_names(void);
void bench_eval_change(void);

#endif
