/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay: `tamis replay`: a ruleset judges a capture.
 *
 * The first packets are read before the ruleset is loaded, since lifetimes of its elements begin at
 * the time of the first one. Files are written beside their names and put in place at the very end,
 * so that whatever fails, or an interrupt, leaves none that looks complete.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "feed.h"
#include "load.h"
#include "options.h"
#include "output.h"
#include "progress.h"
#include "report.h"
#include "select.h"
#include "trace.h"
#include "unvisited.h"

struct replay {
	const struct options *o;
	struct capture *capture;
	struct burst *packets; /* as they come from the capture */
	struct tamis *engine;
	struct feed feed;
	struct select *select; /* NULL: no expression */
	struct trace trace;
	struct capture_writer *accepted, *dropped;
	int trace_fd, log_fd; /* log_fd -1: none */
	uint64_t selected;    /* packets that matched the expression */
	uint64_t reloaded;    /* packets before the last reload */
	struct progress progress;
	struct strbuf message;	    /* of the capture's functions */
	uint64_t n_early, early_ns; /* packets that are earlier than one before them, by up to */
	uint64_t now, elapsed_ns, begin_ns;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	interrupted = sig;
}

/* Without SA_RESTART, so that a wait for input ends too. */
static void catch_signals(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = on_signal}, before;

	/* What is ignored stays ignored, under nohup(1) for one. */
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (!sigaction(signals[i], NULL, &before) && before.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
}

/* Says what the capture's functions had to say. Returns err. */
static int complain_message(struct replay *r, int err)
{
	complain("%s", r->message.len ? strbuf_str(&r->message) : strerror(-err));
	strbuf_truncate(&r->message, 0);
	return err;
}

static int complain_error(const char *what, int err)
{
	complain("%s%s%s", what ? what : "", what ? ": " : "", strerror(-err));
	return err;
}

static int packets_read(struct replay *r)
{
	int err = capture_read(r->capture, r->packets, &r->message);

	if (interrupted) {
		complain("interrupted");
		return -EINTR;
	}
	return err ? complain_message(r, err) : 0;
}

/* The reloads are in no order: the next packet after which there is one, 0 if there is none. */
static uint64_t reload_next(const struct options *o, uint64_t after)
{
	uint64_t next = 0;

	for (size_t i = 0; i < o->reloads.n; i++) {
		uint64_t at = strtoull(o->reloads.items[i], NULL, 10);
		if (at > after && (!next || at < next))
			next = at;
	}
	return next;
}

/* What is to be loaded after the packets so far. */
static int reloads_run(struct replay *r)
{
	uint64_t done = capture_packets(r->capture);
	int err = 0;

	for (size_t i = 0; !err && i < r->o->reloads.n; i++) {
		const char *text = r->o->reloads.items[i];

		if (strtoull(text, NULL, 10) != done)
			continue;
		err = reload_rules(r->engine, r->o, strchr(text, '=') + 1, r->now);
		r->reloaded = done;
	}
	capture_pause(r->capture, reload_next(r->o, done));
	return err;
}

static int capture_start(struct replay *r)
{
	int err = capture_open(&r->capture, r->o->input, &r->message);

	if (err)
		return complain_message(r, err);
	capture_pause(r->capture, reload_next(r->o, 0));
	r->packets = calloc(1, sizeof(*r->packets));
	if (!r->packets)
		return complain_error(NULL, -ENOMEM);
	err = packets_read(r);
	if (!err && r->packets->n)
		r->now = r->packets->time[0];
	return err;
}

static int engine_start(struct replay *r)
{
	int err;

	r->engine = engine_new();
	if (!r->engine)
		return -ENOMEM;
	err = tamis_path_set(r->engine, r->o->path);
	if (err)
		return complain_error("--path", err);
	for (size_t i = 0; i < r->o->locals.n; i++) {
		err = tamis_local_add(r->engine, r->o->locals.items[i]);
		if (err == -EINVAL)
			complain("--local %s: not an address or prefix", r->o->locals.items[i]);
		else if (err)
			complain_error("--local", err);
		if (err)
			return err;
	}
	err = feed_init(&r->feed, r->engine, r->o->iif, r->o->oif);
	if (err == -EINVAL)
		complain("--iif, --oif: an interface name has 1 to 63 bytes");
	else if (err)
		complain_error(NULL, err);
	if (err)
		return err;
	return load_rules(r->engine, r->o, r->now);
}

static int outputs_open(struct replay *r)
{
	const struct options *o = r->o;
	int err = 0;

	if (o->accepted)
		err = capture_writer_open(&r->accepted, o->accepted, r->capture, &r->message);
	if (!err && o->dropped)
		err = capture_writer_open(&r->dropped, o->dropped, r->capture, &r->message);
	if (err)
		return complain_message(r, err);
	if (o->trace) {
		r->trace_fd = o->json ? STDERR_FILENO : STDOUT_FILENO;
		r->trace.colour = paint_wanted(r->trace_fd);
		tamis_trace_set(r->engine, trace_print_event, &r->trace);
		if (o->trace_expr)
			err = select_new(o, r->now, &r->select);
	}
	if (!err && o->log) {
		r->log_fd = open(o->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		if (r->log_fd < 0)
			return complain_error(o->log, -errno);
		tamis_log_set(r->engine, trace_print_log, &r->trace);
	}
	return err;
}

/* Judges the packets that were read. */
static int burst_judge(struct replay *r)
{
	uint64_t traced = r->o->trace ? UINT64_MAX : 0, begin;
	int err = feed_fill(&r->feed, r->capture, r->packets);

	if (!err && r->select)
		err = select_run(r->select, r->capture, r->packets, &traced);
	if (err)
		return complain_error(NULL, err);
	if (r->select)
		r->selected += (unsigned)__builtin_popcountll(traced);
	tamis_burst_trace(r->feed.burst, traced);
	begin = clock_ns();
	err = tamis_burst_run(r->feed.burst);
	r->elapsed_ns += clock_ns() - begin;
	r->trace.base += r->packets->n;
	for (unsigned i = 0; i < r->packets->n; i++) {
		uint64_t time = r->packets->time[i];

		r->n_early += time < r->now;
		r->early_ns = MAX(r->early_ns, time < r->now ? r->now - time : 0);
		r->now = MAX(r->now, time);
		r->packets->data[i] = tamis_burst_data(r->feed.burst, i);
	}
	return err ? complain_error(NULL, err) : 0;
}

/* What traces and logs said of the burst. */
static int lines_write(struct replay *r)
{
	int err;

	if (r->trace.out.len)
		progress_end(&r->progress);
	err = output_strbuf(r->trace_fd, output_stdout_name, &r->trace.out);
	/* Nobody reads the trace any more: judge on if something else is to come of it. */
	if (err == OUTPUT_GONE && (r->o->accepted || r->o->dropped || r->o->log)) {
		tamis_trace_set(r->engine, NULL, NULL);
		err = 0;
	}
	if (!err)
		err = output_strbuf(r->log_fd, r->o->log, &r->trace.log);
	return err;
}

static int burst_write(struct replay *r)
{
	uint64_t accepted = tamis_burst_mask(r->feed.burst, TAMIS_ACCEPT);
	uint64_t dropped = tamis_burst_mask(r->feed.burst, TAMIS_DROP) |
			   tamis_burst_mask(r->feed.burst, TAMIS_REJECT);
	int err = 0;

	if (r->accepted)
		err = capture_writer_write(r->accepted, r->packets, accepted, &r->message);
	if (!err && r->dropped)
		err = capture_writer_write(r->dropped, r->packets, dropped, &r->message);
	return err ? complain_message(r, err) : 0;
}

static int packets_replay(struct replay *r)
{
	int err = 0;

	progress_begin(&r->progress, r->o->quiet);
	while (!err && r->packets->n) {
		err = burst_judge(r);
		if (!err)
			err = burst_write(r);
		if (!err)
			err = lines_write(r);
		if (!err)
			err = reloads_run(r);
		progress_update(&r->progress, capture_packets(r->capture),
				capture_bytes_read(r->capture), capture_bytes_total(r->capture));
		if (!err)
			err = packets_read(r);
	}
	progress_end(&r->progress);
	return err;
}

static int report_print(struct replay *r)
{
	struct report report;
	struct strbuf text = STRBUF_INIT;
	int err = report_make(r->engine, r->now, r->o->top, &report);

	if (err)
		return complain_error(NULL, err);
	report.reloaded = r->reloaded;
	report.elapsed_ns = r->elapsed_ns;
	report.total_ns = clock_ns() - r->begin_ns;
	if (r->o->trace && !r->o->json)
		strbuf_putc(&text, '\n');
	if (r->o->json)
		err = report_print_json(&report, &text);
	else
		report_print_text(&report, paint_wanted(STDOUT_FILENO), &text);
	report_free(&report);
	err = err ? complain_error(NULL, err)
		  : output_strbuf(STDOUT_FILENO, output_stdout_name, &text);
	strbuf_free(&text);
	return err;
}

static int outputs_finish(struct replay *r)
{
	int err = 0;

	if (r->log_fd >= 0) {
		int fd = r->log_fd;

		r->log_fd = -1;
		if (close(fd))
			return complain_error(r->o->log, -errno);
	}
	if (r->accepted)
		err = capture_writer_finish(r->accepted, &r->message);
	if (!err && r->dropped)
		err = capture_writer_finish(r->dropped, &r->message);
	return err ? complain_message(r, err) : 0;
}

/* What was dropped by no rule. */
static void limits_tell(const struct replay *r)
{
	struct tamis_totals totals;

	tamis_totals_get(r->engine, &totals);
	if (totals.not_tracked)
		complain("%" PRIu64 " packet%s dropped: too many connections", totals.not_tracked,
			 plural(totals.not_tracked));
	if (totals.too_deep)
		complain("%" PRIu64 " packet%s dropped: jumps more than 16 deep", totals.too_deep,
			 plural(totals.too_deep));
	if (totals.unready)
		complain("%" PRIu64 " connection%s had to wait for memory in ct count",
			 totals.unready, plural(totals.unready));
	if (totals.no_interface)
		complain("%" PRIu64
			 " packet%s met no ACL: the capture does not say where they were "
			 "seen, give --iif and --oif",
			 totals.no_interface, plural(totals.no_interface));
}

/* Reloads for which the capture has too few packets. */
static void reloads_tell(const struct replay *r)
{
	uint64_t n = capture_packets(r->capture);

	for (size_t i = 0; i < r->o->reloads.n; i++)
		if (strtoull(r->o->reloads.items[i], NULL, 10) > n)
			complain("--reload %s: never done, the capture has %" PRIu64 " packet%s",
				 r->o->reloads.items[i], n, plural(n));
}

static void times_tell(const struct replay *r)
{
	if (r->n_early)
		complain("%" PRIu64 " packet%s up to %" PRIu64 ".%06" PRIu64
			 " s earlier than one before: counted as at that one's time",
			 r->n_early, plural(r->n_early), r->early_ns / 1000000000,
			 r->early_ns % 1000000000 / 1000);
}

static int replay(struct replay *r)
{
	enum capture_end end;
	int err = capture_start(r);

	if (!err)
		err = engine_start(r);
	if (!err)
		err = outputs_open(r);
	if (!err)
		err = packets_replay(r);
	if (err)
		return err;
	end = capture_end(r->capture);
	fputs(capture_warnings(r->capture), stderr);
	limits_tell(r);
	reloads_tell(r);
	times_tell(r);
	unvisited_tell(r->engine, r->o);
	if (r->select && !r->selected)
		complain("no packet matched --trace=%s", r->o->trace_expr);
	if (!r->o->quiet)
		err = report_print(r);
	if (!err || err == OUTPUT_GONE)
		err = outputs_finish(r);
	return err ? err : end == CAPTURE_CORRUPT ? -EINVAL : 0;
}

static int replay_run(const struct options *o)
{
	struct replay r = {.o = o, .log_fd = -1, .begin_ns = clock_ns()};
	int err;

	catch_signals();
	err = replay(&r);
	if (r.log_fd >= 0)
		close(r.log_fd);
	strbuf_free(&r.trace.out);
	strbuf_free(&r.trace.log);
	capture_writer_free(r.accepted);
	capture_writer_free(r.dropped);
	select_free(r.select);
	feed_free(&r.feed);
	tamis_free(r.engine);
	free(r.packets);
	capture_close(r.capture);
	strbuf_free(&r.message);
	return err && err != OUTPUT_GONE ? 1 : 0;
}

static const char replay_help[] =
	"Usage: tamis replay -f RULES [-f RULES]... [options] IN.pcap\n"
	"\n"
	"Runs a capture through a ruleset as the kernel would, and reports what became of the\n"
	"packets: by verdict, by rule, by set. Reads pcap and pcapng, gzip'd too.\n"
	"\n"
	"Ruleset:\n"
	"  -f, --file RULES         a ruleset in nft's language or its JSON form\n" LOAD_HELP
	"      --reload N=FILE      after N packets FILE takes the place of the ruleset; sets "
	"that\n"
	"                           are declared the same keep what they hold, rules count anew;\n"
	"                           may be repeated\n"
	"Way of the packets:\n"
	"      --path PATH          input, forward, output, bridge, or auto (the default): input "
	"for\n"
	"                           packets to a local prefix, output for those from one, else\n"
	"                           forward\n"
	"      --local PREFIX       an address or prefix of this host; may be repeated\n"
	"      --iif NAME           interface where packets come in\n"
	"      --oif NAME           interface where packets go out; without these two, the names "
	"in\n"
	"                           a pcapng file count\n"
	"Output:\n"
	"  -j, --json               the report as one JSON object\n"
	"      --top N              only the N most hit rules and entries of ACLs\n"
	"  -q, --quiet              no report\n"
	"      --trace[=EXPR]       the way of every packet, or of those that match EXPR\n"
	"      --log FILE           lines of log statements\n"
	"  -w, --write FILE         capture of the accepted packets\n"
	"      --dropped FILE       capture of the dropped and rejected packets\n"
	"  -h, --help               this text\n"
	"\n"
	"- is standard input for RULES or IN.pcap, and with -q standard output for -w.\n"
	"\n"
	"Examples:\n"
	"  tamis replay -f /etc/nftables.conf --local 192.0.2.1 capture.pcapng\n"
	"  tamis replay -f rules.nft --trace='ip saddr 192.0.2.7 tcp dport 22' capture.pcap\n"
	"  tcpdump -w - -c 1000 | tamis replay -f rules.nft --top 10 -\n"
	"  tamis replay -f rules.nft --json capture.pcap.gz | jq .dropped\n";

const struct command command_replay = {
	.name = "replay",
	.summary = "-f RULES IN.pcap: runs a capture through a ruleset",
	.help = replay_help,
	.bit = 4,
	.takes_input = true,
	.run = replay_run,
};
