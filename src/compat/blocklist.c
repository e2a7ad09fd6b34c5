/* SPDX-License-Identifier: Apache-2.0 */
/* blocklist: see blocklist.h. */
#include "compat/blocklist.h"

#include <stdlib.h>

#include "base/vec.h"
#include "compat/address.h"
#include "compat/file.h"
#include "engine/change.h"

enum { TARGET_MAX = 512, RANGE_TEXT_MAX = 100, SHOWN_MAX = 60, BATCH = 64 };

/* An entry of the set's family: first and last address as key bytes, where it was read. */
struct entry {
	uint8_t lo[16], hi[16];
	uint32_t line;
};

struct blocklist {
	const char *file;
	struct strbuf *messages;
	unsigned flags;
	unsigned key_len;
	bool ranges; /* the set takes them */
	uint64_t n_bad, n_other;
	VEC(struct entry) entries;
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
	struct entry e = {.line = number};
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
	if (!wrong && r.len != b->key_len) {
		b->n_other++;
		return 0;
	}
	if (!wrong && !b->ranges && memcmp(r.lo, r.hi, r.len))
		wrong = "a range, and the set has no 'flags interval'";
	if (wrong) {
		complain(b, number, wrong, text, n);
		return 0;
	}
	memcpy(e.lo, r.lo, sizeof(e.lo));
	memcpy(e.hi, r.hi, sizeof(e.hi));
	return vec_push(&b->entries, e);
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
		strbuf_printf(b->messages, "%s: %llu more lines like these\n", b->file,
			      (unsigned long long)(b->n_bad - BLOCKLIST_SAID_MAX));
	if (!err && b->n_bad && !(b->flags & BLOCKLIST_SKIP_BAD))
		err = -EINVAL;
	return err;
}

static int entry_compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int c = memcmp(x->lo, y->lo, sizeof(x->lo));

	return c ? c : memcmp(x->hi, y->hi, sizeof(x->hi));
}

/* Of a sorted list: makes one of those that overlap. */
static void entries_unite(struct blocklist *b)
{
	struct entry *items = b->entries.items;
	size_t n = 0;

	for (size_t i = 1; i < b->entries.n; i++) {
		if (memcmp(items[i].lo, items[n].hi, sizeof(items[i].lo)) > 0)
			items[++n] = items[i];
		else if (memcmp(items[i].hi, items[n].hi, sizeof(items[i].hi)) > 0)
			memcpy(items[n].hi, items[i].hi, sizeof(items[i].hi));
	}
	b->entries.n = MIN(b->entries.n, n + 1);
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
	b->key_len = set->key_len;
	b->ranges = set->interval;
	return 0;
}

static int entries_add(struct blocklist *b, struct change *c, const struct change_set *set)
{
	struct change_elem batch[BATCH] = {0};
	size_t failed = 0;
	int err = 0;

	if (set->interval && b->entries.n)
		qsort(b->entries.items, b->entries.n, sizeof(*b->entries.items), entry_compare);
	if (set->interval && !set->auto_merge)
		entries_unite(b);
	set_expect(set->set, b->entries.n);
	for (size_t from = 0; !err && from < b->entries.n; from += BATCH) {
		const struct entry *e = &b->entries.items[from];
		size_t n = MIN(b->entries.n - from, (size_t)BATCH);

		for (size_t i = 0; i < n; i++) {
			batch[i].lo = e[i].lo;
			batch[i].hi = e[i].hi;
		}
		err = change_add(c, set, batch, n, &failed);
		if (err == -ENFILE)
			strbuf_printf(b->messages, "%s:%u: Error: Could not process rule: %s\n",
				      b->file, e[failed].line, strerror(ENFILE));
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
