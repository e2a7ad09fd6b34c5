/* SPDX-License-Identifier: Apache-2.0 */
/* test_lexer: which bytes are one token, and of which kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "lang/lexer.h"

/* Kind and text of every token: "W:tcp W:dport N:22". */
static void tokens(const char *text, size_t len, struct strbuf *out)
{
	static const char kinds[TOKENS_N] = {
		[T_WORD] = 'W',	  [T_QUOTED] = 'Q',  [T_WILDCARD] = '*',
		[T_NUMBER] = 'N', [T_LITERAL] = 'L', [T_JUNK] = '?'};
	uint32_t pos = 0;
	for (;;) {
		struct token t;
		lex(text, (uint32_t)len, pos, &t);
		assert_true(t.begin >= pos && t.end <= len);
		if (t.type == T_EOF)
			return;
		assert_true(t.end > t.begin);
		strbuf_printf(out, "%s", out->len ? " " : "");
		if (kinds[t.type])
			strbuf_printf(out, "%c:%.*s", kinds[t.type], (int)t.len, t.text);
		else
			strbuf_puts(out, token_name(&t));
		pos = t.end;
	}
}

static void test_tokens(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"tcp dport 22", "W:tcp W:dport N:22"},
		{"10-20", "N:10 - N:20"},
		{"a-20", "W:a-20"},
		{"eth0.100", "W:eth0.100"},
		{"ip saddr . tcp", "W:ip W:saddr . W:tcp"},
		{".5", "W:.5"},
		{"eth* * \\* br\\* a\\*b", "*:eth* * *:\\* *:br\\* *:a\\*b"},
		{"1.2.3.4", "L:1.2.3.4"},
		{"1.2.3.4/24", "L:1.2.3.4 / N:24"},
		{"1.2.3.4-1.2.3.9", "L:1.2.3.4 - L:1.2.3.9"},
		{"1.2.3.4:80", "L:1.2.3.4 colon N:80"},
		{"999.1.1.1", "L:999.1.1.1"},
		{"1.2.3", "N:1 W:.2.3"},
		{"::", "L:::"},
		{"::1", "L:::1"},
		{"2001:db8::/32", "L:2001:db8:: / N:32"},
		{"fe80::1-fe80::9", "L:fe80::1 - L:fe80::9"},
		{"1:2:3:4:5:6:7:8", "L:1:2:3:4:5:6:7:8"},
		{"::ffff:1.2.3.4", "L:::ffff:1.2.3.4"},
		{"1:2:3:4:5:6:1.2.3.4", "L:1:2:3:4:5:6:1.2.3.4"},
		{"1:2:3:4:5:6:7::", "L:1:2:3:4:5:6:7::"},
		{"[::1]:80", "L:::1 colon N:80"},
		{"addr[1]", "W:addr '[' N:1 ']'"},
		{"00:11:22:33:44:55", "L:00:11:22:33:44:55"},
		{"ab:cd:ef:1:2:3", "L:ab:cd:ef:1:2:3"},
		{"cafe:beef ", "L:cafe:beef"},
		{"1:2,", "L:1:2 comma"},
		{"22:accept", "N:22 colon W:accept"},
		{"22 : accept", "N:22 colon W:accept"},
		{"0x1F 010 08 0xg", "N:0x1F N:010 L:08 N:0 W:xg"},
		{"18446744073709551615 18446744073709551616", "N:18446744073709551615 "
							      "L:18446744073709551616"},
		{"1d2h3m4s5ms 30s 5ms 1h30", "L:1d2h3m4s5ms L:30s L:5ms L:1h N:30"},
		{"4m2h", "L:4m L:2h"},
		{"10/second kbytes/second", "N:10 / W:second W:kbytes/second"},
		{"8021q 8021ad 8021", "L:8021q L:8021ad N:8021"},
		{"== != <= >= < > << >> ! = & | ^", "== != <= >= < > << >> ! '=' & '|' ^"},
		{"eq ne le ge lt gt lshift rshift not and or xor",
		 "== != <= >= < > << >> ! & '|' ^"},
		{"{ } ( ) @s $v + ; :", "'{' '}' '(' ')' @ W:s '$' W:v + semicolon colon"},
		{"\"a b\" \"\" \"x\ny\"", "Q:a b Q: Q:x\ny"},
		{"\"open", "?:\" W:open"},
		{"a # b c\nd", "W:a newline W:d"},
		{"a \\\n b", "W:a W:b"},
		{"a \\ b", "W:a ?:\\ W:b"},
		{"~ \x01 \xff", "?:~ ?:\x01 ?:\xff"},
		{"", ""},
		{" \t# only a comment", ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct strbuf out = STRBUF_INIT;
		tokens(cases[i].text, strlen(cases[i].text), &out);
		assert_string_equal(strbuf_str(&out), cases[i].want);
		strbuf_free(&out);
	}
}

static void test_numbers(void **state)
{
	static const struct {
		const char *text;
		uint64_t value;
		bool decimal;
	} cases[] = {{"0", 0, true},
		     {"00", 0, false},
		     {"017", 15, false},
		     {"0xff", 255, false},
		     {"0Xff", 255, false},
		     {"42", 42, true},
		     {"18446744073709551615", UINT64_MAX, true},
		     {"0xffffffffffffffff", UINT64_MAX, false}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct token t;
		lex(cases[i].text, (uint32_t)strlen(cases[i].text), 0, &t);
		assert_int_equal(t.type, T_NUMBER);
		assert_true(t.number == cases[i].value);
		assert_int_equal(t.decimal, cases[i].decimal);
	}
}

static void test_keywords(void **state)
{
	for (unsigned k = 1; k < KEYWORDS_N; k++) {
		const char *text = keyword_text((enum keyword)k);
		assert_int_equal(keyword_find(text, strlen(text)), k);
		if (k > 1) /* the search relies on it */
			assert_true(strcmp(keyword_text((enum keyword)(k - 1)), text) < 0);
	}
	assert_int_equal(keyword_find("", 0), KW_NONE);
	assert_int_equal(keyword_find("tc", 2), KW_NONE);
	assert_int_equal(keyword_find("tcpx", 4), KW_NONE);
	assert_int_equal(keyword_find("zzz", 3), KW_NONE);
	assert_int_equal(keyword_find("aaa", 3), KW_NONE);
	assert_true(keyword_is_reserved(KW_TCP));
	assert_false(keyword_is_reserved(KW_LAST));
}

/* Every text of an alphabet of what matters: the tokens cover it, in order, and never reach over.
 */
static void test_random_texts(void **state)
{
	static const char alphabet[] = "01fa:.[]xdhms-/*\\\"# \n\t=!<>&|{}$@;";
	unsigned seed = 1;
	for (unsigned n = 0; n < 20000; n++) {
		char *text = malloc(16); /* no byte behind it may be read */
		for (unsigned i = 0; i < 16; i++) {
			seed = seed * 1103515245 + 12345;
			text[i] = alphabet[seed / 65536 % (sizeof(alphabet) - 1)];
		}
		struct strbuf out = STRBUF_INIT;
		tokens(text, 16, &out);
		strbuf_free(&out);
		free(text);
	}
}

static void test_next_byte(void **state)
{
	static const char text[] = "a \t\n # c\n \\\n, b";
	assert_int_equal(lex_next_byte(text, sizeof(text) - 1, 1), ',');
	assert_int_equal(lex_next_byte(text, 0, 0), 0);
	assert_int_equal(lex_next_byte("  ", 2, 0), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tokens),	  cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_keywords),  cmocka_unit_test(test_random_texts),
		cmocka_unit_test(test_next_byte),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
