/* SPDX-License-Identifier: Apache-2.0 */
/* blocklist: see blocklist.h. */
#include "compat/blocklist.h"

#include <stdlib.h>

#include "base/address.h"
#include "base/vec.h"
#include "compat/file.h"
#include "engine/change.h"

enum { TARGET_MAX = 512, RANGE_TEXT_MAX = 100, SHOWN_MAX = 60, BATCH = 64 };

/*
 * Entries of the set's family, one behind another: first and last address as key bytes, and the
 * line.
 */
struct entries {
	uint8_t *items;
	size_t n, cap;
	unsigned key_len;
};

static size_t entry_size(const struct entries *e)
{
	return 2 * e->key_len + sizeof(uint32_t);
}

static uint8_t *entry_at(const struct entries *e, size_t i)
{
	return e->items + i * entry_size(e);
}

static uint32_t entry_line(const struct entries *e, size_t i)
{
	uint32_t line;

	memcpy(&line, entry_at(e, i) + 2 * e->key_len, sizeof(line));
	return line;
}

static int entry_push(struct entries *e, const struct address_range *r, uint32_t line)
{
	int err = vec_reserve_bytes((void **)&e->items, &e->cap, e->n + 1, entry_size(e));
	uint8_t *at;

	if (err)
		return err;
	at = entry_at(e, e->n++);
	memcpy(at, r->lo, e->key_len);
	memcpy(at + e->key_len, r->hi, e->key_len);
	memcpy(at + 2 * e->key_len, &line, sizeof(line));
	return 0;
}

struct blocklist {
	const char *file;
	struct strbuf *messages;
	unsigned flags;
	bool ranges; /* the set takes them */
	uint64_t n_bad, n_other;
	struct entries entries;
};

static void complain(struct blocklist *b, uint32_t line, const char *what, const char *text,
		     size_t len)
{
	char shown[SHOWN_MAX + 1];
	size_t n = MIN(len, (size_t)SHOWN_MAX);

	if (b->n_bad++ >= BLOCKLIST_SAID_MAX)
		return;
	for (size_t i = 0; i < n; i++)
		shown[i] = (uint8_t)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i];
	shown[n] = '\0';
	strbuf_printf(b->messages, "%s:%u: %s: %s: '%s%s'\n", b->file, line,
		      b->flags & BLOCKLIST_SKIP_BAD ? "Warning" : "Error", what, shown,
		      n < len ? "..." : "");
}

/*
 * The entry at the start of a line: its first word, or where blanks stand around the dash of a
 * range the words of it, put together in `joined`. *p is behind it then.
 */
static size_t entry_text(const char **p, const char *end, char joined[RANGE_TEXT_MAX],
			 const char **text)
{
	size_t n = word_next(p, end, text);
	const char *next = *p, *word;
	size_t len = word_next(&next, end, &word);
	bool open = n && (*text)[n - 1] == '-';

	if (!n || !len || (!open && word[0] != '-') || n + len >= RANGE_TEXT_MAX)
		return n;
	memcpy(joined, *text, n);
	memcpy(joined + n, word, len);
	n += len;
	if (!open && len == 1) {
		len = word_next(&next, end, &word);
		if (n + len > RANGE_TEXT_MAX)
			return n;
		memcpy(joined + n, word, len);
		n += len;
	}
	*p = next;
	*text = joined;
	return n;
}

static int line_read(struct blocklist *b, uint32_t number, const char *line, size_t len)
{
	char joined[RANGE_TEXT_MAX];
	const char *p = line, *end = line + len, *text, *word;
	struct address_range r, other;
	const char *wrong = NULL;
	size_t n;

	for (const char *q = line; q < end; q++) {
		if (*q == '#' || *q == ';')
			end = q;
	}
	n = entry_text(&p, end, joined, &text);
	if (!n)
		return 0;
	if (address_range_parse(text, n, &r))
		wrong = "not an address, prefix or range";
	while (!wrong && (len = word_next(&p, end, &word))) {
		if (address_range_parse(word, len, &other))
			continue;
		wrong = "a second entry on the line";
		text = word;
		n = len;
	}
	if (!wrong && r.len != b->entries.key_len) {
		b->n_other++;
		return 0;
	}
	if (!wrong && !b->ranges && memcmp(r.lo, r.hi, r.len))
		wrong = "a range, and the set has no 'flags interval'";
	if (wrong) {
		complain(b, number, wrong, text, n);
		return 0;
	}
	return entry_push(&b->entries, &r, number);
}

static int lines_read(struct blocklist *b, const struct strbuf *content)
{
	static const char mark[] = "\xef\xbb\xbf";
	const char *p = strbuf_str(content), *end = p + content->len, *line;
	uint32_t number = 0;
	size_t len;
	int err = 0;

	if (content->len >= 3 && memcmp(p, mark, 3) == 0)
		p += 3;
	while (!err && line_next(&p, end, &line, &len))
		err = line_read(b, ++number, line, len);
	if (b->n_bad > BLOCKLIST_SAID_MAX)
		strbuf_printf(b->messages, "%s: %llu more line%s like these\n", b->file,
			      (unsigned long long)(b->n_bad - BLOCKLIST_SAID_MAX),
			      plural(b->n_bad - BLOCKLIST_SAID_MAX));
	if (!err && b->n_bad && !(b->flags & BLOCKLIST_SKIP_BAD))
		err = -EINVAL;
	return err;
}

/* First and last address stand one behind the other. */
static int entry_compare4(const void *a, const void *b)
{
	return memcmp(a, b, 8);
}

static int entry_compare16(const void *a, const void *b)
{
	return memcmp(a, b, 32);
}

/* Published lists mostly are in order. */
static void entries_sort(const struct entries *e)
{
	int (*compare)(const void *a, const void *b) =
		e->key_len == 4 ? entry_compare4 : entry_compare16;

	for (size_t i = 1; i < e->n; i++)
		if (compare(entry_at(e, i - 1), entry_at(e, i)) > 0) {
			qsort(e->items, e->n, entry_size(e), compare);
			return;
		}
}

/* Of a sorted list: makes one of those that overlap. */
static void entries_unite(struct entries *e)
{
	unsigned len = e->key_len;
	size_t n = 0;

	for (size_t i = 1; i < e->n; i++) {
		uint8_t *last = entry_at(e, n) + len;
		const uint8_t *next = entry_at(e, i);

		if (memcmp(next, last, len) > 0)
			memmove(entry_at(e, ++n), next, entry_size(e));
		else if (memcmp(next + len, last, len) > 0)
			memcpy(last, next + len, len);
	}
	e->n = MIN(e->n, n + 1);
}

/* Splits "inet filter blocklist" in place. */
static bool target_split(char *text, const char *part[3])
{
	char *p = text, *save = NULL;
	unsigned n = 0;

	for (char *word; (word = strtok_r(p, " \t", &save)); p = NULL) {
		if (n == 3)
			return false;
		part[n++] = word;
	}
	if (n == 2) {
		part[2] = part[1];
		part[1] = part[0];
		part[0] = "ip";
	}
	return n >= 2;
}

/* What is wrong with the target, or NULL. */
static const char *target_wrong(struct change *c, const char *target, struct change_set *set)
{
	char copy[TARGET_MAX];
	const char *part[3];

	if (strlen(target) >= sizeof(copy) || !target_split(strcpy(copy, target), part))
		return "not 'family table set=FILE'";
	switch (change_set_find(c, part[0], part[1], part[2], set)) {
	case 0:
		break;
	case -ENOENT:
		return "there is no such set in the table";
	case -ESRCH:
		return strcmp(part[0], "ip") ? "there is no such table"
					     : "there is no such table in family ip";
	default:
		return "there is no such family; it is 'family table set=FILE'";
	}
	if (set->map)
		return "a map, not a set";
	if (set->n_fields != 1 ||
	    (strcmp(set->type, "ipv4_addr") && strcmp(set->type, "ipv6_addr")))
		return "a set of something else than addresses";
	return NULL;
}

static int target_find(struct blocklist *b, struct change *c, const char *target,
		       struct change_set *set)
{
	const char *wrong = target_wrong(c, target, set);

	if (wrong) {
		strbuf_printf(b->messages, "tamis: --load %s: %s\n", target, wrong);
		return -EINVAL;
	}
	b->entries.key_len = set->key_len;
	b->ranges = set->interval;
	return 0;
}

static int entries_add(struct blocklist *b, struct change *c, const struct change_set *set)
{
	struct change_elem batch[BATCH] = {0};
	size_t failed = 0;
	int err = 0;

	if (set->interval)
		entries_sort(&b->entries);
	if (set->interval && !set->auto_merge)
		entries_unite(&b->entries);
	err = change_expect(c, set, b->entries.n);
	for (size_t from = 0; !err && from < b->entries.n; from += BATCH) {
		size_t n = MIN(b->entries.n - from, (size_t)BATCH);

		for (size_t i = 0; i < n; i++) {
			batch[i].lo = entry_at(&b->entries, from + i);
			batch[i].hi = batch[i].lo + b->entries.key_len;
		}
		err = change_add(c, set, batch, n, &failed);
		if (err == -ENFILE)
			strbuf_printf(b->messages, "%s:%u: Error: Could not process rule: %s\n",
				      b->file, entry_line(&b->entries, from + failed),
				      strerror(ENFILE));
	}
	return err;
}

static int load(struct blocklist *b, struct change *c, const char *target, const char *path)
{
	struct strbuf content = STRBUF_INIT;
	struct change_set set;
	int err = target_find(b, c, target, &set);

	if (!err) {
		err = file_read(path, &content);
		if (err)
			strbuf_printf(b->messages, "tamis: %s: %s\n", b->file, strerror(-err));
	}
	if (!err)
		err = lines_read(b, &content);
	strbuf_free(&content);
	if (!err)
		err = entries_add(b, c, &set);
	if (!err && b->n_other)
		strbuf_printf(b->messages, "%s: IPv%c entries left out: %llu; %s holds %s\n",
			      b->file, set.key_len == 4 ? '6' : '4', (unsigned long long)b->n_other,
			      target, set.type);
	return err ? err : strbuf_error(b->messages);
}

int blocklist_load(struct tamis *t, const char *target, const char *path, unsigned flags,
		   uint64_t now, struct strbuf *messages)
{
	struct blocklist b = {.file = file_name(path), .messages = messages, .flags = flags};
	struct change *c;
	int err = change_begin(t, now, &c);

	if (err)
		return err;
	err = load(&b, c, target, path);
	vec_free(&b.entries);
	if (!err)
		return change_commit(c, messages);
	change_abort(c);
	return err;
}
