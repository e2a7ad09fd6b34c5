/* SPDX-License-Identifier: Apache-2.0 */
/* parser: tokens, errors and blocks; see parser.h. */
#include "lang/parser.h"

#include <stdarg.h>
#include <stdio.h>

void token_next(struct parser *p)
{
	p->last = token_loc(p);
	p->last_type = p->tok.type;
	for (;;) {
		lex(p->in.text, p->in.len, p->in.pos, &p->tok);
		p->tok_src = p->in.src;
		p->in.pos = p->tok.end;
		if (p->tok.type != T_EOF || !p->outer.n)
			return;
		p->in = p->outer.items[--p->outer.n];
		/* A file that ends inside a line ends its last item all the same. */
		p->tok.type = T_NEWLINE;
		if (p->last_type != T_NEWLINE && p->last_type != T_SEMICOLON)
			return;
	}
}

struct token token_peek(const struct parser *p)
{
	struct token t;
	lex(p->in.text, p->in.len, p->in.pos, &t);
	return t;
}

struct loc token_loc(const struct parser *p)
{
	return (struct loc){p->tok_src, p->tok.begin, p->tok.end};
}

struct loc parse_span(const struct parser *p, struct loc start)
{
	return loc_join(start, p->last);
}

void parse_error(struct parser *p, struct loc loc, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	diag_verror(p->sources, loc, fmt, ap);
	va_end(ap);
	longjmp(*p->recover, 1);
}

void parse_syntax_error(struct parser *p, const char *expecting)
{
	const char *name = token_name(&p->tok);
	if (expecting)
		parse_error(p, token_loc(p), "syntax error, unexpected %s, expecting %s", name,
			    expecting);
	parse_error(p, token_loc(p), "syntax error, unexpected %s", name);
}

bool token_is_word(const struct parser *p, const char *word)
{
	size_t n = strlen(word);
	return p->tok.type == T_WORD && p->tok.len == n && !memcmp(p->tok.text, word, n);
}

bool token_accept(struct parser *p, enum tok t)
{
	if (p->tok.type != t)
		return false;
	token_next(p);
	return true;
}

bool token_accept_kw(struct parser *p, enum keyword k)
{
	if (p->tok.kw != k)
		return false;
	token_next(p);
	return true;
}

bool token_accept_word(struct parser *p, const char *word)
{
	if (!token_is_word(p, word))
		return false;
	token_next(p);
	return true;
}

void token_expect(struct parser *p, enum tok t, const char *expecting)
{
	if (!token_accept(p, t))
		parse_syntax_error(p, expecting);
}

void token_expect_kw(struct parser *p, enum keyword k)
{
	if (!token_accept_kw(p, k))
		parse_syntax_error(p, keyword_text(k));
}

void token_expect_word(struct parser *p, const char *word)
{
	if (!token_accept_word(p, word))
		parse_syntax_error(p, word);
}

void token_skip_newlines(struct parser *p)
{
	while (p->tok.type == T_NEWLINE)
		token_next(p);
}

void token_skip_commas(struct parser *p)
{
	token_skip_newlines(p);
	if (!token_is(p, T_COMMA) && !token_is(p, T_RBRACE))
		parse_syntax_error(p, "comma or '}'");
	while (token_is(p, T_COMMA) || token_is(p, T_NEWLINE))
		token_next(p);
}

bool token_is_separator(const struct parser *p)
{
	return p->tok.type == T_NEWLINE || p->tok.type == T_SEMICOLON;
}

void parse_end_of_item(struct parser *p)
{
	if (token_is_separator(p))
		token_next(p);
	else if (!token_is(p, T_EOF))
		parse_syntax_error(p, "newline or semicolon");
}

void parse_enter(struct parser *p, unsigned levels)
{
	if (p->depth + levels > PARSE_DEPTH_MAX)
		parse_error(p, token_loc(p), "too many levels of nesting, at most %d",
			    PARSE_DEPTH_MAX);
	p->depth += levels;
}

void parse_leave(struct parser *p, unsigned levels)
{
	p->depth -= levels;
}

/* After an error: on behind the next newline or semicolon, as nft does. */
static void skip_item(struct parser *p)
{
	if (p->sources->n_errors >= p->sources->max_errors)
		longjmp(*p->stop, 1);
	while (!token_is_separator(p)) {
		if (token_is(p, T_EOF))
			longjmp(*p->stop, 1);
		token_next(p);
	}
	token_next(p);
}

static void scope_open(struct parser *p)
{
	struct scope *s = arena_new(p->a, struct scope);
	s->parent = p->scope;
	s->next_made = p->made;
	p->scope = p->made = s;
}

static void scope_close(struct parser *p)
{
	map_free(&p->scope->by_name);
	p->scope = p->scope->parent;
}

/* Items until `}` or (top) the end of the text, each through item(); goes on after errors. */
static void parse_items(struct parser *p, void (*item)(struct parser *p, void *arg), void *arg,
			bool top)
{
	jmp_buf back, *outer = p->recover;
	struct scope *scope = p->scope;
	struct arena *a = p->a;
	struct cmd_list *out = p->out;
	unsigned depth = p->depth;
	bool outside = p->in_block;
	p->recover = &back;
	p->in_block = !top;
	if (setjmp(back)) {
		p->a = a;
		p->out = out;
		p->scope = scope;
		p->depth = depth;
		p->in_block = !top;
		p->recover = &back;
		skip_item(p);
	}
	for (;;) {
		if (token_is_separator(p))
			token_next(p);
		else if (token_is(p, T_EOF) ? top : token_is(p, T_RBRACE) && !top)
			break;
		else if (!parse_common(p))
			item(p, arg);
	}
	p->recover = outer;
	p->in_block = outside;
}

struct loc parse_block(struct parser *p, void (*item)(struct parser *p, void *arg), void *arg)
{
	struct loc inside = token_loc(p);
	token_expect(p, T_LBRACE, "'{'");
	parse_enter(p, 1);
	scope_open(p);
	parse_items(p, item, arg, false);
	scope_close(p);
	parse_leave(p, 1);
	inside = parse_span(p, inside);
	token_expect(p, T_RBRACE, "'}'");
	return inside;
}

static void scopes_free(struct parser *p)
{
	for (struct scope *s = p->made; s; s = s->next_made)
		map_free(&s->by_name);
	p->made = NULL;
}

void parse_oom(struct parser *p)
{
	longjmp(*p->a->on_oom, 1);
}

/* One text from its first token to its end; of a variable on the command line that is its -D. */
static void parse_source(struct parser *p, int src, bool define)
{
	const struct source *s = source_at(p->sources, (uint32_t)src);
	p->in = (struct input){s->text, (uint32_t)s->len, define ? 2 : 0, (uint32_t)src};
	p->nodes_max += (uint64_t)s->len * VARIABLE_NODES_PER_BYTE;
	p->tok = (struct token){0};
	p->tok_src = (uint32_t)src;
	if (define)
		p->tok = (struct token){
			.type = T_WORD, .kw = KW_REDEFINE, .text = s->text, .len = 2, .end = 2};
	else
		token_next(p);
	parse_items(p, parse_line_as_text, NULL, true);
}

static int parse_defines(struct parser *p)
{
	const char *const *d = p->options ? p->options->defines : NULL;
	for (; d && *d; d++) {
		char *text = arena_printf(&p->sources->arena, "-D %s\n", *d);
		int src = text ? source_add(p->sources, SOURCE_STRING, "-D", text, strlen(text),
					    LOC_NONE)
			       : -ENOMEM;
		if (src < 0)
			return src;
		parse_source(p, src, true);
	}
	return 0;
}

static int run(struct parser *p, int src)
{
	jmp_buf oom, stop;
	unsigned before = p->sources->n_errors;
	struct arena *a = p->a;
	jmp_buf *outer = arena_on_oom(a, &oom);
	volatile int ret = 0;
	arena_on_oom(&p->member, &oom);
	arena_on_oom(&p->line, &oom);
	if (setjmp(oom)) {
		ret = -ENOMEM;
	} else if (!setjmp(stop)) {
		p->stop = p->recover = &stop;
		scope_open(p);
		ret = parse_defines(p);
		if (!ret)
			parse_source(p, src, false);
	}
	arena_on_oom(a, outer);
	arena_free(&p->member);
	arena_free(&p->line);
	scopes_free(p);
	vec_free(&p->outer);
	if (ret)
		return ret;
	if (p->sources->oom)
		return -ENOMEM;
	return p->sources->n_errors > before ? -EINVAL : 0;
}

int parse_text(struct source_set *sources, int src, struct arena *a,
	       const struct parse_options *options, struct cmd_list *out)
{
	struct parser *p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->sources = sources;
	p->a = a;
	p->options = options;
	p->out = out;
	p->nodes_max = VARIABLE_NODES_BASE;
	int ret = run(p, src);
	free(p);
	return ret;
}
