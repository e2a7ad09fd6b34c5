/* SPDX-License-Identifier: Apache-2.0 */
/* feed: see feed.h. */
#include "feed.h"

#include <errno.h>
#include <stdlib.h>

#include "base/strbuf.h"

_Static_assert((int)BURST_MAX == (int)TAMIS_BURST_MAX, "a read fills a burst");
_Static_assert((int)LINK_EN10MB == (int)TAMIS_LINK_ETHERNET &&
		       (int)LINK_RAW == (int)TAMIS_LINK_RAW &&
		       (int)LINK_NULL == (int)TAMIS_LINK_NULL &&
		       (int)LINK_LOOP == (int)TAMIS_LINK_LOOP &&
		       (int)LINK_SLL == (int)TAMIS_LINK_SLL &&
		       (int)LINK_SLL2 == (int)TAMIS_LINK_SLL2,
	       "link types have one numbering");

int feed_init(struct feed *f, struct tamis *engine, const char *iif, const char *oif)
{
	int err;

	*f = (struct feed){.engine = engine};
	err = tamis_burst_new(engine, &f->burst);
	if (!err && iif)
		err = tamis_interface_find(engine, iif, &f->iif);
	if (!err && oif)
		err = tamis_interface_find(engine, oif, &f->oif);
	return err;
}

void feed_free(struct feed *f)
{
	tamis_burst_free(f->burst);
	free(f->dev);
	*f = (struct feed){0};
}

/* A name of a capture's interface: of its control characters none comes to logs and terminals. */
static int device_find(struct tamis *engine, const char *name, uint32_t *out)
{
	struct strbuf shown = STRBUF_INIT;
	int err;

	strbuf_puts(&shown, name);
	strbuf_mask(&shown, 0);
	err = strbuf_error(&shown);
	if (!err)
		err = tamis_interface_find(engine, strbuf_str(&shown), out);
	strbuf_free(&shown);
	return err;
}

static int devices_update(struct feed *f, const struct capture *c)
{
	uint32_t n = capture_interfaces(c);
	uint32_t *dev = f->dev;

	if (n <= f->n_dev)
		return 0;
	dev = reallocarray(dev, n, sizeof(*dev));
	if (!dev)
		return -ENOMEM;
	f->dev = dev;
	for (; f->n_dev < n; f->n_dev++) {
		const char *name = capture_interface(c, f->n_dev)->name;
		int err = name ? device_find(f->engine, name, &dev[f->n_dev]) : -EINVAL;

		if (err == -ENOMEM)
			return err;
		if (err)
			dev[f->n_dev] = 0;
	}
	return 0;
}

int feed_fill(struct feed *f, const struct capture *c, const struct burst *b)
{
	int err = devices_update(f, c);

	if (err)
		return err;
	tamis_burst_clear(f->burst);
	for (unsigned i = 0; i < b->n; i++) {
		uint32_t dev = b->iif[i];
		struct tamis_packet p = {
			.data = b->data[i],
			.caplen = b->caplen[i],
			.len = b->len[i],
			.time = b->time[i],
			.link = (enum tamis_link)b->link[i],
			.iif = f->iif,
			.oif = f->oif,
			.dev = dev && dev <= f->n_dev ? f->dev[dev - 1] : 0,
		};

		err = tamis_burst_add(f->burst, &p);
		if (err < 0)
			return err;
	}
	return 0;
}
