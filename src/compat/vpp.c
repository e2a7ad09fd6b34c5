/* SPDX-License-Identifier: Apache-2.0 */
/* vpp: commands line by line, all of a file or nothing; see vpp.h. */
#include "compat/vpp.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/address.h"
#include "compat/file.h"
#include "compat/vpp_int.h"

enum { NAME_MAX_BYTES = 63, SAID_WORDS = 3 };

static void say(struct vpp *v, const char *kind, const char *fmt, va_list ap)
{
	size_t from;

	strbuf_printf(v->messages, "%s:%u: %s: ", v->file, v->line, kind);
	from = v->messages->len;
	strbuf_vprintf(v->messages, fmt, ap);
	strbuf_mask(v->messages, from);
	strbuf_putc(v->messages, '\n');
}

int vpp_fail(struct vpp *v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(v, "Error", fmt, ap);
	va_end(ap);
	return -EINVAL;
}

void vpp_warn(struct vpp *v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(v, "Warning", fmt, ap);
	va_end(ap);
}

/* --- words ---------------------------------------------------------------------------------- */

const struct vpp_word *vpp_next(struct vpp *v)
{
	return v->at < v->words.n ? &v->words.items[v->at++] : NULL;
}

bool vpp_take(struct vpp *v, const char *word)
{
	bool is = v->at < v->words.n && vpp_is(&v->words.items[v->at], word);

	v->at += is;
	return is;
}

int vpp_number(struct vpp *v, const char *after, uint64_t max, uint32_t *out)
{
	const struct vpp_word *w = vpp_next(v);
	uint64_t n;

	if (!w || decimal_parse(w->text, w->len, max, &n))
		return vpp_fail(v, "'%s' wants a number up to %llu", after,
				(unsigned long long)max);
	*out = (uint32_t)n;
	return 0;
}

const char *vpp_string(struct vpp *v, const char *text, size_t len)
{
	char *s = strndup(text, len);

	if (!s || vec_push(&v->strings, s)) {
		free(s);
		return NULL;
	}
	return s;
}

int vpp_unknown(struct vpp *v, const struct vpp_word *w)
{
	return vpp_fail(v, "unknown input '%.*s'", (int)w->len, w->text);
}

/* Nothing may be left of a command. */
static int words_end(struct vpp *v)
{
	const struct vpp_word *w = vpp_next(v);

	return w ? vpp_unknown(v, w) : 0;
}

/* Splits at blanks, quotes and commas. */
static int words_split(struct vpp *v, const char *p, const char *end)
{
	static const char between[] = " \t\r\n\v\f\"'\\";
	int err = 0;

	v->words.n = v->at = 0;
	while (p < end && !err) {
		const char *from = p;

		if (!*p || strchr(between, *p)) {
			p++;
			continue;
		}
		if (*p == ',')
			p++;
		else
			while (p < end && *p && *p != ',' && !strchr(between, *p))
				p++;
		err = vec_push(&v->words, ((struct vpp_word){from, (size_t)(p - from)}));
	}
	return err;
}

/* --- what the ACLs' transaction does not take back ------------------------------------------ */

static void settings_restore(struct vpp *v)
{
	for (size_t i = v->undo.n; i-- > 0;) {
		const struct vpp_undo *u = &v->undo.items[i];

		switch (u->what) {
		case VPP_MACIP:
			tamis_interface_macip_set(v->t, u->at, u->old);
			break;
		case VPP_TIMEOUT:
			tamis_acl_timeout_set(v->t, (enum tamis_acl_timeout)u->at, u->old);
			break;
		case VPP_FRAGMENTS:
			tamis_acls_fragments_set(v->a, u->old);
			break;
		}
	}
}

static int undo_push(struct vpp *v, enum vpp_setting what, uint32_t at, uint32_t old)
{
	return vec_push(&v->undo, ((struct vpp_undo){what, at, old}));
}

struct bound {
	uint32_t iface, macip;
	bool found;
};

static int macip_of_iface(void *arg, const struct tamis_interface_acls *i)
{
	struct bound *b = arg;

	if (i->index == b->iface)
		b->macip = i->macip;
	return 0;
}

static int macip_set(struct vpp *v, uint32_t iface, uint32_t macip)
{
	struct bound b = {.iface = iface, .macip = TAMIS_ACL_END};

	tamis_interface_acls_each(v->t, macip_of_iface, &b);
	int err = undo_push(v, VPP_MACIP, iface, b.macip);
	return err ? err : tamis_interface_macip_set(v->t, iface, macip);
}

static int iface_of_macip(void *arg, const struct tamis_interface_acls *i)
{
	struct bound *b = arg;

	if (i->macip != b->macip)
		return 0;
	b->iface = i->index;
	b->found = true;
	return 1;
}

/* --- commands ------------------------------------------------------------------------------- */

static int limit_tell(struct vpp *v, int err)
{
	if (err == -EDQUOT)
		return vpp_fail(v, "there are too many ACLs or rules");
	if (err == -E2BIG)
		return vpp_fail(v,
				"too many rules of this ACL overlap: no address, protocol or "
				"port tells more than %d of them apart; unite their ranges",
				TAMIS_ACL_OVERLAP_DEFAULT);
	return err;
}

static int set_acl(struct vpp *v)
{
	struct vpp_acl acl;
	int err = vpp_rules_parse(v, &acl);

	if (err)
		return err;
	err = tamis_acl_put(v->a, &acl.index, acl.tag, v->rules.items, v->rules.n);
	return limit_tell(v, err);
}

static int set_macip_acl(struct vpp *v)
{
	struct vpp_acl acl;
	int err = vpp_macip_rules_parse(v, &acl);

	if (err)
		return err;
	err = tamis_macip_put(v->a, &acl.index, acl.tag, v->macip_rules.items, v->macip_rules.n);
	return limit_tell(v, err);
}

/* What `set acl-plugin [macip] interface` says, in any order. */
struct apply {
	char name[NAME_MAX_BYTES + 1];
	uint32_t acl, iface;
	enum tamis_acl_direction dir;
	bool del;
};

static int apply_parse(struct vpp *v, bool directions, struct apply *out)
{
	const struct vpp_word *w;
	int err;

	*out = (struct apply){.acl = TAMIS_ACL_NEW};
	while ((w = vpp_next(v))) {
		if (vpp_is(w, "acl")) {
			err = vpp_number(v, "acl", TAMIS_ACL_INDEX_MAX, &out->acl);
			if (err)
				return err;
		} else if (vpp_is(w, "add") || vpp_is(w, "del")) {
			out->del = vpp_is(w, "del");
		} else if (directions && (vpp_is(w, "input") || vpp_is(w, "output"))) {
			out->dir = vpp_is(w, "input") ? TAMIS_ACL_INPUT : TAMIS_ACL_OUTPUT;
		} else if (*out->name || vpp_is(w, ",")) {
			return vpp_unknown(v, w);
		} else if (w->len > NAME_MAX_BYTES) {
			return vpp_fail(v, "%.*s: no interface has such a name", (int)w->len,
					w->text);
		} else {
			memcpy(out->name, w->text, w->len);
		}
	}
	if (!*out->name)
		return vpp_fail(v, "there is no interface");
	if (out->acl == TAMIS_ACL_NEW)
		return vpp_fail(v, "there is no 'acl N'");
	err = tamis_interface_find(v->t, out->name, &out->iface);
	return err == -ENOSPC ? vpp_fail(v, "there are too many interfaces") : err;
}

static int set_interface(struct vpp *v)
{
	struct tamis_acl_context *ctx;
	struct tamis_acl_info info;
	struct apply x;
	int err = apply_parse(v, true, &x);

	if (!err)
		err = tamis_interface_context(v->t, x.iface, x.dir, &ctx);
	if (err)
		return err;
	if (tamis_acl_get(v->a, x.acl, &info))
		return vpp_fail(v, "there is no ACL %u", x.acl);
	err = x.del ? tamis_acl_context_remove(ctx, x.acl)
		    : tamis_acl_context_insert(ctx, x.acl, TAMIS_ACL_END);
	if (err == -EEXIST || err == -ENOENT) {
		vpp_warn(v, "ACL %u is %s %s %s", x.acl, x.del ? "not" : "already",
			 x.dir == TAMIS_ACL_INPUT ? "input of" : "output of", x.name);
		err = 0;
	}
	return err;
}

static int set_macip_interface(struct vpp *v)
{
	struct tamis_acl_info info;
	struct apply x;
	int err = apply_parse(v, false, &x);

	if (err)
		return err;
	if (tamis_macip_get(v->a, x.acl, &info))
		return vpp_fail(v, "there is no MAC-IP ACL %u", x.acl);
	return macip_set(v, x.iface, x.del ? TAMIS_ACL_END : x.acl);
}

static int delete_acl(struct vpp *v)
{
	uint32_t index = 0;
	int err;

	if (!vpp_take(v, "index"))
		return vpp_fail(v, "there is no 'index N'");
	err = vpp_number(v, "index", TAMIS_ACL_INDEX_MAX, &index);
	if (!err)
		err = tamis_acl_delete(v->a, index);
	if (err == -ENOENT)
		return vpp_fail(v, "there is no ACL %u", index);
	return err == -EBUSY ? vpp_fail(v, "ACL %u is applied to an interface", index) : err;
}

static int delete_macip(struct vpp *v)
{
	struct bound b = {.found = false};
	int err;

	if (!vpp_take(v, "acl") || !vpp_take(v, "index"))
		return vpp_fail(v, "there is no 'acl index N'");
	err = vpp_number(v, "index", TAMIS_ACL_INDEX_MAX, &b.macip);
	if (err)
		return err;
	/* As in VPP, interfaces lose it. */
	while (tamis_interface_acls_each(v->t, iface_of_macip, &b)) {
		err = macip_set(v, b.iface, TAMIS_ACL_END);
		if (err)
			return err;
	}
	err = tamis_macip_delete(v->a, b.macip);
	return err == -ENOENT ? vpp_fail(v, "there is no MAC-IP ACL %u", b.macip) : err;
}

static int set_timeout(struct vpp *v)
{
	static const struct {
		const char *proto, *state;
		enum tamis_acl_timeout which;
	} timeouts[] = {
		{"udp", "idle", TAMIS_ACL_UDP_IDLE},
		{"tcp", "idle", TAMIS_ACL_TCP_IDLE},
		{"tcp", "transient", TAMIS_ACL_TCP_TRANSIENT},
	};
	const struct vpp_word *proto = vpp_next(v), *state = vpp_next(v);
	struct tamis_acl_sessions now;
	uint32_t seconds = 0;
	int err;

	for (size_t i = 0; i < ARRAY_SIZE(timeouts); i++) {
		if (!vpp_is(proto, timeouts[i].proto) || !vpp_is(state, timeouts[i].state))
			continue;
		err = vpp_number(v, timeouts[i].state, UINT32_MAX, &seconds);
		if (err)
			return err;
		if (!seconds)
			return vpp_fail(v, "a lifetime of 0 seconds");
		tamis_acl_sessions_get(v->t, v->now, &now);
		err = undo_push(v, VPP_TIMEOUT, timeouts[i].which, now.timeout[timeouts[i].which]);
		return err ? err : tamis_acl_timeout_set(v->t, timeouts[i].which, seconds);
	}
	return vpp_fail(v, "'timeout' wants udp idle, tcp idle or tcp transient");
}

static int set_fragments(struct vpp *v)
{
	uint32_t on = 0;
	int err = vpp_number(v, "l4-match-nonfirst-fragment", UINT32_MAX, &on);

	if (!err)
		err = undo_push(v, VPP_FRAGMENTS, 0, tamis_acls_fragments(v->a));
	if (!err)
		tamis_acls_fragments_set(v->a, on);
	return err;
}

/* Settings of tables that only VPP has. */
static int set_other(struct vpp *v)
{
	static const char *const known[] = {"skip-ipv6-extension-header",
					    "use-hash-acl-matching",
					    "event-trace",
					    "heap",
					    "session",
					    "reclassify-sessions"};
	const struct vpp_word *w = vpp_next(v);

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (vpp_is(w, known[i])) {
			vpp_warn(v, "'%s' has no effect here", known[i]);
			v->at = v->words.n;
			return 0;
		}
	return w ? vpp_unknown(v, w) : vpp_fail(v, "the command has no end");
}

/* The first that fits. */
static const struct {
	const char *words[5]; /* behind them comes the rest */
	int (*run)(struct vpp *v);
} commands[] = {
	{{"set", "acl-plugin", "acl"}, set_acl},
	{{"set", "acl-plugin", "interface"}, set_interface},
	{{"set", "acl-plugin", "macip", "acl"}, set_macip_acl},
	{{"set", "acl-plugin", "macip", "interface"}, set_macip_interface},
	{{"set", "acl-plugin", "session", "timeout"}, set_timeout},
	{{"set", "acl-plugin", "l4-match-nonfirst-fragment"}, set_fragments},
	{{"set", "acl-plugin"}, set_other},
	{{"delete", "acl-plugin", "acl"}, delete_acl},
	{{"delete", "acl-plugin", "macip"}, delete_macip},
	{{"show", "acl-plugin"}, vpp_show},
	{{"clear", "acl-plugin", "sessions"}, words_end}, /* there are none while a file is read */
};

static bool begins_with(struct vpp *v, const char *const *words)
{
	size_t from = v->at;

	for (; *words; words++)
		if (!vpp_take(v, *words)) {
			v->at = from;
			return false;
		}
	return true;
}

/* A command of another part of VPP; one that may be meant for the ACLs is an error. */
static int pass_over(struct vpp *v)
{
	size_t n = MIN(v->words.n - v->at, (size_t)SAID_WORDS);
	const struct vpp_word *w = &v->words.items[v->at];
	struct strbuf said = STRBUF_INIT;
	bool acl = false;

	for (size_t i = 0; i < n; i++) {
		acl |= w[i].len >= 3 && !memcmp(w[i].text, "acl", 3);
		strbuf_printf(&said, "%s%.*s", i ? " " : "", (int)w[i].len, w[i].text);
	}
	int err = strbuf_error(&said);
	if (!err && acl) {
		err = vpp_fail(v, "there is no such command: %s", strbuf_str(&said));
	} else if (!err && !v->n_passed++) {
		strbuf_mask(&said, 0);
		v->first_passed = v->line;
		strncpy(v->passed, strbuf_str(&said), sizeof(v->passed) - 1);
	}
	strbuf_free(&said);
	return err;
}

static int command_run(struct vpp *v)
{
	int err;

	if (vpp_take(v, "vppctl"))
		while (vpp_take(v, "-s"))
			vpp_next(v);
	if (v->at == v->words.n)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (!begins_with(v, commands[i].words))
			continue;
		err = commands[i].run(v);
		return err ? err : words_end(v);
	}
	return pass_over(v);
}

/* --- files ---------------------------------------------------------------------------------- */

static bool is_comment(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	return p < end && *p == '#';
}

static int lines_run(struct vpp *v, const char *p, const char *end)
{
	unsigned lines = 0;
	const char *line;
	size_t len;
	int err = 0;

	while (!err && line_next(&p, end, &line, &len)) {
		v->line = ++lines;
		if (is_comment(line, line + len))
			continue;
		const char *from = line;
		while (len && line[len - 1] == '\\' && line_next(&p, end, &line, &len))
			lines++;
		err = words_split(v, from, line + len);
		if (!err && v->words.n)
			err = command_run(v);
		while (v->strings.n)
			free(v->strings.items[--v->strings.n]);
	}
	return err;
}

int vpp_exec_text(struct tamis *t, const char *name, const char *text, size_t len, uint64_t now,
		  struct strbuf *output, struct strbuf *messages)
{
	struct vpp v = {.t = t,
			.a = tamis_acls_of(t),
			.file = name,
			.now = now,
			.out = output,
			.messages = messages};
	int err = v.a ? tamis_acls_begin(v.a) : -ENOMEM;

	if (err)
		return err;
	err = lines_run(&v, text, text + len);
	if (!err && v.n_passed)
		strbuf_printf(messages,
			      "%s: Warning: %u command%s not about ACLs passed over, the first in "
			      "line %u: %s\n",
			      name, v.n_passed, plural(v.n_passed), v.first_passed, v.passed);
	if (!err)
		err = strbuf_error(messages) ? strbuf_error(messages) : strbuf_error(output);
	if (err)
		tamis_acls_abort(v.a);
	else
		err = tamis_acls_commit(v.a);
	if (err)
		settings_restore(&v);
	vec_free(&v.words);
	vec_free(&v.undo);
	vec_free(&v.rules);
	vec_free(&v.macip_rules);
	vec_free(&v.strings);
	return err;
}

int vpp_exec(struct tamis *t, const char *path, uint64_t now, struct strbuf *output,
	     struct strbuf *messages)
{
	struct strbuf text = STRBUF_INIT;
	int err = file_read(path, &text);

	if (!err)
		err = vpp_exec_text(t, file_name(path), strbuf_str(&text), text.len, now, output,
				    messages);
	strbuf_free(&text);
	return err;
}
