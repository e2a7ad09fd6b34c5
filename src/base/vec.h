/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vec: a typed growing array. `VEC(struct rule *) rules = {0};`
 *
 * vec_push() is 0 or -ENOMEM and leaves the vector untouched on failure. Growth doubles: n pushes
 * cost O(n). Pointers into `items` are valid until the next push. One thread.
 */
#ifndef TAMIS_VEC_H
#define TAMIS_VEC_H

#include <stdlib.h>

#include "base/base.h"

#define VEC(type)                                                                                  \
	struct {                                                                                   \
		type *items;                                                                       \
		size_t n, cap;                                                                     \
	}

int vec_reserve_bytes(void **items, size_t *cap, size_t want, size_t item_size);

#define vec_reserve(v, want)                                                                       \
	vec_reserve_bytes((void **)&(v)->items, &(v)->cap, (want), sizeof(*(v)->items))
#define vec_push(v, item)                                                                          \
	({                                                                                         \
		int vec_err_ = vec_reserve((v), (v)->n + 1);                                       \
		if (!vec_err_)                                                                     \
			(v)->items[(v)->n++] = (item);                                             \
		vec_err_;                                                                          \
	})
#define vec_free(v)                                                                                \
	do {                                                                                       \
		free((v)->items);                                                                  \
		(v)->items = NULL;                                                                 \
		(v)->n = (v)->cap = 0;                                                             \
	} while (0)
#define vec_foreach(v, it) for (typeof((v)->items) it = (v)->items; (size_t)(it - (v)->items) < (v)->n; it++)

#endif
