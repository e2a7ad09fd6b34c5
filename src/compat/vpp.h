/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vpp: the command language of VPP's ACL plugin, as `vppctl` and the files of `exec` have it.
 *
 *	set acl-plugin acl [index N] [tag T] RULE, RULE, ...
 *	    RULE: permit|deny|permit+reflect [src P] [dst P] [proto N] [sport A[-B]] [dport A[-B]]
 *	          [tcpflags V mask M] [desc ...]
 *	delete acl-plugin acl index N
 *	set acl-plugin interface IF input|output acl N [del]
 *	set acl-plugin macip acl [index N] [tag T] permit|deny ip P mac M mask M, ...
 *	delete acl-plugin macip acl index N
 *	set acl-plugin macip interface IF acl N [del]
 *	set acl-plugin session timeout udp idle S | tcp idle S | tcp transient S
 *	set acl-plugin l4-match-nonfirst-fragment 0|1
 *	show acl-plugin acl|interface|sessions|tables|macip acl|macip interface
 *
 * `vppctl` in front of a command, `#` comments and `\` at a line's end are taken. Settings of VPP's
 * own tables are read, without effect. Commands that are not about ACLs are passed over, with one
 * warning for all of them. Everything else that is not understood is an error: VPP itself ends a
 * command in silence at the first word it does not know, and loads what it has of it.
 *
 * A file is one transaction. Cost: reading O(bytes), and the ACLs' own. The engine's thread.
 */
#ifndef TAMIS_COMPAT_VPP_H
#define TAMIS_COMPAT_VPP_H

#include <tamis/acl.h>
#include <tamis/tamis.h>

#include "base/strbuf.h"

/*
 * Carries out the lines of a file, "-" for standard input, on the ACLs of t's interfaces. What
 * `show` says goes to `output`, "FILE:N: Error: ..." and warnings go to `messages`. 0,
 * -EINVAL with messages, -ENOENT, -EACCES, ...: the file could not be read; -ENOMEM. After an error
 * t is as it was.
 */
int vpp_exec(struct tamis *t, const char *path, uint64_t now, struct strbuf *output,
	     struct strbuf *messages);
/* The same of a text that messages call `name`. */
int vpp_exec_text(struct tamis *t, const char *name, const char *text, size_t len, uint64_t now,
		  struct strbuf *output, struct strbuf *messages);

/* All of it as commands that make the same again. 0 or -ENOMEM. */
int vpp_list(struct tamis *t, struct strbuf *out);

/* A rule as in a command; what matches everything is left out, but for one prefix. */
void vpp_rule_print(const struct tamis_acl_rule *r, struct strbuf *out);
void vpp_macip_rule_print(const struct tamis_macip_rule *r, struct strbuf *out);

#endif
