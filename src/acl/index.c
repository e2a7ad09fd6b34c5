/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index: the numbers of ACLs. The lowest free one is found in O(log n).
 *
 * Free indexes below `top` are in a binary heap. One that was taken by its number stays in there
 * and is passed over when it comes up, and may be there twice; so that the heap stays bounded, it
 * is made anew when it is full. Giving an index back needs no memory.
 */
#include "acl/acl_int.h"

static void heap_push(struct acl_index *x, uint32_t v)
{
	uint32_t *h = x->free.items;
	size_t i = x->free.n++;

	for (; i && h[(i - 1) / 2] > v; i = (i - 1) / 2)
		h[i] = h[(i - 1) / 2];
	h[i] = v;
}

static uint32_t heap_pop(struct acl_index *x)
{
	uint32_t *h = x->free.items, top = h[0], v = h[--x->free.n];
	size_t i = 0, n = x->free.n;

	for (size_t child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && h[child + 1] < h[child])
			child++;
		if (h[child] >= v)
			break;
		h[i] = h[child];
	}
	if (n)
		h[i] = v;
	return top;
}

static uint32_t lowest_free(struct acl_index *x)
{
	while (x->free.n) {
		uint32_t i = heap_pop(x);

		if (!x->acls.items[i])
			return i;
	}
	while (x->top < x->acls.n && x->acls.items[x->top])
		x->top++;
	return x->top++;
}

int acl_index_take(struct acl_index *x, uint32_t *index, struct acl *acl)
{
	/* Room for one more at the end and for all indexes in the heap, before anything is taken.
	 */
	uint32_t want = *index == TAMIS_ACL_NEW ? (uint32_t)x->acls.n : *index;
	size_t n = MAX(x->acls.n, (size_t)want + 1);

	if (want > TAMIS_ACL_INDEX_MAX)
		return -EDQUOT;
	int err = vec_reserve(&x->acls, n);
	if (!err)
		err = vec_reserve(&x->free, n);
	if (err)
		return err;
	uint32_t at = *index == TAMIS_ACL_NEW ? lowest_free(x) : *index;
	while (x->acls.n <= at)
		x->acls.items[x->acls.n++] = NULL;
	x->acls.items[at] = acl;
	*index = at;
	return 0;
}

void acl_index_give(struct acl_index *x, uint32_t index)
{
	x->acls.items[index] = NULL;
	if (index >= x->top)
		return;
	if (x->free.n < x->free.cap) {
		heap_push(x, index);
		return;
	}
	x->free.n = 0;
	for (uint32_t i = 0; i < x->top; i++)
		if (!x->acls.items[i])
			x->free.items[x->free.n++] = i; /* rising: a heap already */
}

void acl_index_free(struct acl_index *x)
{
	vec_free(&x->acls);
	vec_free(&x->free);
}
