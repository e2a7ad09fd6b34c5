/* SPDX-License-Identifier: Apache-2.0 */
/* hash: SipHash with one compression and three finalisation rounds; see hash.h. */
#include "base/hash.h"

#include <sys/random.h>

#define ROTL(x, b) ((x) << (b) | (x) >> (64 - (b)))

static inline void round1(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = ROTL(v[1], 13) ^ v[0];
	v[0] = ROTL(v[0], 32);
	v[2] += v[3];
	v[3] = ROTL(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = ROTL(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = ROTL(v[1], 17) ^ v[2];
	v[2] = ROTL(v[2], 32);
}

int hash_secret_draw(struct hash_secret *s)
{
	struct hash_secret drawn;
	if (getrandom(&drawn, sizeof(drawn), 0) != sizeof(drawn))
		return errno ? -errno : -EIO;
	*s = drawn;
	return 0;
}

uint64_t hash_bytes(const struct hash_secret *s, const void *p, size_t len)
{
	uint64_t v[4] = {
		s->k[0] ^ 0x736f6d6570736575ULL,
		s->k[1] ^ 0x646f72616e646f6dULL,
		s->k[0] ^ 0x6c7967656e657261ULL,
		s->k[1] ^ 0x7465646279746573ULL,
	};
	const uint8_t *in = p, *end = in + (len & ~(size_t)7);
	uint64_t m;

	for (; in != end; in += 8) {
		memcpy(&m, in, 8);
		v[3] ^= m;
		round1(v);
		v[0] ^= m;
	}
	m = 0;
	if (len & 7)
		memcpy(&m, in, len & 7);
	m |= (uint64_t)len << 56;
	v[3] ^= m;
	round1(v);
	v[0] ^= m;
	v[2] ^= 0xff;
	round1(v);
	round1(v);
	round1(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}
