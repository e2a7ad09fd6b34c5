/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_in: members of objects, read as the type that their place asks for, and messages that name
 * the culprit by its path. Cost: that of the lookup in jansson's hash. One thread.
 */
#include <stdio.h>

#include "lang/json_in_int.h"

enum { FAIL_TEXT_MAX = 512 };

/* --- Messages ----------------------------------------------------------------------------- */

static void path_print(const struct json_in *in, const char *key, struct strbuf *out)
{
	for (unsigned i = 0; i < in->depth; i++) {
		if (in->path[i].key)
			strbuf_printf(out, "%s%s", i ? "." : "", in->path[i].key);
		else
			strbuf_printf(out, "[%zu]", in->path[i].index);
	}
	if (key)
		strbuf_printf(out, "%s%s", in->depth ? "." : "", key);
}

static _Noreturn void fail(struct json_in *in, const char *key, const char *fmt, va_list ap)
{
	struct strbuf path = STRBUF_INIT;
	char text[FAIL_TEXT_MAX];

	vsnprintf(text, sizeof(text), fmt, ap);
	path_print(in, key, &path);
	diag_error(in->sources, in->loc, "%s (in %s).", text, strbuf_str(&path));
	strbuf_free(&path);
	longjmp(in->failed, 1);
}

void json_fail(struct json_in *in, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fail(in, NULL, fmt, ap);
}

void json_fail_at(struct json_in *in, const char *key, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fail(in, key, fmt, ap);
}

void json_enter(struct json_in *in, const char *key, size_t index)
{
	if (in->depth == JSON_PATH_MAX)
		json_fail(in, "Nested deeper than %d levels", JSON_PATH_MAX);
	in->path[in->depth++] = (struct json_step){key, index};
}

void json_leave(struct json_in *in)
{
	in->depth--;
}

const char *json_type_name(const json_t *v)
{
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		return "object";
	case JSON_ARRAY:
		return "array";
	case JSON_STRING:
		return "string";
	case JSON_INTEGER:
		return "integer";
	case JSON_REAL:
		return "real";
	case JSON_TRUE:
	case JSON_FALSE:
		return "boolean";
	case JSON_NULL:
		break;
	}
	return "null";
}

/* --- Members ------------------------------------------------------------------------------ */

static bool word_is_known(const char *known, const char *key)
{
	const size_t len = strlen(key);

	for (const char *p = known; *p;) {
		size_t n = strcspn(p, " ");

		if (n == len && !memcmp(p, key, n))
			return true;
		p += n + (p[n] == ' ');
	}
	return false;
}

void json_members(struct json_in *in, json_t *v, const char *known)
{
	const char *key;
	json_t *member;

	if (!json_is_object(v))
		json_fail(in, "Expected object, got %s", json_type_name(v));
	json_object_foreach(v, key, member) if (!word_is_known(known, key))
		json_fail(in, "Unknown property '%s'", key);
}

const char *json_only(struct json_in *in, json_t *o, json_t **v)
{
	void *it;

	if (!json_is_object(o))
		json_fail(in, "Expected object, got %s", json_type_name(o));
	if (json_object_size(o) != 1)
		json_fail(in, "Expected an object with one property, got %zu", json_object_size(o));
	it = json_object_iter(o);
	*v = json_object_iter_value(it);
	return json_object_iter_key(it);
}

json_t *json_need(struct json_in *in, json_t *o, const char *key)
{
	json_t *v = json_object_get(o, key);

	if (!v)
		json_fail(in, "Object item not found: %s", key);
	return v;
}

const char *json_in_text(struct json_in *in, json_t *v)
{
	if (!json_is_string(v))
		json_fail(in, "Expected string, got %s", json_type_name(v));
	if (strlen(json_string_value(v)) != json_string_length(v))
		json_fail(in, "String with a NUL byte");
	return arena_strndup(in->a, json_string_value(v), json_string_length(v));
}

const char *json_get_string(struct json_in *in, json_t *o, const char *key)
{
	json_t *v = json_object_get(o, key);
	const char *text;

	if (!v)
		return NULL;
	json_enter(in, key, 0);
	text = json_in_text(in, v);
	json_leave(in);
	return text;
}

const char *json_need_string(struct json_in *in, json_t *o, const char *key)
{
	json_need(in, o, key);
	return json_get_string(in, o, key);
}

bool json_get_number(struct json_in *in, json_t *o, const char *key, uint64_t max, uint64_t *out)
{
	json_t *v = json_object_get(o, key);

	if (!v)
		return false;
	if (!json_is_integer(v))
		json_fail_at(in, key, "Expected integer, got %s", json_type_name(v));
	if (json_integer_value(v) < 0 || (uint64_t)json_integer_value(v) > max)
		json_fail_at(in, key, "Value %lld exceeds valid range 0-%llu",
			     (long long)json_integer_value(v), (unsigned long long)max);
	*out = (uint64_t)json_integer_value(v);
	return true;
}

uint64_t json_need_number(struct json_in *in, json_t *o, const char *key, uint64_t max)
{
	uint64_t v = 0;

	json_need(in, o, key);
	json_get_number(in, o, key, max, &v);
	return v;
}

bool json_get_bool(struct json_in *in, json_t *o, const char *key)
{
	json_t *v = json_object_get(o, key);

	if (!v)
		return false;
	if (!json_is_boolean(v))
		json_fail_at(in, key, "Expected boolean, got %s", json_type_name(v));
	return json_is_true(v);
}

static int word_index(struct json_in *in, json_t *v, const char *const *words, unsigned n,
		      const char *what)
{
	if (!json_is_string(v))
		json_fail(in, "Expected string, got %s", json_type_name(v));
	for (unsigned i = 0; i < n; i++)
		if (words[i] && !strcmp(words[i], json_string_value(v)))
			return (int)i;
	json_fail(in, "Unknown %s '%s'", what, json_string_value(v));
}

int json_get_word(struct json_in *in, json_t *o, const char *key, const char *const *words,
		  const char *what)
{
	json_t *v = json_object_get(o, key);
	unsigned n = 0;
	int word;

	if (!v)
		return -1;
	while (words[n])
		n++;
	json_enter(in, key, 0);
	word = word_index(in, v, words, n, what);
	json_leave(in);
	return word;
}

unsigned json_get_flags(struct json_in *in, json_t *o, const char *key, const char *const *words,
			unsigned n, const char *what)
{
	json_t *v = json_object_get(o, key);
	unsigned flags = 0;

	if (!v)
		return 0;
	json_enter(in, key, 0);
	if (json_is_array(v)) {
		for (size_t i = 0; i < json_array_size(v); i++) {
			json_enter(in, NULL, i);
			flags |= 1U << word_index(in, json_array_get(v, i), words, n, what);
			json_leave(in);
		}
	} else {
		flags = 1U << word_index(in, v, words, n, what);
	}
	json_leave(in);
	return flags;
}

void json_each(struct json_in *in, json_t *v, void (*fn)(struct json_in *in, json_t *v, void *arg),
	       void *arg)
{
	if (!json_is_array(v)) {
		fn(in, v, arg);
		return;
	}
	for (size_t i = 0; i < json_array_size(v); i++) {
		json_enter(in, NULL, i);
		fn(in, json_array_get(v, i), arg);
		json_leave(in);
	}
}
