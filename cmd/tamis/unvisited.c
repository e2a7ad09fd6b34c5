/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unvisited: see unvisited.h. Which hooks a path has is a matter of the options alone: packets that
 * by chance were none to this host are no reason for a message.
 */
#include "unvisited.h"

#include <stdio.h>
#include <string.h>

#include "output.h"

enum { HOOKS = 7 };

static const char *const hook_names[HOOKS] = {
	"ingress", "prerouting", "input", "forward", "output", "postrouting", "egress",
};

enum {
	INGRESS = 1,
	PREROUTING = 2,
	INPUT = 4,
	FORWARD = 8,
	OUTPUT = 16,
	POSTROUTING = 32,
	EGRESS = 64,
	EVERY_HOOK = 127
};

struct unvisited {
	unsigned visited;      /* by packets of IP */
	bool bridge;	       /* the path is the bridge's */
	unsigned hooks;	       /* off it, with base chains */
	bool of_bridge, of_ip; /* there are base chains of this kind of families */
};

static unsigned hooks_visited(const struct options *o)
{
	switch (o->path) {
	case TAMIS_PATH_INPUT:
		return INGRESS | PREROUTING | INPUT;
	case TAMIS_PATH_OUTPUT:
		return OUTPUT | POSTROUTING | EGRESS;
	case TAMIS_PATH_AUTO:
		if (o->locals.n)
			return EVERY_HOOK;
		break;
	case TAMIS_PATH_FORWARD:
	case TAMIS_PATH_BRIDGE:
		break;
	}
	return INGRESS | PREROUTING | FORWARD | POSTROUTING | EGRESS;
}

/* The bit of the hook in "type filter hook input ..."; 0 for a regular chain. */
static unsigned hook_of(const char *head)
{
	const char *at = head ? strstr(head, " hook ") : NULL;

	for (unsigned i = 0; at && i < HOOKS; i++) {
		size_t len = strlen(hook_names[i]);

		if (strncmp(at + 6, hook_names[i], len) == 0 && at[6 + len] == ' ')
			return 1U << i;
	}
	return 0;
}

static int chain_look(void *arg, const struct tamis_chain *c)
{
	struct unvisited *u = arg;
	unsigned hook = hook_of(c->head);
	bool bridge = strcmp(c->family, "bridge") == 0;
	bool arp = strcmp(c->family, "arp") == 0;

	if (!hook || strcmp(c->family, "netdev") == 0 || (hook & (INGRESS | EGRESS)))
		return 0;
	if (bridge != u->bridge) {
		u->of_bridge |= bridge;
		u->of_ip |= !bridge;
	} else if (!bridge && !(arp && hook == INPUT && u->visited & PREROUTING)) {
		u->hooks |= hook & ~u->visited;
	}
	return 0;
}

static const char *advice(const struct options *o)
{
	switch (o->path) {
	case TAMIS_PATH_AUTO:
		return "all are forwarded without --local ADDRESS of this host or a --path";
	case TAMIS_PATH_FORWARD:
		return "all were forwarded by --path";
	case TAMIS_PATH_INPUT:
		return "all came in by --path";
	case TAMIS_PATH_OUTPUT:
		return "all went out by --path";
	case TAMIS_PATH_BRIDGE:
		break;
	}
	return "";
}

void unvisited_tell(struct tamis *t, const struct options *o)
{
	struct unvisited u = {.visited = hooks_visited(o), .bridge = o->path == TAMIS_PATH_BRIDGE};
	struct strbuf names = STRBUF_INIT;

	if (tamis_chain_each(t, chain_look, &u))
		return;
	for (unsigned i = 0; i < HOOKS; i++) {
		if (u.hooks >> i & 1)
			strbuf_printf(&names, "%s%s", names.len ? ", " : "", hook_names[i]);
	}
	if (names.len)
		complain("no packet came to the chains at %s: %s", strbuf_str(&names), advice(o));
	if (u.of_bridge)
		complain("no packet came to the chains of family bridge: --path bridge is theirs");
	if (u.of_ip)
		complain("no packet came to the chains of other families than bridge and netdev: "
			 "--path bridge is not theirs");
	strbuf_free(&names);
}
