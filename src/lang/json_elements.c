/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_elements: elements of sets in JSON that may be millions: they stay text, as in nft's
 * language (members.h). A document's values take some hundred bytes each, more than ten times what
 * they are in the text.
 *
 * Arrays named "elem" of commands and listings, not of rules, are cut out before the document is
 * made. Each of their elements is made and read alone, once to see that it is right and once when
 * it goes into its set. If anything is wrong, or a string could be taken for that which stands for
 * an array, nothing is cut: then messages are those of the whole document.
 *
 * One thread. Cost: two passes over the arrays, memory for one element at a time.
 */
#include <stdio.h>

#include "lang/json_in_int.h"

#define STANDS_FOR "tamis elements "

enum { ARRAY_DEPTH_MIN = 4, ARRAY_DEPTH_MAX = 5 }; /* {"nftables": [{"add": {"set": {"elem": */

/* --- Elements ------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static uint32_t skip_blanks(const char *text, uint32_t at, uint32_t end)
{
	while (at < end && is_blank(text[at]))
		at++;
	return at;
}

/* One of JSON's values from *at on, NULL if there is none; then *err is -ENOMEM or -EINVAL. */
static json_t *value_load(const char *text, uint32_t *at, uint32_t end, int *err)
{
	json_error_t error;
	json_t *v = json_loadb(text + *at, end - *at,
			       JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY,
			       &error);

	if (v)
		*at += (uint32_t)error.position;
	else
		*err = json_error_code(&error) == json_error_out_of_memory || !*error.text
			       ? -ENOMEM
			       : -EINVAL;
	return v;
}

/* The next element and what stands behind it; -EINVAL if one of the two is wrong. */
static int element_read(struct json_in *in, const char *text, uint32_t *at, uint32_t end,
			struct expr *set)
{
	jmp_buf oom, *before = arena_on_oom(in->a, &oom);
	unsigned depth = in->depth;
	volatile int err = 0;
	int why = 0;
	json_t *v = value_load(text, at, end, &why);

	if (!v) {
		err = why;
	} else if (setjmp(oom)) {
		err = -ENOMEM;
	} else if (setjmp(in->failed)) {
		err = -EINVAL;
	} else {
		json_enter(in, NULL, set->list.n);
		json_in_set_item(in, v, set);
	}
	in->depth = depth;
	arena_on_oom(in->a, before);
	json_decref(v);
	if (err)
		return err;
	*at = skip_blanks(text, *at, end);
	if (*at == end)
		return 0;
	if (text[*at] != ',')
		return -EINVAL;
	*at = skip_blanks(text, *at + 1, end);
	return *at < end ? 0 : -EINVAL;
}

int json_elements_read(struct source_set *sources, uint32_t src, struct arena *a, uint32_t *at,
		       uint32_t end, uint32_t most, struct expr *set)
{
	const struct source *s = source_at(sources, src);
	struct json_in in = {.sources = sources, .a = a, .loc = {src, 0, 0}};
	int err = 0;

	while (!err && *at < end && set->list.n < most)
		err = element_read(&in, s->text, at, end, set);
	return err;
}

/* --- Cutting -------------------------------------------------------------------------------- */

/* What is around the place that the scan is at. */
struct scan {
	const char *text;
	uint32_t len, at, depth;
	char around[ARRAY_DEPTH_MAX + 1];
};

/* Behind the string that begins here; len if it does not end. */
static uint32_t string_end(const char *text, uint32_t at, uint32_t len)
{
	for (at++; at < len && text[at] != '"'; at++)
		if (text[at] == '\\')
			at++;
	return MIN(at + 1, len);
}

/* Where the array ends that begins here; len if it does not. */
static uint32_t array_end(const char *text, uint32_t at, uint32_t len)
{
	uint32_t depth = 0;

	for (; at < len; at++) {
		if (text[at] == '"')
			at = string_end(text, at, len) - 1;
		else if (text[at] == '[' || text[at] == '{')
			depth++;
		else if ((text[at] == ']' || text[at] == '}') && !--depth)
			return at;
	}
	return len;
}

/* The array whose name begins here; false if there is none. */
static bool array_here(const struct scan *s, uint32_t *begin, uint32_t *end)
{
	static const char name[] = "\"elem\"", around[] = "{[{{{";
	uint32_t at = s->at + (uint32_t)strlen(name);

	if (s->depth < ARRAY_DEPTH_MIN || s->depth > ARRAY_DEPTH_MAX || at >= s->len ||
	    memcmp(s->around, around, s->depth) || memcmp(s->text + s->at, name, strlen(name)))
		return false;
	at = skip_blanks(s->text, at, s->len);
	if (at == s->len || s->text[at] != ':')
		return false;
	at = skip_blanks(s->text, at + 1, s->len);
	if (at == s->len || s->text[at] != '[')
		return false;
	*begin = at + 1;
	*end = array_end(s->text, at, s->len);
	return *end < s->len && skip_blanks(s->text, *begin, *end) < *end;
}

/* To the next array, or false at the end; s->at is where it is named. */
static bool scan_next(struct scan *s, uint32_t *begin, uint32_t *end)
{
	for (; s->at < s->len; s->at++) {
		char c = s->text[s->at];

		if (c == '"') {
			if (array_here(s, begin, end))
				return true;
			s->at = string_end(s->text, s->at, s->len) - 1;
		} else if (c == '[' || c == '{') {
			if (s->depth < sizeof(s->around))
				s->around[s->depth] = c;
			s->depth++;
		} else if ((c == ']' || c == '}') && s->depth) {
			s->depth--;
		}
	}
	return false;
}

static bool is_range(const struct expr *e)
{
	return e->kind == EX_RANGE || e->kind == EX_PREFIX;
}

static bool data_has_range(const struct expr *item)
{
	const struct expr *d = item->kind == EX_ELEM ? item->elem->data : NULL;

	if (!d || d->kind != EX_CONCAT)
		return d && is_range(d);
	for (uint32_t i = 0; i < d->list.n; i++)
		if (is_range(d->list.items[i]))
			return true;
	return false;
}

/* Reads all elements of an array, for their number and their errors. */
static int cut_check(struct source_set *sources, uint32_t src, struct json_cut *cut)
{
	const char *text = source_at(sources, src)->text;
	struct arena arena = ARENA_INIT;
	struct json_in in = {.sources = sources, .a = &arena, .loc = {src, 0, 0}};
	struct expr set = {.kind = EX_SET};
	uint32_t at = skip_blanks(text, cut->begin, cut->end);
	int err = 0;

	in.depth = cut->depth;
	while (!err && at < cut->end) {
		set.list = (struct expr_list){0};
		err = element_read(&in, text, &at, cut->end, &set);
		for (uint32_t i = 0; i < set.list.n; i++)
			cut->ranges = cut->ranges || data_has_range(set.list.items[i]);
		cut->n += set.list.n;
		arena_reset(&arena);
	}
	arena_free(&arena);
	return err;
}

/* What stays; -EINVAL if it has what could be taken for what stands for an array. */
static int rest_add(struct strbuf *rest, const char *text, uint32_t len)
{
	if (memmem(text, len, STANDS_FOR, strlen(STANDS_FOR)) || memmem(text, len, "\\u", 2))
		return -EINVAL;
	strbuf_add(rest, text, len);
	return strbuf_error(rest);
}

static int cuts_try(struct json_cuts *c, struct source_set *sources, uint32_t src)
{
	const struct source *source = source_at(sources, src);
	struct scan s = {.text = source->text, .len = (uint32_t)source->len};
	uint32_t done = 0;
	int err = 0;

	uint32_t begin, end;

	while (!err && scan_next(&s, &begin, &end)) {
		struct json_cut cut = {.begin = begin, .end = end, .depth = s.depth};

		err = cut_check(sources, src, &cut);
		if (!err)
			err = rest_add(&c->rest, s.text + done, cut.begin - 1 - done);
		if (!err)
			err = vec_push(&c->items, cut);
		if (!err)
			strbuf_printf(&c->rest, "\"" STANDS_FOR "%zu\"", c->items.n - 1);
		done = s.at = cut.end + 1;
	}
	return err || !c->items.n ? err : rest_add(&c->rest, s.text + done, s.len - done);
}

int json_cuts_make(struct json_cuts *c, struct source_set *sources, uint32_t src)
{
	unsigned n_errors = sources->n_errors;
	size_t told = sources->diags.n;
	int err = cuts_try(c, sources, src);

	if (err == -EINVAL) {
		json_cuts_free(c);
		sources->diags.n = told;
		sources->n_errors = n_errors;
		err = 0;
	}
	return err;
}

void json_cuts_free(struct json_cuts *c)
{
	vec_free(&c->items);
	strbuf_free(&c->rest);
}

const struct json_cut *json_cut_find(const struct json_in *in, const json_t *v)
{
	const char *text = in->cuts ? json_string_value(v) : NULL;
	size_t i;

	if (!text || strncmp(text, STANDS_FOR, strlen(STANDS_FOR)) ||
	    sscanf(text + strlen(STANDS_FOR), "%zu", &i) != 1)
		return NULL;
	return &in->cuts->items.items[i];
}
