/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite: statements that change the packet's bytes.
 *
 * The bytes are changed in a copy that the caller gives (eval_ops.writable); checksums are kept
 * right incrementally (RFC 1624), SCTP's is made anew. Then the packet is parsed again, so that
 * the rules behind see what it is now; marks and the like stay.
 */
#include "eval/run.h"

/* A writable copy of packet i's bytes, made at its first change. */
static uint8_t *packet_writable(struct eval *ev, unsigned i)
{
	const struct eval_ops *ops = ev->in->ops;
	uint8_t *copy;

	if (ev->out->changed & bit_of(i))
		return (uint8_t *)ev->b->data[i];
	copy = ops && ops->writable ? ops->writable(ops->arg, ev->b, i) : NULL;
	if (!copy)
		return NULL;
	ev->b->data[i] = copy;
	ev->out->changed |= bit_of(i);
	return copy;
}

static uint32_t base_offset(const struct burst *b, unsigned i, enum header_base base)
{
	switch (base) {
	case BASE_LL:
		return b->ll_off[i];
	case BASE_NH:
		return b->nh_off[i];
	case BASE_TH:
		return b->th_off[i];
	case BASE_IH:
		return b->ih_off[i];
	}
	return 0;
}

static void packet_parse(struct eval *ev, unsigned i)
{
	struct burst *b = ev->b, *o = &ev->one;
	uint8_t pkttype = b->pkttype[i];

	o->n = 1;
	o->data[0] = b->data[i];
	o->caplen[0] = b->caplen[i];
	o->len[0] = b->len[i];
	o->link[0] = b->link[i];
	burst_parse(o);
	for (unsigned k = 0; k < HAS_KINDS; k++)
		b->has[k] = (b->has[k] & ~bit_of(i)) | (o->has[k] & 1) << i;
#define COPY(column) memcpy(&b->column[i], &o->column[0], sizeof(b->column[0]))
	COPY(malformed);
	COPY(ll_off);
	COPY(nh_off);
	COPY(th_off);
	COPY(ih_off);
	COPY(end);
	COPY(protocol);
	COPY(l4proto);
	COPY(l3len);
	COPY(frag_off);
	COPY(saddr);
	COPY(daddr);
	COPY(sport);
	COPY(dport);
	COPY(tcp_flags);
	COPY(icmp_type);
	COPY(icmp_code);
	for (unsigned k = 0; k < 2; k++) {
		COPY(vlan_tci[k]);
		COPY(vlan_proto[k]);
	}
#undef COPY
	b->pkttype[i] = pkttype;
}

/* Puts the low `bits` of the value's bytes at bit `off` of p. */
static void bits_store(uint8_t *p, uint64_t off, const uint8_t *value, unsigned bits)
{
	unsigned len = (bits + 7) / 8;

	for (unsigned k = 0; k < bits; k++) {
		uint64_t at = off + bits - 1 - k;
		uint8_t one = (uint8_t)(0x80 >> at % 8);

		if (value[len - 1 - k / 8] >> k % 8 & 1)
			p[at / 8] |= one;
		else
			p[at / 8] &= (uint8_t)~one;
	}
}

/* The sum of the 16-bit words in [from, to), both even. */
static uint32_t words_sum(const uint8_t *p, uint32_t from, uint32_t to, uint32_t end)
{
	uint32_t sum = 0;

	for (uint32_t k = from; k < to; k += 2)
		sum += k + 1 < end ? be16_load(p + k) : (uint32_t)p[k] << 8;
	return sum;
}

/* RFC 1624, equation 3: HC' = ~(~HC + ~m + m'). */
static void checksum_update(uint8_t *field, uint32_t old_sum, uint32_t new_sum, bool zero_is_none)
{
	uint64_t sum = (uint16_t)~be16_load(field);

	sum += new_sum;
	sum += UINT64_C(0xffff) * 0x10000 - old_sum; /* a multiple of 0xffff minus the old words */
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	sum = (uint16_t)~sum;
	if (!sum && zero_is_none)
		sum = 0xffff;
	be16_store(field, (uint16_t)sum);
}

/* RFC 9260: CRC-32C, the checksum field as zero. */
static void sctp_checksum(uint8_t *p, uint32_t len)
{
	uint32_t crc = UINT32_MAX;

	memset(p + 8, 0, 4);
	for (uint32_t k = 0; k < len; k++) {
		crc ^= p[k];
		for (unsigned bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0x82f63b78) : 0);
	}
	crc = ~crc;
	memcpy(p + 8, &crc, 4);
}

/* Where the transport checksum is that covers the addresses; 0: there is none. */
static uint32_t pseudo_checksum(const struct burst *b, unsigned i, bool *zero_is_none)
{
	uint32_t off;

	*zero_is_none = false;
	if (!(b->has[HAS_TH] & bit_of(i)))
		return 0;
	switch (b->l4proto[i]) {
	case 6: /* TCP */
		off = 16;
		break;
	case 17: /* UDP */
		*zero_is_none = true;
		off = 6;
		break;
	case 136: /* UDP-Lite */
		off = 6;
		break;
	case 58: /* ICMPv6 */
		off = 2;
		break;
	default:
		return 0;
	}
	return burst_at(b, i, b->th_off[i] + off, 2) ? b->th_off[i] + off : 0;
}

static void fix_checksums(const struct eval *ev, const struct prog_op *op, unsigned i, uint8_t *p,
			  uint32_t start, uint32_t old_sum, uint32_t new_sum)
{
	const struct burst *b = ev->b;
	uint32_t at = start + op->packet_set.checksum_off;
	bool udp = op->packet_set.checksum == PCK_UDP;

	switch ((enum prog_checksum)op->packet_set.checksum) {
	case PCK_NONE:
		break;
	case PCK_INET:
	case PCK_UDP:
		if (burst_at(b, i, at, 2) && !(udp && !be16_load(p + at)))
			checksum_update(p + at, old_sum, new_sum, udp);
		break;
	case PCK_SCTP:
		if (b->end[i] >= start + 12)
			sctp_checksum(p + start, b->end[i] - start);
		break;
	}
	if (!op->packet_set.pseudo)
		return;
	at = pseudo_checksum(b, i, &udp);
	if (at && !(udp && !be16_load(p + at)))
		checksum_update(p + at, old_sum, new_sum, udp);
}

static bool set_one(struct eval *ev, const struct prog_op *op, unsigned i, const uint8_t *value)
{
	uint32_t bit_off = op->packet_set.bit_off, bits = op->packet_set.bits;
	uint32_t from = bit_off / 16 * 2, to = (bit_off + bits + 15) / 16 * 2, old_sum, start;
	uint8_t before[PROG_VALUE_MAX], *p;

	if (!burst_read_bits(ev->b, i, op->packet_set.base, bit_off, bits, before))
		return false;
	p = packet_writable(ev, i);
	if (!p)
		return false;
	start = base_offset(ev->b, i, op->packet_set.base);
	old_sum = words_sum(p + start, from, to, ev->b->end[i] - start);
	bits_store(p + start, bit_off, value, bits);
	fix_checksums(ev, op, i, p, start, old_sum,
		      words_sum(p + start, from, to, ev->b->end[i] - start));
	packet_parse(ev, i);
	return true;
}

burst_mask rewrite_set(struct eval *ev, const struct prog_op *op, burst_mask mask)
{
	const struct prog_expr *e = op->packet_set.value;
	uint8_t values[BURST_MAX * PROG_VALUE_MAX];
	burst_mask go = 0;
	unsigned i;

	if (op->packet_set.tags)
		mask &= ev->b->has[op->packet_set.tags > 1 ? HAS_QINQ : HAS_VLAN];
	mask = value_keys(ev, e, mask, values);
	burst_foreach (mask, i)
		if (set_one(ev, op, i, values + i * e->len))
			go |= bit_of(i);
	return go;
}

/* Bytes [off, off + len) of the packet become those of value, and TCP's checksum follows. */
static void tcp_write(struct eval *ev, unsigned i, uint8_t *p, uint32_t off, const uint8_t *value,
		      uint32_t len)
{
	uint32_t th = ev->b->th_off[i], from = (off - th) / 2 * 2,
		 to = (off - th + len + 1) / 2 * 2;
	uint32_t end = ev->b->end[i] - th, old_sum = words_sum(p + th, from, to, end);

	memcpy(p + off, value, len);
	checksum_update(p + th + 16, old_sum, words_sum(p + th, from, to, end), false);
}

burst_mask rewrite_option_set(struct eval *ev, const struct prog_op *op, burst_mask mask)
{
	enum { KIND_MSS = 2 };
	uint32_t field = op->option_set.off, n = op->option_set.len;
	const struct column *c;
	unsigned i;

	mask = value_read(ev, op->option_set.value, mask & ev->b->has[HAS_TCP], 0, &c);
	burst_foreach (mask, i) {
		uint32_t off, len;
		const uint8_t *old;
		uint8_t value[4], *p;

		if (!burst_find_tcp_option(ev->b, i, op->option_set.kind, &off, &len))
			continue;
		old = field + n <= len ? burst_at(ev->b, i, off + field, n) : NULL;
		if (!old)
			continue;
		/* As the kernel: the segment size is only ever made smaller. */
		if (op->option_set.kind == KIND_MSS && be_load(old, n) <= c->num[i])
			continue;
		p = packet_writable(ev, i);
		if (!p) {
			mask &= ~bit_of(i);
			continue;
		}
		be_store(value, c->num[i], n);
		tcp_write(ev, i, p, off + field, value, n);
		packet_parse(ev, i);
	}
	return mask;
}

burst_mask rewrite_option_reset(struct eval *ev, const struct prog_op *op, burst_mask mask)
{
	static const uint8_t nops[40] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
					 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
					 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
	unsigned i;

	mask &= ev->b->has[HAS_TCP];
	burst_foreach (mask, i) {
		uint32_t off, len;
		uint8_t *p;

		if (!burst_find_tcp_option(ev->b, i, op->option_kind, &off, &len) ||
		    len > sizeof(nops) || !burst_at(ev->b, i, off, len))
			continue;
		p = packet_writable(ev, i);
		if (!p) {
			mask &= ~bit_of(i);
			continue;
		}
		tcp_write(ev, i, p, off, nops, len);
		packet_parse(ev, i);
	}
	return mask;
}
