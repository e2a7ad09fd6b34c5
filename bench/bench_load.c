/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_load: from text to a set that can be used, `tamis check` beside the kernel's `nft -f`; what
 * memory that takes at most and what of it an element keeps; and what the kernel takes to add to a
 * set that is there.
 *
 * Both are programs that are run as a user runs them; what counts is the CPU time of the process,
 * the kernel's work for it included. The kernel's sets stand in a network namespace of their own,
 * which needs root. What adding costs there is the CPU time of an `nft -f` with some elements
 * beyond that of an `nft -f` with one. Ranges stand beside fewer elements and come and go in fewer:
 * there both nft and the kernel take time that grows with the square, minutes for a load or for a
 * hundred deletions beside 100,000.
 */
#include <ftw.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hash_input.h"
#include "state/state.h"

enum { RUNS = 5 };

static char dir[] = "/tmp/tamis-bench-XXXXXX";

static FILE *create(char path[64], const char *name)
{
	snprintf(path, 64, "%s/%s", dir, name);
	FILE *f = fopen(path, "w");
	if (!f)
		abort();
	return f;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static double ms_of(struct timeval t)
{
	return (double)t.tv_sec * 1e3 + (double)t.tv_usec / 1e3;
}

/* Runs a program; false if it cannot be or fails. */
static bool run_used(struct rusage *used, const char *const argv[])
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return false;
	if (!pid) {
		if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
			_exit(127);
		execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	return wait4(pid, &status, 0, used) == pid && WIFEXITED(status) && !WEXITSTATUS(status);
}

/* ms of the CPU. */
static bool run(double *ms, const char *const argv[])
{
	struct rusage used;

	if (!run_used(&used, argv))
		return false;
	*ms = ms_of(used.ru_utime) + ms_of(used.ru_stime);
	return true;
}

/* --- texts ---------------------------------------------------------------------------------- */

struct kind {
	const char *name, *type, *flags;
	size_t n, added, deleted;
	bool kernel; /* it can be waited for */
	/* Element i, of those that do not overlap. */
	void (*print)(FILE *f, uint32_t i);
	const char *beside; /* what elements have beside their key; or NULL */
};

static void print_addr(FILE *f, uint32_t a)
{
	fprintf(f, "%u.%u.%u.%u", a >> 24, a >> 16 & 255, a >> 8 & 255, a & 255);
}

static void print_key(FILE *f, uint32_t i)
{
	print_addr(f, nth_key(i));
}

/* Networks of /24 in an order of chance, none twice. */
static void print_net(FILE *f, uint32_t i)
{
	print_addr(f, (i * 0x9e3779b1U & 0xffffff) << 8);
	fputs("/24", f);
}

static void print_net_port(FILE *f, uint32_t i)
{
	print_net(f, i);
	fprintf(f, " . %u-%u", i % 60000, i % 60000 + i % 500);
}

static const struct kind kinds[] = {
	{"hash 1K IPv4", "ipv4_addr", "", 1000, 1000, 1000, true, print_key},
	{"hash 64K IPv4", "ipv4_addr", "", 65536, 20000, 20000, true, print_key},
	{"hash 1M IPv4", "ipv4_addr", "", 1000000, 20000, 20000, true, print_key},
	{"the same, counters", "ipv4_addr", "counter; ", 1000000, 0, 0, false, print_key,
	 " counter packets 0 bytes 0"},
	{"the same, comments", "ipv4_addr", "", 1000000, 0, 0, false, print_key,
	 " comment \"from a list\""},
	{"interval 100K", "ipv4_addr", "flags interval; ", 100000, 0, 0, false, print_net},
	{"interval 20K", "ipv4_addr", "flags interval; ", 20000, 500, 20, true, print_net},
	{"concat 100K", "ipv4_addr . inet_service", "flags interval; ", 100000, 0, 0, false,
	 print_net_port},
	{"concat 20K", "ipv4_addr . inet_service", "flags interval; ", 20000, 500, 20, true,
	 print_net_port},
};

static void print_elements(FILE *f, const struct kind *k, size_t from, size_t n)
{
	for (size_t i = from; i < from + n; i++) {
		if (i > from)
			fputs(",\n", f);
		k->print(f, (uint32_t)i);
		if (k->beside)
			fputs(k->beside, f);
	}
}

static void write_load(char path[64], const struct kind *k)
{
	FILE *f = create(path, "load.nft");

	fprintf(f, "table ip bench {\nset s { type %s; %selements = {\n", k->type, k->flags);
	print_elements(f, k, 0, k->n);
	fputs("\n}\n}\n}\n", f);
	fclose(f);
}

static void write_change(char path[64], const char *name, const char *verb, const struct kind *k,
			 size_t n)
{
	FILE *f = create(path, name);

	fprintf(f, "%s element ip bench s {\n", verb);
	print_elements(f, k, k->n, n);
	fputs("\n}\n", f);
	fclose(f);
}

/* What the elements of a restore have beside their address. */
static const struct extra {
	const char *figure, *create, *format;
} extras[] = {
	{"load, ipset restore to usable, CPU time", "", ""},
	{"the same, with timeouts", " timeout 3600", " timeout %u"},
	{"the same, with counters", " counters", " packets %u bytes 1500"},
	{"the same, with comments", " comment", " comment \"entry %u\""},
};

static void write_restore(char path[64], size_t n, const struct extra *x)
{
	FILE *f = create(path, "restore.ipset");

	fprintf(f, "create s hash:ip maxelem %zu%s\n", n, x->create);
	for (size_t i = 0; i < n; i++) {
		fputs("add s ", f);
		print_key(f, (uint32_t)i + 1); /* the first is 0.0.0.0, which ipset refuses */
		fprintf(f, x->format, (unsigned)(i % 100000 + 1));
		fputc('\n', f);
	}
	fclose(f);
}

/* --- figures -------------------------------------------------------------------------------- */

static double load(const struct kind *k, const char *who, const char *const argv[])
{
	double v[RUNS], unused;

	for (unsigned r = 0; r < RUNS; r++) {
		if (!strcmp(who, "kernel") &&
		    !run(&unused, (const char *[]){"nft", "flush", "ruleset", NULL}))
			return 0;
		if (!run(&v[r], argv))
			return 0;
	}
	return bench_runs(k->name, "load, nft text to usable, CPU time", who, v, RUNS, "ms");
}

/* Of the kernel: elements in, and out again, beside k->n others that are loaded from a file. */
static void update(const struct kind *k, const char *load)
{
	static const char *const verbs[2] = {"add", "delete"};
	const size_t n[2] = {k->added, k->deleted};
	char path[2][2][64]; /* by verb; one, many */
	double v[2][RUNS], one[2], many, unused;

	for (unsigned d = 0; d < 2; d++)
		for (unsigned m = 0; m < 2; m++) {
			char name[32];
			snprintf(name, sizeof(name), "%s%u.nft", verbs[d], m);
			write_change(path[d][m], name, verbs[d], k, m ? n[d] : 1);
		}
	for (unsigned r = 0; r < RUNS; r++) {
		for (unsigned d = 0; d < 2; d++)
			if (!run(&one[d], (const char *[]){"nft", "-f", path[d][0], NULL}))
				return;
		for (unsigned d = 0; d < 2; d++) {
			if (!run(&many, (const char *[]){"nft", "-f", path[d][1], NULL}))
				return;
			v[d][r] = MAX(many - one[d], 0) * 1e3 / (double)(n[d] - 1);
		}
		if (!run(&unused, (const char *[]){"nft", "flush", "ruleset", NULL}) ||
		    !run(&unused, (const char *[]){"nft", "-f", load, NULL}))
			return;
	}
	bench_runs(k->name, "add, an element of many in one go", "kernel", v[0], RUNS, "us");
	bench_runs(k->name, "delete, an element of many in one go", "kernel", v[1], RUNS, "us");
}

/* What the process has at most, the text with it. */
static void load_memory(const struct kind *k, const char *path)
{
	struct rusage used;

	if (run_used(&used, (const char *[]){bench_tamis(), "check", "-f", path, NULL}))
		bench_row(k->name, "load, nft text to usable, memory at most", "tamis",
			  (double)used.ru_maxrss / 1024, "MiB");
}

static void compare(const struct kind *k, bool kernel)
{
	char path[64];
	double theirs = 0, mine;

	write_load(path, k);
	mine = load(k, "tamis", (const char *[]){bench_tamis(), "check", "-f", path, NULL});
	if (kernel && k->kernel) {
		theirs = load(k, "kernel", (const char *[]){"nft", "-f", path, NULL});
		if (theirs > 0)
			update(k, path);
	}
	if (k->n == 1000000)
		load_memory(k, path);
	if (!mine || k->n != 1000000 || k->beside)
		return;
	bench_target("load of 1M addresses, nft file", mine / 1e3, 1, "s");
	if (theirs > 0)
		bench_target("the same", mine / theirs, 0.5, "x kernel");
}

/* ms, or 0 if it failed. */
static double restore_tamis(const char *path, const char *empty, const struct extra *x)
{
	double v[RUNS];

	for (unsigned r = 0; r < RUNS; r++)
		if (!run(&v[r], (const char *[]){bench_tamis(), "check", "--ipset", path, "-f",
						 empty, NULL}))
			return 0;
	return bench_runs("hash 1M IPv4", x->figure, "tamis", v, RUNS, "ms");
}

static double restore_kernel(const char *path, const struct extra *x)
{
	double v[RUNS], unused;

	for (unsigned r = 0; r < RUNS; r++)
		if (!run(&v[r], (const char *[]){"ipset", "restore", "-file", path, NULL}) ||
		    !run(&unused, (const char *[]){"ipset", "destroy", NULL}))
			return 0;
	return bench_runs("hash 1M IPv4", x->figure, "kernel", v, RUNS, "ms");
}

static void restore(size_t n, bool kernel)
{
	char path[64], empty[64];
	double mine, theirs = 0, unused;

	fclose(create(empty, "empty.nft"));
	kernel = kernel && run(&unused, (const char *[]){"ipset", "list", NULL});
	if (!kernel)
		bench_skip("kernel's ipset", "needs root and ipset");
	for (size_t i = 0; i < ARRAY_SIZE(extras); i++) {
		write_restore(path, n, &extras[i]);
		mine = restore_tamis(path, empty, &extras[i]);
		if (kernel)
			theirs = restore_kernel(path, &extras[i]);
		if (!mine)
			bench_skip("ipset restore", "it failed");
		if (i || !mine)
			continue;
		bench_target("load of 1M addresses, ipset restore", mine / 1e3, 0.7, "s");
		if (theirs > 0)
			bench_target("the same", mine / theirs, 0.5, "x kernel");
	}
}

/* --- what stays ----------------------------------------------------------------------------- */

static void element_memory(const char *figure, const struct state_template *t, const char *comment)
{
	enum { N = 1000000 };
	struct set_desc d = {.n_fields = 1,
			     .field_len = {4},
			     .ext_size = state_list_ext_size,
			     .ext_init = state_list_ext_init,
			     .ext_fini = state_list_ext_fini,
			     .ext_ctx = t};
	size_t before = bench_memory();
	struct set *s;

	if (set_new(&d, &s))
		abort();
	set_expect(s, N);
	for (uint32_t i = 0; i < N; i++) {
		uint8_t key[4];
		struct set_item item = {.lo = key, .comment = comment};

		be32_store(key, nth_key(i));
		if (set_add(s, &item, 0, 0, NULL))
			abort();
	}
	bench_row("hash 1M IPv4", figure, "tamis", (double)(bench_memory() - before) / N, "bytes");
	set_free(s);
}

static void elements_memory(void)
{
	struct state_info counter = {.kind = STATE_COUNTER};
	struct state_template *t;

	if (state_template_new(&counter, 1, &t))
		abort();
	element_memory("memory of an element with a counter", t, NULL);
	element_memory("memory of an element with a comment", NULL, "from a list");
	element_memory("memory of an element with both", t, "from a list");
	state_template_free(t);
	bench_target("memory of an IPv4 element with a counter, 1M",
		     bench_value("hash 1M IPv4", "memory of an element with a counter", "tamis"),
		     120, "bytes");
}

void bench_load(void)
{
	double unused;

	elements_memory();
	if (!bench_tamis()) {
		bench_skip("load", "needs --tamis PROGRAM");
		return;
	}
	if (!mkdtemp(dir))
		abort();
	bool kernel = !unshare(CLONE_NEWNET) &&
		      run(&unused, (const char *[]){"nft", "list", "ruleset", NULL});
	if (!kernel)
		bench_skip("kernel", "needs root and nft");
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++)
		compare(&kinds[i], kernel);
	restore(1000000, kernel);
	nftw(dir, remove_one, 4, FTW_DEPTH | FTW_PHYS);
}
