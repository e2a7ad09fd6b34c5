/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region: memory in huge pages for what is large and looked up at random.
 *
 * A region is 2 MiB of address space, aligned to as much, that the kernel is asked to back by one
 * page (madvise; without it there are small pages, and nothing else changes). It gives out pieces
 * of whole granules, first fit, and takes them back. Regions are made some at a time, when a table
 * is told how much will come, and never on the way of a single change: the kernel clears a huge
 * page in about 100 us. A region goes when it has left its list and has no piece out; one that is
 * empty while it is in a list gives its memory back and no piece any more.
 *
 * Threads: any may take and give pieces; a list belongs to one. Cost: region_alloc() O(regions of
 * the list + 32 words), region_free() O(1).
 */
#ifndef TAMIS_SET_REGION_H
#define TAMIS_SET_REGION_H

#include "base/base.h"

struct region; /* opaque */

#define REGION_BYTES ((size_t)2 << 20)

/* Bytes that pieces of this size take of a region, and how many of them it holds. */
size_t region_piece(size_t size);
size_t region_holds(size_t size);

/* Puts n regions in front of the list. 0 or -ENOMEM, and then there are none. */
int region_list_add(struct region **list, size_t n);
/* Empties the list. */
void region_list_drop(struct region **list);

/* A piece, aligned to 64 bytes, of some region of the list; NULL: they are full. */
void *region_alloc(struct region *list, size_t size);
void region_free(void *piece, size_t size);

#endif
