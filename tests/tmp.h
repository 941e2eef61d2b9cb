/* tmp.h: a new folder below TMPDIR, for who makes it to remove. */
#ifndef TESTS_TMP_H
#define TESTS_TMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

static inline bool
tmp_folder(char *path, size_t cap, const char *name)
{
	const char *tmp = getenv("TMPDIR");
	int n = snprintf(path, cap, "%s/%s-XXXXXX", tmp != NULL ? tmp : "/tmp", name);

	return n > 0 && (size_t)n < cap && mkdtemp(path) != NULL;
}

#endif /* TESTS_TMP_H */
