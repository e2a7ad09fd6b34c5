/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse_define: variables and includes: what may stand in every block.
 *
 * A variable is found in its scope or one around it. Each use is a clone, whose cost is bounded for
 * all uses together. An include reads its files at once and puts them before what follows, so that
 * blocks may reach over files, as in nft; glob's matches come in alphabetical order, directories
 * and hidden files are passed over.
 */
#include "lang/parser.h"

#include <ctype.h>
#include <glob.h>
#include <limits.h>
#include <sys/stat.h>

/* --- Variables ------------------------------------------------------------------------------ */

static struct variable *find_in(const struct scope *s, const char *name, uint32_t len)
{
	struct variable *v = map_find(&s->by_name, name, len);
	return v && v->value ? v : NULL;
}

static struct variable *find(const struct parser *p, const char *name, uint32_t len)
{
	for (const struct scope *s = p->scope; s; s = s->parent) {
		struct variable *v = find_in(s, name, len);
		if (v)
			return v;
	}
	return NULL;
}

/*
 * The number of edits that turn a into b: insertions, deletions, changes and swaps of neighbours
 * (optimal string alignment).
 */
static unsigned edit_distance(const char *a, unsigned na, const char *b, unsigned nb)
{
	unsigned rows[3][NAME_COMPARED_MAX + 1], *before = rows[0], *above = rows[1],
						 *row = rows[2];
	for (unsigned j = 0; j <= nb; j++)
		above[j] = j;
	for (unsigned i = 1; i <= na; i++) {
		row[0] = i;
		for (unsigned j = 1; j <= nb; j++) {
			unsigned d = above[j - 1] + (a[i - 1] != b[j - 1]);
			d = MIN(d, MIN(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d = MIN(d, before[j - 2] + 1);
			row[j] = d;
		}
		unsigned *t = before;
		before = above;
		above = row;
		row = t;
	}
	return above[nb];
}

/* How many edits still make a likely slip; nft's measure. */
static unsigned likely_edits(unsigned na, unsigned nb)
{
	unsigned max = MAX(na, nb), min = MIN(na, nb);
	if (max <= 1)
		return 0;
	return max - min <= 1 ? 1 + (max + 2) / 3 : (max + 4) / 3;
}

static const struct variable *find_similar(const struct parser *p, const char *name, size_t len)
{
	const struct variable *best = NULL;
	unsigned best_distance = UINT_MAX;
	if (len > NAME_COMPARED_MAX)
		return NULL;
	for (const struct scope *s = p->scope; s; s = s->parent)
		for (const struct variable *v = s->vars; v; v = v->next) {
			if (!v->value || v->len > NAME_COMPARED_MAX)
				continue;
			unsigned d = edit_distance(name, (unsigned)len, v->name, v->len);
			if (d <= likely_edits((unsigned)len, v->len) && d < best_distance) {
				best = v;
				best_distance = d;
			}
		}
	return best;
}

static struct variable *must_find(struct parser *p, const char *name, size_t len)
{
	struct variable *v = find(p, name, len);
	if (v)
		return v;
	const struct variable *similar = find_similar(p, name, len);
	if (similar)
		parse_error(p, token_loc(p),
			    "unknown identifier '%.*s'; did you mean identifier ‘%.*s’?", (int)len,
			    name, (int)similar->len, similar->name);
	parse_error(p, token_loc(p), "unknown identifier '%.*s'", (int)len, name);
}

struct expr *parse_variable_members(struct parser *p)
{
	token_next(p);
	if (!token_is(p, T_WORD) || keyword_is_reserved(p->tok.kw))
		parse_syntax_error(p, "string");
	struct variable *v = must_find(p, p->tok.text, p->tok.len);
	p->nodes += v->nodes;
	if (p->nodes > p->nodes_max)
		parse_error(p, token_loc(p), "variables expand to more than %llu values",
			    (unsigned long long)p->nodes_max);
	token_next(p);
	return expr_clone(p->a, v->value);
}

struct expr *parse_variable(struct parser *p)
{
	struct expr *e = parse_variable_members(p);
	if (e->kind == EX_SET && members_read_all(p->sources, p->a, e, &e))
		parse_oom(p);
	return e;
}

static size_t name_len(const char *s)
{
	size_t n = 0;
	while (s[n] == '_' || isalnum((unsigned char)s[n]))
		n++;
	return n;
}

const char *parse_expanded_string(struct parser *p)
{
	struct loc loc = token_loc(p);
	if (!token_is(p, T_QUOTED) || !memchr(p->tok.text, '$', p->tok.len))
		return parse_string(p);
	const char *text = arena_strndup(p->a, p->tok.text, p->tok.len), *out = "";
	for (const char *dollar; (dollar = strchr(text, '$')); text = dollar) {
		size_t len = name_len(++dollar);
		const struct variable *v = must_find(p, dollar, len);
		if (v->value->kind != EX_SYMBOL)
			parse_error(p, loc, "'$%.*s' is no string", (int)len, dollar);
		const struct expr *value = v->value;
		out = arena_printf(p->a, "%s%.*s%.*s", out, (int)(dollar - 1 - text), text,
				   (int)value->symbol.len, value->symbol.text);
		if (strlen(out) > EXPANDED_MAX)
			parse_error(p, loc, "the string is too long with its variables");
		dollar += len;
	}
	token_next(p);
	return arena_printf(p->a, "%s%s", out, text);
}

static struct expr *parse_initializer(struct parser *p)
{
	struct loc start = token_loc(p);
	if (token_accept(p, T_DASH)) {
		struct token t = p->tok;
		if (!token_is(p, T_NUMBER))
			parse_syntax_error(p, "number");
		token_next(p);
		struct expr *e = expr_new(p->a, EX_SYMBOL, parse_span(p, start));
		e->flags = EXF_NUMBER;
		e->symbol.text = arena_printf(p->a, "-%.*s", (int)t.len, t.text);
		e->symbol.len = t.len + 1;
		return e;
	}
	if (token_is(p, T_LBRACE))
		return parse_members(p);
	struct expr *e = parse_rhs(p);
	/* The length of a prefix, no mask of flags. */
	if (token_accept(p, T_SLASH))
		parse_syntax_error(p, "number");
	return e;
}

static void variable_add(struct parser *p, struct variable *v)
{
	int err = map_insert(&p->scope->by_name, v->name, v->len, v);
	if (err)
		parse_oom(p);
	v->next = p->scope->vars;
	p->scope->vars = v;
}

static void parse_definition(struct parser *p, bool again)
{
	token_next(p);
	if (!token_is(p, T_WORD) || keyword_is_reserved(p->tok.kw))
		parse_syntax_error(p, "string");
	struct token name = p->tok;
	struct loc loc = token_loc(p);
	token_next(p);
	token_expect(p, T_ASSIGN, "'='");
	struct expr *value = parse_initializer(p);
	uint32_t nodes = 0;
	if (expr_measure(value, &nodes) > VARIABLE_DEPTH_MAX)
		parse_error(p, value->loc, "too many levels of nesting in a variable, at most %d",
			    VARIABLE_DEPTH_MAX);
	if (!token_is_separator(p) && !token_is(p, T_EOF))
		parse_syntax_error(p, "newline or semicolon");
	if (!again && find(p, name.text, name.len))
		parse_error(p, loc, "redefinition of symbol '%.*s'", (int)name.len, name.text);
	struct variable *v = map_find(&p->scope->by_name, name.text, name.len);
	if (!v) {
		v = arena_new(p->a, struct variable);
		v->name = name.text;
		v->len = name.len;
		variable_add(p, v);
	}
	v->value = value;
	v->nodes = nodes;
	parse_end_of_item(p);
}

static void parse_undefine(struct parser *p)
{
	token_next(p);
	if (!token_is(p, T_WORD) || keyword_is_reserved(p->tok.kw))
		parse_syntax_error(p, "string");
	struct variable *v = find_in(p->scope, p->tok.text, p->tok.len);
	if (v)
		v->value = NULL;
	token_next(p);
	parse_end_of_item(p);
}

/* --- Includes ------------------------------------------------------------------------------- */

/* How many files include this one. */
static unsigned include_depth(const struct source_set *sources, uint32_t src)
{
	unsigned depth = 0;
	const struct source *s = source_at(sources, src);
	while (s && (s = source_at(sources, s->included_at.src)))
		depth++;
	return depth;
}

/* Puts the files before what follows. The last comes first, so that the first is read first. */
static int push_files(struct parser *p, const glob_t *g, struct loc loc)
{
	for (size_t i = g->gl_pathc; i-- > 0;) {
		struct stat st;
		const char *path = g->gl_pathv[i];
		if (!stat(path, &st) && S_ISDIR(st.st_mode))
			continue;
		int src = source_add_file(p->sources, path, loc);
		if (src == -ENOMEM)
			return src;
		if (src < 0) {
			diag_error(p->sources, loc, "Could not open file \"%s\": %s", path,
				   strerror(-src));
			return src;
		}
		const struct source *s = source_at(p->sources, (uint32_t)src);
		if (vec_push(&p->outer, p->in))
			return -ENOMEM;
		p->in = (struct input){s->text, (uint32_t)s->len, 0, (uint32_t)src};
		p->nodes_max += (uint64_t)s->len * VARIABLE_NODES_PER_BYTE;
	}
	return 0;
}

/* 1 if `path` matched nothing. */
static int push_path(struct parser *p, const char *path, struct loc loc)
{
	glob_t g;
	int err = glob(path, 0, NULL, &g);
	if (err == GLOB_NOMATCH)
		return 1;
	if (err)
		return err == GLOB_NOSPACE ? -ENOMEM : -EIO;
	int ret = push_files(p, &g, loc);
	globfree(&g);
	return ret;
}

/* Where the working directory is meant, whatever the search path says. */
static bool is_fixed(const char *path)
{
	return path[0] == '/' || !strncmp(path, "./", 2) || !strncmp(path, "../", 3);
}

/* The first directory that has the file; of a pattern all that match, in every directory. */
static void include_file(struct parser *p, const char *path, struct loc loc)
{
	static const char *const here_only[] = {"", NULL}, *const by_default[] = {"/etc", NULL};
	const char *const *dirs = p->options ? p->options->include_path : NULL;
	bool pattern = strpbrk(path, "*?[");
	int ret = 1;
	if (is_fixed(path))
		dirs = here_only;
	else if (!dirs || !*dirs)
		dirs = by_default;
	for (; *dirs && (ret == 1 || (pattern && !ret)); dirs++) {
		const char *full = **dirs ? arena_printf(p->a, "%s/%s", *dirs, path) : path;
		int err = push_path(p, full, loc);
		ret = err == 1 && pattern ? ret : err;
	}
	if (ret == -ENOMEM)
		parse_oom(p);
	if (ret == -EIO || (ret == 1 && !pattern))
		parse_error(p, loc, "File not found: %s", path);
	if (ret < 0)
		longjmp(*p->recover, 1);
}

static void parse_include(struct parser *p)
{
	struct loc start = token_loc(p);
	token_next(p);
	if (!token_is(p, T_QUOTED))
		parse_syntax_error(p, "quoted string");
	const char *path = arena_strndup(p->a, p->tok.text, p->tok.len);
	token_next(p);
	struct loc loc = parse_span(p, start);
	if (!token_is_separator(p) && !token_is(p, T_EOF))
		parse_syntax_error(p, "newline or semicolon");
	/* The end of the line is part of the statement, as nft counts. */
	if (token_is_separator(p))
		loc = loc_join(loc, token_loc(p));
	if (include_depth(p->sources, loc.src) + 1 >= INCLUDE_DEPTH_MAX)
		parse_error(p, loc, "Include nested too deeply, max %u levels", INCLUDE_DEPTH_MAX);
	/* The token that follows is read again, behind the files. */
	if (p->tok_src == p->in.src)
		p->in.pos = p->tok.begin;
	include_file(p, path, loc);
	p->tok.type = T_NEWLINE;
	token_next(p);
}

bool parse_common(struct parser *p)
{
	switch (p->tok.kw) {
	case KW_DEFINE:
		parse_definition(p, false);
		return true;
	case KW_REDEFINE:
		parse_definition(p, true);
		return true;
	case KW_UNDEFINE:
		parse_undefine(p);
		return true;
	case KW_INCLUDE:
		parse_include(p);
		return true;
	default:
		return false;
	}
}
