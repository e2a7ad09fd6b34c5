/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_suggest: "did you mean": the nearest name to one that is not there.
 *
 * Distance is Levenshtein's, in one row of at most NAME_COMPARED_MAX + 1 numbers; longer names are
 * not compared. Cost: the product of the lengths, for each candidate; only after an error.
 */
#include "model/check_internal.h"

enum { NAME_COMPARED_MAX = 64 };

unsigned suggest_distance(const char *text, size_t len, const char *name)
{
	unsigned row[NAME_COMPARED_MAX + 1];
	size_t n = strlen(name);

	if (len > NAME_COMPARED_MAX || n > NAME_COMPARED_MAX)
		return UINT32_MAX;
	for (size_t j = 0; j <= n; j++)
		row[j] = (unsigned)j;
	for (size_t i = 1; i <= len; i++) {
		unsigned diagonal = row[0];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= n; j++) {
			unsigned above = row[j];
			unsigned change = diagonal + (text[i - 1] != name[j - 1]);

			row[j] = MIN(change, MIN(above, row[j - 1]) + 1);
			diagonal = above;
		}
	}
	return row[n];
}

unsigned suggest_limit(size_t a, size_t b)
{
	size_t longer = MAX(a, b);

	if (longer <= 1)
		return 0;
	return a == b ? MAX((unsigned)(longer + 2) / 3, 2u) : (unsigned)(longer + 1) / 2;
}

static const char *link_name(const struct list *l, enum model_noun noun)
{
	switch (noun) {
	case NOUN_TABLE:
		return container_of(l, struct model_table, link)->name;
	case NOUN_CHAIN:
		return container_of(l, struct model_chain, link)->name;
	case NOUN_SET:
		return container_of(l, struct model_set, link)->name;
	case NOUN_OBJECT:
		return container_of(l, struct model_object, link)->name;
	case NOUN_FLOWTABLE:
		return container_of(l, struct model_flowtable, link)->name;
	default:
		return NULL;
	}
}

const char *suggest_name(const struct list *head, enum model_noun noun, const char *name)
{
	size_t len = strlen(name);
	unsigned best = UINT32_MAX;
	const char *found = NULL;

	for (const struct list *l = head->next; l && l != head; l = l->next) {
		const char *candidate = link_name(l, noun);
		unsigned d = candidate ? suggest_distance(name, len, candidate) : UINT32_MAX;

		if (d < best && d <= suggest_limit(len, strlen(candidate))) {
			best = d;
			found = candidate;
		}
	}
	return found;
}
