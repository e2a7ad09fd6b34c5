/* SPDX-License-Identifier: Apache-2.0 */
/* proto: the tables agree with themselves: names, widths, overlaps, lookups. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lang/proto.h"

/* A field's type says its width, or leaves it open. */
static void field_check(const struct proto_field *f)
{
	assert_true(f->bits > 0);
	assert_true(f->type->bits == 0 || f->type->bits == f->bits);
	if (f->bits % 8 == 0 && f->bits > 8)
		assert_int_equal(f->off % 8, 0);
}

/* Fields of ICMP share bytes by message type; everything else stands beside the others. */
static void fields_check(const struct proto_field *f, unsigned n, bool overlap)
{
	for (unsigned i = 0; i < n; i++) {
		field_check(&f[i]);
		for (unsigned j = 0; j < i; j++) {
			assert_string_not_equal(f[i].name, f[j].name);
			if (!overlap)
				assert_true(f[i].off >= f[j].off + f[j].bits ||
					    f[j].off >= f[i].off + f[i].bits);
		}
	}
}

static void headers(void **state)
{
	static const struct {
		const struct proto_header *h;
		unsigned bits;
	} sizes[] = {{&proto_ether, 112}, {&proto_vlan, 32},	{&proto_arp, 224},
		     {&proto_ip, 160},	  {&proto_ip6, 320},	{&proto_icmp, 64},
		     {&proto_igmp, 64},	  {&proto_icmpv6, 320}, {&proto_tcp, 160},
		     {&proto_udp, 64},	  {&proto_udplite, 64}, {&proto_sctp, 96},
		     {&proto_dccp, 96},	  {&proto_th, 32},	{&proto_ah, 96},
		     {&proto_esp, 64},	  {&proto_comp, 32},	{&proto_gre, 32},
		     {&proto_gretap, 0},  {&proto_vxlan, 64},	{&proto_geneve, 64}};
	unsigned n = 0;

	for (; proto_headers[n]; n++) {
		const struct proto_header *h = proto_headers[n];
		unsigned end = 0;

		assert_ptr_equal(proto_find(h->name, strlen(h->name)), h);
		assert_ptr_equal(h, sizes[n].h);
		fields_check(h->fields, h->n_fields, h == &proto_icmp || h == &proto_icmpv6);
		for (unsigned i = 0; i < h->n_fields; i++) {
			const struct proto_field *f = &h->fields[i];

			assert_ptr_equal(proto_field_find(h, f->name, strlen(f->name)), f);
			end = MAX(end, f->off + f->bits);
		}
		assert_true(end <= sizes[n].bits);
		if (h->checksum) {
			assert_string_equal(h->checksum->name, "checksum");
			assert_ptr_equal(proto_field_find(h, "checksum", 8), h->checksum);
		}
	}
	assert_int_equal(n, ARRAY_SIZE(sizes));
	assert_null(proto_find("ipx", 3));
	assert_null(proto_find("i", 1));
	assert_null(proto_find("", 0));
	assert_null(proto_field_find(&proto_ip, "sport", 5));
	assert_null(proto_field_find(&proto_gretap, "version", 7));
	assert_ptr_equal(proto_field_find(&proto_vlan, "cfi", 3),
			 proto_field_find(&proto_vlan, "dei", 3));
}

static void options(void **state)
{
	for (unsigned c = 0; c < OPT_CLASSES; c++) {
		unsigned n;
		const struct proto_option *o = option_table(c, &n);

		for (unsigned i = 0; i < n; i++) {
			for (unsigned j = 0; j < i; j++)
				assert_string_not_equal(o[i].name, o[j].name);
			fields_check(o[i].fields, o[i].n_fields, false);
			assert_ptr_equal(option_find(c, o[i].name, strlen(o[i].name)), &o[i]);
			assert_int_equal(option_by_kind(c, o[i].kind)->kind, o[i].kind);
			assert_true(o[i].n_fields >= 1);
		}
		assert_null(option_find(c, "nosuch", 6));
		assert_null(option_by_kind(c, 255));
	}
	assert_string_equal(option_by_kind(OPT_TCP, 5)->name, "sack");
	assert_string_equal(option_by_kind(OPT_EXTHDR, 43)->name, "rt");
	assert_ptr_equal(option_find(OPT_TCP, "sack-permitted", 14),
			 option_find(OPT_TCP, "sack-perm", 9));
	assert_int_equal(option_field_find(option_find(OPT_TCP, "maxseg", 6), "size", 4)->off, 16);
	assert_null(option_field_find(option_find(OPT_TCP, "eol", 3), "left", 4));
}

static void keys(void **state)
{
	for (int i = 0; i < META_KEYS_N; i++) {
		const struct key_desc *k = &meta_keys[i];

		if (i != META_SECPATH)
			assert_int_equal(meta_key_find(k->name, strlen(k->name)), i);
		assert_true(k->bits > 0);
		assert_true(!k->type->bits || k->type->bits == k->bits || k->type == &type_boolean);
	}
	for (int i = 0; i < CT_KEYS_N; i++) {
		const struct key_desc *k = &ct_keys[i];
		int found = ct_key_find(k->name, strlen(k->name));

		assert_string_equal(ct_keys[found].name, k->name);
		assert_true(k->bits > 0 || i == CT_SADDR || i == CT_DADDR);
	}
	assert_int_equal(meta_key_find("secpath", 7), META_IPSEC);
	assert_int_equal(meta_key_find("mar", 3), -1);
	assert_int_equal(ct_key_find("saddr", 5), CT_SADDR);
	assert_int_equal(ct_key_find("nosuch", 6), -1);
	assert_true(meta_key_is_unqualified(META_IIFNAME));
	assert_false(meta_key_is_unqualified(META_MARK));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers),
		cmocka_unit_test(options),
		cmocka_unit_test(keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
