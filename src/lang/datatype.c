/* SPDX-License-Identifier: Apache-2.0 */
/*
 * datatype: finding types, numbers, strings, and the way down a type's parents.
 *
 * A type reads text with its own reader, else its symbols, else as a number; parents lend what a
 * type does not have. No state, any thread; cost is the length of the text and of one symbol table.
 */
#include "lang/datatype_int.h"

static const struct {
	const char *name;
	const struct datatype *type;
} types[] = {
#define X(id, name) {name, &type_##id},
	DATATYPES(X)
#undef X
};

const struct datatype *datatype_find(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (types[i].type == &type_invalid)
			continue;
		if (strlen(types[i].name) == len && !memcmp(types[i].name, name, len))
			return types[i].type;
	}
	return NULL;
}

const struct symbol *symbol_find(const struct symbol *table, const char *text, size_t len)
{
	for (const struct symbol *s = table; s && s->name; s++)
		if (!strncmp(s->name, text, len) && !s->name[len])
			return s;
	return NULL;
}

const char *symbol_name(const struct symbol *table, uint64_t value)
{
	for (const struct symbol *s = table; s && s->name; s++)
		if (s->value == value)
			return s->name;
	return NULL;
}

static const struct symbol *type_symbols(const struct datatype *t)
{
	for (; t; t = t->parent)
		if (t->symbols)
			return t->symbols;
	return NULL;
}

const char *datatype_symbol(const struct datatype *t, uint64_t value)
{
	return symbol_name(type_symbols(t), value);
}

uint64_t datatype_max(const struct datatype *t, unsigned bits)
{
	if (t && t->max)
		return t->max;
	return bits >= 64 ? UINT64_MAX : (1ULL << bits) - 1;
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

int number_store(uint64_t v, uint8_t *out, unsigned bits)
{
	if (v > datatype_max(NULL, bits))
		return -ERANGE;
	memset(out, 0, bits_to_bytes(bits));
	be_store(out, v, bits_to_bytes(bits));
	return 0;
}

int number_parse(const char *text, size_t len, uint8_t *out, unsigned bits)
{
	uint8_t big[VALUE_MAX + 1] = {0};
	const unsigned bytes = bits_to_bytes(bits);
	unsigned base = 10;
	uint64_t small = 0;
	bool wide = false, over = false;

	if (!len || bytes > VALUE_MAX)
		return -EINVAL;
	if (len > 2 && text[0] == '0' && (text[1] | 0x20) == 'x') {
		base = 16;
		text += 2;
		len -= 2;
	} else if (len > 1 && text[0] == '0') {
		base = 8;
	}
	for (size_t i = 0; i < len; i++) {
		unsigned d = digit_value(text[i]);

		if (d >= base)
			return -EINVAL;
		if (!wide && small > (UINT64_MAX - d) / base) {
			be_store(big + VALUE_MAX + 1 - 8, small, 8);
			wide = true;
		}
		if (!wide) {
			small = small * base + d;
			continue;
		}
		for (unsigned carry = d, k = VALUE_MAX + 1; k-- > 0 && !over;) {
			unsigned v = big[k] * base + carry;

			big[k] = (uint8_t)v;
			carry = v >> 8;
		}
		over = over || big[0];
	}
	if (!wide)
		be_store(big + VALUE_MAX + 1 - 8, small, 8);
	for (unsigned i = 0; i < VALUE_MAX + 1 - bytes; i++)
		if (big[i])
			return -ERANGE;
	if (bits % 8 && big[VALUE_MAX + 1 - bytes] >> (bits % 8))
		return -ERANGE;
	memcpy(out, big + VALUE_MAX + 1 - bytes, bytes);
	return 0;
}

static void number_print(const uint8_t *value, unsigned bits, unsigned radix, unsigned digits,
			 struct strbuf *out)
{
	unsigned bytes = bits_to_bytes(bits);
	uint8_t big[VALUE_MAX];
	char text[VALUE_MAX * 3];
	unsigned n = sizeof(text);

	while (bytes > 8 && !value[0]) {
		value++;
		bytes--;
	}
	if (bytes <= 8) {
		unsigned long long v = be_load(value, bytes);

		if (radix == 16)
			strbuf_printf(out, "0x%0*llx", (int)digits, v);
		else
			strbuf_printf(out, "%llu", v);
		return;
	}
	if (radix == 16) {
		strbuf_printf(out, "0x%x", value[0]);
		for (unsigned i = 1; i < bytes; i++)
			strbuf_printf(out, "%02x", value[i]);
		return;
	}
	memcpy(big, value, bytes);
	for (unsigned first = 0; first < bytes;) {
		unsigned rest = 0;

		for (unsigned i = first; i < bytes; i++) {
			unsigned v = rest << 8 | big[i];

			big[i] = (uint8_t)(v / 10);
			rest = v % 10;
		}
		text[--n] = (char)('0' + rest);
		while (first < bytes && !big[first])
			first++;
	}
	strbuf_add(out, text + n, sizeof(text) - n);
}

PARSER(type_integer)
{
	int err = number_parse(text, len, out, bits);

	if (!err && t->max && be_load(out, MIN(bits_to_bytes(bits), 8)) > t->max)
		return -ERANGE;
	return err;
}

PRINTER(type_integer)
{
	number_print(value, bits, t->radix ? t->radix : 10, t->digits, out);
}

PARSER(type_string)
{
	unsigned bytes = bits_to_bytes(bits);

	if (!len) {
		*why = "Empty string is not allowed";
		return -EINVAL;
	}
	if (len >= bytes) { /* a zero stands at the end */
		*why = bytes == 16 ? "String exceeds maximum length of 16" : "String is too long";
		return -EINVAL;
	}
	memset(out, 0, bytes);
	memcpy(out, text, len);
	return 0;
}

PRINTER(type_string)
{
	strbuf_putc(out, '"');
	strbuf_add(out, value, strnlen((const char *)value, bits_to_bytes(bits)));
	strbuf_putc(out, '"');
}

int ifname_parse(const char *text, size_t len, uint8_t *out, unsigned *n, bool *wildcard)
{
	uint8_t name[IFNAME_MAX] = {0};
	unsigned k = 0;
	bool wild = false;

	for (size_t i = 0; i < len; i++) {
		if (text[i] == '*' && i + 1 == len) {
			wild = true;
			break;
		}
		if (text[i] == '\\' && i + 1 < len)
			i++;
		if (k == IFNAME_MAX - 1)
			return -EINVAL;
		name[k++] = (uint8_t)text[i];
	}
	if ((!k && !wild) || k + wild == IFNAME_MAX)
		return -EINVAL;
	memcpy(out, name, sizeof(name));
	*n = k;
	*wildcard = wild;
	return 0;
}

void ifname_print(const uint8_t *name, unsigned n, bool wildcard, struct strbuf *out)
{
	n = (unsigned)strnlen((const char *)name, n);
	strbuf_putc(out, '"');
	if (n && name[n - 1] == '*' && !wildcard) {
		strbuf_add(out, name, n - 1);
		strbuf_puts(out, "\\*");
	} else {
		strbuf_add(out, name, n);
		if (wildcard)
			strbuf_putc(out, '*');
	}
	strbuf_putc(out, '"');
}

PARSER(type_ifname)
{
	uint8_t name[IFNAME_MAX];
	unsigned n;
	bool wildcard;

	if (!len) {
		*why = "Empty string is not allowed";
		return -EINVAL;
	}
	if (ifname_parse(text, len, name, &n, &wildcard) < 0 || n > bits_to_bytes(bits)) {
		*why = "String exceeds maximum length of 16";
		return -EINVAL;
	}
	if (wildcard) {
		*why = "A wildcard is not possible here";
		return -EINVAL;
	}
	memset(out, 0, bits_to_bytes(bits));
	memcpy(out, name, n);
	return 0;
}

PRINTER(type_ifname)
{
	ifname_print(value, bits_to_bytes(bits), false, out);
}

int datatype_parse(const struct datatype *t, const struct lang_env *env, const char *text,
		   size_t len, uint8_t *out, unsigned bits, const char **why)
{
	static const struct lang_env no_env;
	const struct symbol *s = symbol_find(type_symbols(t), text, len);

	*why = NULL;
	if (!bits || bits_to_bytes(bits) > VALUE_MAX)
		return -EINVAL;
	if (s) {
		if (s->value > datatype_max(NULL, bits))
			return -ERANGE;
		memset(out, 0, bits_to_bytes(bits));
		be_store(out, s->value, bits_to_bytes(bits));
		return 0;
	}
	for (const struct datatype *p = t; p; p = p->parent)
		if (p->parse)
			return p->parse(t, env ? env : &no_env, text, len, out, bits, why);
	return -EINVAL;
}

void datatype_print(const struct datatype *t, const struct lang_env *env, const uint8_t *value,
		    unsigned bits, struct strbuf *out)
{
	static const struct lang_env no_env;
	const char *name = NULL;

	if (!env)
		env = &no_env;
	if (t->symbols_print && !(env->numeric & NUMERIC_SYMBOLS) && bits <= 64)
		name = datatype_symbol(t, be_load(value, bits_to_bytes(bits)));
	if (name) {
		strbuf_puts(out, name);
		return;
	}
	for (const struct datatype *p = t; p; p = p->parent) {
		if (p->print) {
			p->print(t, env, value, bits, out);
			return;
		}
	}
}
