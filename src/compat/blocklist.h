/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocklist: plain lists of addresses, as they are published, into a named set.
 *
 * One entry a line: an address, a prefix (host bits are cut off) or a range `first-last`, IPv4 and
 * IPv6 mixed. Blanks around it, empty lines, `#` and `;` comments, CR before the newline and a byte
 * order mark at the start are passed over, and so are further columns behind the entry, unless one
 * of them is an entry itself. Entries of the other family than the set's are counted and left out.
 *
 * The set holds in the end what it held and what the list holds: doubles and overlaps are no
 * errors, with `auto-merge` or without. In a set with auto-merge each entry stays an element of its
 * own; in one without, overlapping entries become one range. Ranges need `flags interval`.
 *
 * A list is one transaction. Cost: reading O(bytes); O(n log n) to sort, and the set's own for each
 * element. The engine's thread.
 */
#ifndef TAMIS_COMPAT_BLOCKLIST_H
#define TAMIS_COMPAT_BLOCKLIST_H

#include <tamis/tamis.h>

#include "base/strbuf.h"

enum blocklist_flags {
	BLOCKLIST_SKIP_BAD = 1, /* lines that are no entries are said and left out */
};

/*
 * `target` is "family table set", or "table set" in family ip, as nft takes a set's name; `path`
 * may be "-" for standard input. What there is to say, errors, warnings and notes, a line each,
 * goes to `messages`; the first BLOCKLIST_SAID_MAX bad lines are named, the others counted.
 *
 * 0; -EINVAL: a line, the target or the set is wrong; -ENFILE: the set is full; -ENOENT, -EACCES,
 * ...: the file could not be read; -ENOMEM. After an error the engine is as it was.
 */
enum { BLOCKLIST_SAID_MAX = 10 };
int blocklist_load(struct tamis *t, const char *target, const char *path, unsigned flags,
		   uint64_t now, struct strbuf *messages);

#endif
