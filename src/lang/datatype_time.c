/* SPDX-License-Identifier: Apache-2.0 */
/*
 * datatype: times: spans (`1d2h`), dates, hours of the day, days of the week.
 *
 * Values are UTC; texts are in the zone that env->utc_offset says. A span is in milliseconds, a
 * date in nanoseconds since 1970, an hour in seconds since midnight, a day counts from Sunday, 0.
 * Dates by the civil calendar computation of Howard Hinnant ("chrono-Compatible Low-Level Date
 * Algorithms"). No clock is read. Any thread.
 */
#include "lang/datatype_int.h"

enum { DAY_SECONDS = 86400 };

static bool digits_read(const char **p, const char *end, unsigned max_digits, uint64_t *v)
{
	const char *from = *p;
	uint64_t n = 0;

	while (*p < end && **p >= '0' && **p <= '9' && *p - from < max_digits)
		n = n * 10 + (uint64_t)(*(*p)++ - '0');
	*v = n;
	return *p > from;
}

int duration_parse(const char *text, size_t len, uint64_t *ms)
{
	static const struct {
		const char *unit;
		uint64_t ms;
	} units[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
	const char *p = text, *end = text + len;
	uint64_t total = 0;
	unsigned next = 0;

	if (!len)
		return -EINVAL;
	while (p < end) {
		uint64_t v;
		unsigned n;
		size_t letters = 0;

		if (!digits_read(&p, end, 18, &v))
			return -EINVAL;
		while (p + letters < end && (p[letters] < '0' || p[letters] > '9'))
			letters++;
		if (!letters && p == end && !next) {
			n = 3;
		} else {
			for (n = next; n < ARRAY_SIZE(units); n++)
				if (strlen(units[n].unit) == letters &&
				    !memcmp(units[n].unit, p, letters))
					break;
			if (n == ARRAY_SIZE(units))
				return -EINVAL;
		}
		p += letters;
		next = n + 1;
		if (__builtin_mul_overflow(v, units[n].ms, &v) ||
		    __builtin_add_overflow(total, v, &total))
			return -ERANGE;
	}
	*ms = total;
	return 0;
}

void duration_print(uint64_t ms, struct strbuf *out)
{
	const uint64_t s = ms / 1000;

	if (s / DAY_SECONDS)
		strbuf_printf(out, "%llud", (unsigned long long)(s / DAY_SECONDS));
	if (s / 3600 % 24)
		strbuf_printf(out, "%lluh", (unsigned long long)(s / 3600 % 24));
	if (s / 60 % 60)
		strbuf_printf(out, "%llum", (unsigned long long)(s / 60 % 60));
	if (s % 60)
		strbuf_printf(out, "%llus", (unsigned long long)(s % 60));
	if (ms % 1000)
		strbuf_printf(out, "%llums", (unsigned long long)(ms % 1000));
	if (!ms)
		strbuf_puts(out, "0s");
}

PARSER(type_time)
{
	uint64_t ms;
	int err = duration_parse(text, len, &ms);

	if (err) {
		*why = "wrong time format";
		return err;
	}
	return number_store(ms, out, bits);
}

PRINTER(type_time)
{
	uint64_t ms = be_load(value, bits_to_bytes(bits));

	if (env->numeric & NUMERIC_TIME)
		strbuf_printf(out, "%llus", (unsigned long long)(ms / 1000));
	else
		duration_print(ms, out);
}

static int64_t days_from_civil(int64_t y, unsigned m, unsigned d)
{
	int64_t era;
	unsigned yoe, doy, doe;

	y -= m <= 2;
	era = (y >= 0 ? y : y - 399) / 400;
	yoe = (unsigned)(y - era * 400);
	doy = (153 * (m > 2 ? m - 3 : m + 9) + 2) / 5 + d - 1;
	doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
	return era * 146097 + (int64_t)doe - 719468;
}

static void civil_from_days(int64_t z, int64_t *year, unsigned *month, unsigned *day)
{
	int64_t era;
	unsigned doe, yoe, doy, mp;

	z += 719468;
	era = (z >= 0 ? z : z - 146096) / 146097;
	doe = (unsigned)(z - era * 146097);
	yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	mp = (5 * doy + 2) / 153;
	*day = doy - (153 * mp + 2) / 5 + 1;
	*month = mp < 10 ? mp + 3 : mp - 9;
	*year = (int64_t)yoe + era * 400 + (*month <= 2);
}

/* HH:MM or HH:MM:SS, and nothing behind it. */
static bool clock_read(const char **p, const char *end, uint64_t *seconds)
{
	uint64_t h, m, s = 0;

	if (!digits_read(p, end, 2, &h) || *p == end || *(*p)++ != ':' ||
	    !digits_read(p, end, 2, &m))
		return false;
	if (*p < end && (*(*p)++ != ':' || !digits_read(p, end, 2, &s)))
		return false;
	if (*p != end || h > 23 || m > 59 || s > 60)
		return false;
	*seconds = h * 3600 + m * 60 + s;
	return true;
}

PARSER(type_date)
{
	static const uint8_t month_days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	const char *p = text, *end = text + len;
	uint64_t y, m, d, clock = 0;
	int64_t seconds;

	if (!digits_read(&p, end, 18, &y))
		goto wrong;
	if (p == end) { /* seconds since 1970 */
		uint64_t ns;

		if (__builtin_mul_overflow(y, 1000000000ULL, &ns))
			return -ERANGE;
		return number_store(ns, out, bits);
	}
	if (y > 9999 || *p++ != '-' || !digits_read(&p, end, 2, &m) || p == end || *p++ != '-' ||
	    !digits_read(&p, end, 2, &d))
		goto wrong;
	if (m < 1 || m > 12 || d < 1 || d > month_days[m - 1])
		goto wrong;
	if (p < end && (*p++ != ' ' || !clock_read(&p, end, &clock)))
		goto wrong;
	seconds = days_from_civil((int64_t)y, (unsigned)m, (unsigned)d) * DAY_SECONDS +
		  (int64_t)clock - env->utc_offset;
	if (seconds < 0 || seconds > (int64_t)(UINT64_MAX / 1000000000ULL))
		goto wrong;
	return number_store((uint64_t)seconds * 1000000000ULL, out, bits);
wrong:
	*why = "Cannot parse date";
	return -EINVAL;
}

PRINTER(type_date)
{
	int64_t seconds = (int64_t)(be_load(value, bits_to_bytes(bits)) / 1000000000ULL);
	int64_t days, year;
	unsigned month, day, clock;

	seconds += env->utc_offset;
	days = seconds >= 0 ? seconds / DAY_SECONDS : (seconds - DAY_SECONDS + 1) / DAY_SECONDS;
	clock = (unsigned)(seconds - days * DAY_SECONDS);
	civil_from_days(days, &year, &month, &day);
	strbuf_printf(out, "\"%04lld-%02u-%02u %02u:%02u:%02u\"", (long long)year, month, day,
		      clock / 3600, clock / 60 % 60, clock % 60);
}

static uint64_t day_wrap(int64_t seconds)
{
	seconds %= DAY_SECONDS;
	return (uint64_t)(seconds < 0 ? seconds + DAY_SECONDS : seconds);
}

PARSER(type_hour)
{
	const char *p = text, *end = text + len;
	uint64_t clock;

	if (digits_read(&p, end, 18, &clock) && p == end) {
		if (clock >= DAY_SECONDS)
			return -ERANGE;
	} else {
		p = text;
		if (!clock_read(&p, end, &clock)) {
			*why = "wrong time format";
			return -EINVAL;
		}
	}
	return number_store(day_wrap((int64_t)clock - env->utc_offset), out, bits);
}

PRINTER(type_hour)
{
	uint64_t utc = be_load(value, bits_to_bytes(bits));
	unsigned clock = (unsigned)day_wrap((int64_t)(utc % DAY_SECONDS) + env->utc_offset);

	strbuf_printf(out, clock % 60 ? "\"%02u:%02u:%02u\"" : "\"%02u:%02u\"", clock / 3600,
		      clock / 60 % 60, clock % 60);
}

PRINTER(type_day)
{
	const char *name = datatype_symbol(t, be_load(value, bits_to_bytes(bits)));

	if (name && !(env->numeric & NUMERIC_SYMBOLS))
		strbuf_printf(out, "\"%s\"", name);
	else
		type_integer_print(t, env, value, bits, out);
}
