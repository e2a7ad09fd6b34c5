/* SPDX-License-Identifier: Apache-2.0 */
/* ipset: see ipset.h: the lines of a restore file, and sets by name. */
#include "compat/ipset.h"

#include <stdarg.h>
#include <stdlib.h>

#include "compat/file.h"
#include "compat/ipset_int.h"

enum { WORDS_MAX = 64, LINE_BYTES = 1024 };

enum command { CREATE, ADD, DEL, FLUSH, DESTROY, RENAME, SWAP, COMMANDS_N };

static const struct {
	const char *names[5];
} commands[] = {
	[CREATE] = {{"create", "-N", "--create", "n", "new"}},
	[ADD] = {{"add", "-A", "--add"}},
	[DEL] = {{"del", "-D", "--del", "delete"}},
	[FLUSH] = {{"flush", "-F", "--flush"}},
	[DESTROY] = {{"destroy", "-X", "--destroy", "x"}},
	[RENAME] = {{"rename", "-E", "--rename", "e"}},
	[SWAP] = {{"swap", "-W", "--swap", "w"}},
};

static const char *const option_names[] = {
#define X(name, text) [IPSET_##name] = text,
	IPSET_OPTIONS(X)
#undef X
};

int ipset_new(struct ipset **out)
{
	struct ipset *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->by_name = MAP_INIT;
	*out = s;
	return 0;
}

void ipset_free(struct ipset *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->sets.n; i++)
		ipset_set_free(s->sets.items[i]);
	vec_free(&s->sets);
	map_free(&s->by_name);
	free(s);
}

int ipset_fail(struct ipset *s, const char *fmt, ...)
{
	va_list ap;

	strbuf_printf(s->messages, "%s: Error in line %u: ", s->file, s->line);
	va_start(ap, fmt);
	strbuf_vprintf(s->messages, fmt, ap);
	va_end(ap);
	strbuf_putc(s->messages, '\n');
	return -EINVAL;
}

int ipset_number(struct ipset *s, const char *text, uint64_t max, uint64_t *out)
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = strtoull(text, &end, 0);
	if (*text < '0' || *text > '9' || *end)
		return ipset_fail(s, "Syntax error: '%s' is invalid as number", text);
	if (errno || v > max)
		return ipset_fail(s, "Syntax error: '%s' is out of range 0-%llu", text,
				  (unsigned long long)max);
	*out = v;
	return 0;
}

int ipset_argument(struct ipset *s, struct ipset_words *w, const char *option, const char **out)
{
	const char *text = words_next(w);

	if (!text)
		return ipset_fail(s, "Missing mandatory argument of option `%s'", option);
	*out = text;
	return 0;
}

enum ipset_option ipset_option_find(const char *word)
{
	unsigned i = 0;

	while (i < IPSET_OPTIONS_N && strcmp(word, option_names[i]))
		i++;
	return (enum ipset_option)i;
}

static enum command command_find(const char *word)
{
	for (unsigned c = 0; c < COMMANDS_N; c++)
		for (size_t i = 0; i < ARRAY_SIZE(commands[c].names) && commands[c].names[i]; i++)
			if (strcmp(word, commands[c].names[i]) == 0)
				return (enum command)c;
	return COMMANDS_N;
}

/* The set named by the next word; the first one that `command` needs. */
static int set_next(struct ipset *s, struct ipset_words *w, enum command c, struct ipset_set **out)
{
	const char *name = words_next(w);

	if (!name)
		return ipset_fail(s, "Missing mandatory argument to command %s",
				  commands[c].names[0]);
	*out = map_find_str(&s->by_name, name);
	return *out ? 0 : ipset_fail(s, "The set with the given name does not exist");
}

static int destroy(struct ipset *s, struct ipset_set *set)
{
	if (set->refs)
		return ipset_fail(s, "Set cannot be destroyed: it is in use by a kernel component");
	ipset_flush(set);
	map_remove_str(&s->by_name, set->name);
	for (size_t i = 0; i < s->sets.n; i++) {
		if (s->sets.items[i] != set)
			continue;
		memmove(&s->sets.items[i], &s->sets.items[i + 1],
			(--s->sets.n - i) * sizeof(*s->sets.items));
		break;
	}
	ipset_set_free(set);
	return 0;
}

static int destroy_all(struct ipset *s)
{
	int err = 0;

	for (size_t i = 0; i < s->sets.n; i++)
		if (s->sets.items[i]->type->kind == IPSET_LIST)
			ipset_flush(s->sets.items[i]);
	while (!err && s->sets.n)
		err = destroy(s, s->sets.items[s->sets.n - 1]);
	return err;
}

static int rename_set(struct ipset *s, struct ipset_set *set, const char *name)
{
	if (!name)
		return ipset_fail(s, "Missing second mandatory argument to command rename");
	if (ipset_name_check(s, name))
		return -EINVAL;
	if (map_find_str(&s->by_name, name))
		return ipset_fail(s, "Set cannot be renamed: a set with the new name already "
				     "exists");
	if (set->refs)
		return ipset_fail(s, "Set cannot be renamed: it is in use by another system");
	map_remove_str(&s->by_name, set->name);
	strcpy(set->name, name);
	return map_insert_str(&s->by_name, set->name, set);
}

/* What holds the names is exchanged: lists that refer to one refer to its name. */
static int swap_sets(struct ipset *s, struct ipset_set *a, const char *name)
{
	struct ipset_set *b, kept;

	if (!name)
		return ipset_fail(s, "Missing second mandatory argument to command swap");
	b = map_find_str(&s->by_name, name);
	if (!b)
		return ipset_fail(s, "Sets cannot be swapped: the second set does not exist");
	if (a->type != b->type || a->ip_len != b->ip_len)
		return ipset_fail(s, "The sets cannot be swapped: their type does not match");
	kept = *a;
	*a = *b;
	*b = kept;
	memcpy(b->name, a->name, sizeof(b->name));
	memcpy(a->name, kept.name, sizeof(a->name));
	b->refs = a->refs;
	a->refs = kept.refs;
	return 0;
}

static int command_run(struct ipset *s, struct ipset_words *w)
{
	const char *word = words_next(w);
	enum command c = command_find(word);
	struct ipset_set *set;
	int err;

	if (c == COMMANDS_N)
		return ipset_fail(s, "No command specified: unknown argument %s", word);
	if (c == CREATE)
		return ipset_create(s, w);
	if (w->at == w->n && c == FLUSH) {
		for (size_t i = 0; i < s->sets.n; i++)
			ipset_flush(s->sets.items[i]);
		return 0;
	}
	if (w->at == w->n && c == DESTROY)
		return destroy_all(s);
	if (c == DESTROY && s->exist && !map_find_str(&s->by_name, w->word[w->at]))
		return 0;
	err = set_next(s, w, c, &set);
	if (err)
		return err;
	switch (c) {
	case ADD:
		return ipset_add(s, set, w);
	case DEL:
		return ipset_del(s, set, w);
	case FLUSH:
		ipset_flush(set);
		return 0;
	case DESTROY:
		return destroy(s, set);
	case RENAME:
		return rename_set(s, set, words_next(w));
	default:
		return swap_sets(s, set, words_next(w));
	}
}

/* Takes the line apart in place: words between blanks, or between quotation marks. */
static int words_split(struct ipset *s, char *line, struct ipset_words *w)
{
	char *p = line;

	for (;;) {
		char *word;

		p += strspn(p, " \t");
		if (!*p)
			return 0;
		if (*p == '"') {
			word = ++p;
			p = strchr(p, '"');
			if (!p)
				return ipset_fail(s, "Syntax error: a quotation mark is missing");
		} else {
			word = p;
			p += strcspn(p, " \t");
		}
		if (*p)
			*p++ = '\0';
		if (strcmp(word, "-exist") == 0 || strcmp(word, "-!") == 0 ||
		    strcmp(word, "--exist") == 0)
			s->exist = true;
		else if (strcmp(word, "-quiet") && strcmp(word, "-q") && strcmp(word, "--quiet")) {
			if (w->n == WORDS_MAX)
				return ipset_fail(s, "Syntax error: more than %d words", WORDS_MAX);
			w->word[w->n++] = word;
		}
	}
}

static int line_run(struct ipset *s, const char *line, size_t len)
{
	char copy[LINE_BYTES + 1], *word[WORDS_MAX];
	struct ipset_words w = {.word = word};
	int err;

	s->exist = false;
	if (len > LINE_BYTES || memchr(line, 0, len))
		return ipset_fail(s,
				  len > LINE_BYTES ? "Syntax error: the line is longer than %d "
						     "characters"
						   : "Syntax error: no text",
				  LINE_BYTES);
	memcpy(copy, line, len);
	copy[len] = '\0';
	if (copy[0] == '#')
		return 0;
	err = words_split(s, copy, &w);
	if (err || !w.n || strcmp(word[0], "COMMIT") == 0)
		return err;
	err = command_run(s, &w);
	if (!err && w.at < w.n)
		err = ipset_fail(s, "Unknown argument: `%s'", word[w.at]);
	return err;
}

int ipset_restore(struct ipset *s, const char *path, struct strbuf *messages)
{
	struct strbuf content = STRBUF_INIT;
	const char *p, *line;
	size_t len;
	int err = file_read(path, &content);

	s->messages = messages;
	s->file = file_name(path);
	s->line = 0;
	p = strbuf_str(&content);
	for (const char *end = p + content.len; !err && line_next(&p, end, &line, &len);) {
		s->line++;
		err = line_run(s, line, len);
	}
	strbuf_free(&content);
	return err;
}
