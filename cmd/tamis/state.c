/* SPDX-License-Identifier: Apache-2.0 */
/* state: see state.h. */
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MODE = 0600 };

/* Names of new versions end so. */
static const char suffix[] = ".tamis-new";

static int lock(int fd, int operation)
{
	while (flock(fd, operation)) {
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}

/* Whether the name still stands for the open file. */
static bool is_current(const char *path, int fd)
{
	struct stat by_name, open_one;

	return !stat(path, &by_name) && !fstat(fd, &open_one) &&
	       by_name.st_ino == open_one.st_ino && by_name.st_dev == open_one.st_dev;
}

/* What is no regular file has no other version: a file over its name would end the device. */
static int check_can_be_replaced(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	return S_ISREG(st.st_mode) ? 0 : -ENOTSUP;
}

/*
 * The name of a new version, beside the old one and hidden. Only the holder of the lock uses it, so
 * what stands under it is what another one left when it was killed.
 */
static int new_name(const char *path, char name[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	int directory = slash ? (int)(slash - path + 1) : 0;

	if (snprintf(name, PATH_MAX, "%.*s.%s%s", directory, path, path + directory, suffix) >=
	    PATH_MAX)
		return -ENAMETOOLONG;
	return 0;
}

static void leftover_remove(const char *path)
{
	char name[PATH_MAX];

	if (!new_name(path, name))
		unlink(name);
}

/* One attempt: 0, -EAGAIN if another version came meanwhile, or -errno. */
static int open_locked(struct state *s, bool to_change)
{
	int fd = open(s->path, (to_change ? O_RDWR : O_RDONLY) | O_CLOEXEC), err;

	s->made = false;
	if (fd < 0 && errno == ENOENT && to_change) {
		fd = open(s->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, MODE);
		if (fd < 0 && errno == EEXIST)
			return -EAGAIN;
		s->made = fd >= 0;
	}
	if (fd < 0)
		return errno == ENOENT && !to_change ? 0 : -errno;
	err = to_change ? check_can_be_replaced(fd) : 0;
	if (!err)
		err = lock(fd, to_change ? LOCK_EX : LOCK_SH);
	if (!err && !is_current(s->path, fd))
		err = -EAGAIN;
	if (err)
		close(fd);
	else
		s->fd = fd;
	if (!err && to_change)
		leftover_remove(s->path);
	return err;
}

int state_open(const char *path, bool to_change, struct state *out)
{
	struct state s = {.path = realpath(path, NULL), .fd = -1};
	int err;

	if (!s.path)
		s.path = strdup(path);
	if (!s.path)
		return -ENOMEM;
	do {
		err = open_locked(&s, to_change);
	} while (err == -EAGAIN);
	if (err)
		free(s.path);
	else
		*out = s;
	return err;
}

static int write_synced(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			data += n;
			len -= (size_t)n;
		}
	}
	return fsync(fd) ? -errno : 0;
}

/* The rename is lasting when the directory is on disk too. */
static int directory_sync(const char *path)
{
	char directory[PATH_MAX];
	const char *slash = strrchr(path, '/');
	int fd, err;

	snprintf(directory, sizeof(directory), "%.*s", slash ? (int)(slash - path + 1) : 1,
		 slash ? path : ".");
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = fsync(fd) && errno != EINVAL ? -errno : 0;
	close(fd);
	return err;
}

/* The new version has the rights of the old one. */
static int rights_copy(int from, int to)
{
	struct stat st;

	if (fstat(from, &st) || fchmod(to, st.st_mode & 07777))
		return -errno;
	if (fchown(to, st.st_uid, st.st_gid) && errno != EPERM)
		return -errno;
	return 0;
}

int state_write(struct state *s, const char *data, size_t len)
{
	char temporary[PATH_MAX];
	int err = new_name(s->path, temporary), fd;

	if (err)
		return err;
	fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, MODE);
	if (fd < 0)
		return -errno;
	err = rights_copy(s->fd, fd);
	if (!err)
		err = write_synced(fd, data, len);
	/* Held before it has the name, so that the lock goes on without a gap. */
	if (!err)
		err = lock(fd, LOCK_EX);
	if (!err && rename(temporary, s->path))
		err = -errno;
	if (err) {
		unlink(temporary);
		close(fd);
		return err;
	}
	close(s->fd);
	s->fd = fd;
	s->made = false;
	return directory_sync(s->path);
}

void state_close(struct state *s)
{
	if (s->made)
		unlink(s->path);
	if (s->fd >= 0)
		close(s->fd);
	free(s->path);
}
