/* SPDX-License-Identifier: Apache-2.0 */
/* ipset_words: options, their arguments and numbers, and what is said when they are wrong. */
#include <stdarg.h>
#include <stdlib.h>

#include "compat/ipset_command.h"
#include "compat/ipset_int.h"

static void line_add(struct strbuf *to, const char *fmt, va_list ap)
{
	if (to->len)
		strbuf_putc(to, '\n');
	strbuf_vprintf(to, fmt, ap);
}

static int wrong(struct ipset *s, int status, const char *fmt, va_list ap)
{
	line_add(&s->error, fmt, ap);
	s->status = status;
	return -EINVAL;
}

int ipset_fail(struct ipset *s, const char *fmt, ...)
{
	va_list ap;
	int err;

	va_start(ap, fmt);
	err = wrong(s, 1, fmt, ap);
	va_end(ap);
	return err;
}

int ipset_usage(struct ipset *s, const char *fmt, ...)
{
	va_list ap;
	int err;

	va_start(ap, fmt);
	err = wrong(s, 2, fmt, ap);
	va_end(ap);
	return err;
}

void ipset_place_print(const char *prefix, uint32_t line, struct strbuf *out)
{
	if (!line)
		strbuf_printf(out, "%s: ", prefix ? prefix : IPSET_VERSION);
	else if (prefix)
		strbuf_printf(out, "%s:%u: Error: ", prefix, line);
	else
		strbuf_printf(out, "%s: Error in line %u: ", IPSET_VERSION, line);
}

void ipset_warn(struct ipset *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	line_add(&s->warnings, fmt, ap);
	va_end(ap);
}

int ipset_number(struct ipset *s, const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = strtoull(text, &end, 0);
	if (end == text || *end)
		return ipset_fail(s, "Syntax error: '%s' is invalid as number", text);
	if (errno || v < min || v > max || (v && strchr(text, '-')))
		return ipset_fail(s, "Syntax error: '%s' is out of range %llu-%llu", text,
				  (unsigned long long)min, (unsigned long long)max);
	*out = v;
	return 0;
}

int ipset_argument(struct ipset *s, struct ipset_words *w, const char *option, const char **out)
{
	const char *text = words_next(w);

	if (!text)
		return ipset_usage(s, "Missing mandatory argument of option `%s'", option);
	*out = text;
	return 0;
}

int ipset_option_next(struct ipset *s, struct ipset_words *w, unsigned known,
		      enum ipset_option *out)
{
	const char *word = words_next(w);
	enum ipset_option o;

	*out = IPSET_OPTIONS_N;
	if (!word)
		return 0;
	if (known & OPT(FAMILY) && (strcmp(word, "-4") == 0 || strcmp(word, "-6") == 0)) {
		o = IPSET_FAMILY;
		w->at--;
	} else {
		o = ipset_option_find(word);
	}
	if (o == IPSET_OPTIONS_N || !(known & 1U << o))
		return ipset_usage(s, "Unknown argument: `%s'", word);
	*out = o;
	return 0;
}

int ipset_option_once(struct ipset *s, unsigned *given, enum ipset_option o)
{
	if (*given & 1U << o)
		return ipset_fail(s, "Syntax error: %s already specified", ipset_option_name(o));
	*given |= 1U << o;
	return 0;
}

char *ipset_separator(const char *text, char c)
{
	char *at = strchr(text, c);

	return at && at != text && text[strlen(text) - 1] != c ? at : NULL;
}
