/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apart: see apart.h. Files that are there are compared by what they are, others by where they
 * would be. Devices, pipes and terminals hold nothing that could be lost.
 */
#include "apart.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "output.h"

/* Where a file that is not there yet will be made; NULL if that is nowhere. Freed by the caller. */
static char *place(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char *copy = slash ? strndup(path, (size_t)(name - path)) : strdup(".");
	char *folder = copy ? realpath(copy, NULL) : NULL, *whole = NULL;

	if (folder && asprintf(&whole, "%s/%s", folder, name) < 0)
		whole = NULL;
	free(copy);
	free(folder);
	return whole;
}

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;
	bool has_a = stat(a, &x) == 0, has_b = stat(b, &y) == 0, same;
	char *at_a, *at_b;

	if (has_a != has_b)
		return false;
	if (has_a)
		return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
	at_a = place(a);
	at_b = place(b);
	same = at_a && at_b && strcmp(at_a, at_b) == 0;
	free(at_a);
	free(at_b);
	return same;
}

static bool clash(const char *option, const char *path, const char *other, const char *other_path)
{
	if (!path || !other_path || !strcmp(path, "-") || !strcmp(other_path, "-") ||
	    !same_file(path, other_path))
		return false;
	complain("%s and %s name the same file", option, other);
	return true;
}

bool files_apart(const struct options *o)
{
	const struct {
		const char *option, *path;
	} out[] = {{"-w", o->accepted}, {"--dropped", o->dropped}, {"--log", o->log}};

	for (size_t i = 0; i < sizeof(out) / sizeof(out[0]); i++) {
		for (size_t k = 0; k < i; k++)
			if (clash(out[k].option, out[k].path, out[i].option, out[i].path))
				return false;
		if (clash(out[i].option, out[i].path, "the capture", o->input))
			return false;
		for (size_t k = 0; k < o->rules.n; k++)
			if (clash(out[i].option, out[i].path, "-f", o->rules.items[k]))
				return false;
		for (size_t k = 0; k < o->ipsets.n; k++)
			if (clash(out[i].option, out[i].path, "--ipset", o->ipsets.items[k]))
				return false;
		for (size_t k = 0; k < o->acls.n; k++)
			if (clash(out[i].option, out[i].path, "--acl", o->acls.items[k]))
				return false;
		for (size_t k = 0; k < o->reloads.n; k++)
			if (clash(out[i].option, out[i].path, "--reload",
				  strchr(o->reloads.items[k], '=') + 1))
				return false;
		for (size_t k = 0; k < o->lists.n; k++)
			if (clash(out[i].option, out[i].path, "--load",
				  strchr(o->lists.items[k], '=') + 1))
				return false;
	}
	return true;
}
