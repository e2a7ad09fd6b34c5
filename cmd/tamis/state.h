/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state: a file that a command reads, changes and puts another in its place, without losing what
 * other commands do meanwhile.
 *
 * The file is locked with flock(2) from state_open() to state_close(): shared to read, alone to
 * change. A new version is written beside it, synced and renamed over it, so that readers and a
 * crash find the old one or the new one; what a crash leaves of the other, `.NAME.tamis-new`, goes
 * when the file is opened to be changed. As the lock is on the file and not on its name, whoever
 * waited for an old version opens again. A symbolic link stays one. One thread.
 */
#ifndef TAMIS_CMD_STATE_H
#define TAMIS_CMD_STATE_H

#include <stdbool.h>
#include <stddef.h>

struct state {
	char *path; /* without symbolic links */
	int fd;	    /* -1: there is no file, and it will not be changed */
	bool made;  /* by us, and nothing has been written yet */
};

/* 0 or -errno. A file that is not there is empty; one that is to be changed is made. */
int state_open(const char *path, bool to_change, struct state *out);
/* 0 or -errno; the file is as it was then. */
int state_write(struct state *s, const char *data, size_t len);
void state_close(struct state *s);

#endif
