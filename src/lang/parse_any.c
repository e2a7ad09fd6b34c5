/* SPDX-License-Identifier: Apache-2.0 */
/* parse_any: which of the two languages a text is written in. */
#include "lang/parse.h"

int parse_any(struct source_set *sources, int src, struct arena *a,
	      const struct parse_options *options, struct cmd_list *out)
{
	const struct source *s = source_at(sources, (uint32_t)src);
	size_t blank = strspn(s->text, " \t\r\n");
	if (blank < s->len && s->text[blank] == '{')
		return parse_json(sources, src, a, out);
	return parse_text(sources, src, a, options, out);
}
