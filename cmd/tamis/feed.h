/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed: hands the packets of a capture to an engine.
 *
 * Interface names of the capture become indexes of the engine as they turn up. A name that cannot
 * be one (empty, longer than 63 bytes) counts as not known. One thread.
 */
#ifndef TAMIS_CMD_FEED_H
#define TAMIS_CMD_FEED_H

#include <tamis/tamis.h>

#include "port/capture.h"

struct feed {
	struct tamis *engine;
	struct tamis_burst *burst;
	uint32_t iif, oif; /* given by the user, 0 if not */
	uint32_t *dev;	   /* by number of the capture's interface */
	uint32_t n_dev;
};

/* iif and oif are names or NULL. 0 or -errno. */
int feed_init(struct feed *f, struct tamis *engine, const char *iif, const char *oif);
void feed_free(struct feed *f);

/* Replaces what is in f->burst by the packets of b, which came from c. 0 or -errno. */
int feed_fill(struct feed *f, const struct capture *c, const struct burst *b);

#endif
