/* modules.h: the modules of one kernel, by its lists modules.dep and modules.builtin: which there
 * are, what each needs, and which of them are chosen. */
#ifndef STREAM_BOOT_MODULES_H
#define STREAM_BOOT_MODULES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/buf.h"
#include "common/base/err.h"

struct module {
	const char *path;  /* "kernel/drivers/block/nbd.ko", perhaps with .xz or .zst */
	const char *needs; /* the paths of what it needs, with spaces between them */
	bool chosen;
};

struct modules {
	struct module *list;
	size_t n, cap;
	char *dep, *builtin; /* the texts of the lists, owned; the members of *list are in dep */
};

/* Read the lists, whose texts are copied.  ERR_FORMAT: a line of modules.dep is not one; ERR_NOMEM.
 * Format: modules.dep(5), modules.builtin of Linux's document kbuild/kbuild.rst. */
int modules_read(struct modules *, const struct buf *dep, const struct buf *builtin, struct err *);
/* Free the members. */
void modules_free(struct modules *);

/* Choose the module with this name ("dm_mod" and "dm-mod" are the same), and all that it needs.
 * Returns whether the kernel has it, as a module or in itself. */
bool modules_choose(struct modules *, const char *name);
/* Choose list[i], and all that it needs. */
void modules_choose_at(struct modules *, size_t i);
/* Has the kernel itself what the module of this name would bring? */
bool modules_builtin(const struct modules *, const char *name);
/* How many are chosen. */
size_t modules_chosen(const struct modules *);
/* Take the endings of compressed files (".ko.xz") from all paths in a list, so that ".ko" is left.
 * The text gets shorter, and the new length is returned. */
size_t modules_plain(char *list, size_t len);
/* The name of a module, "dm_mod", from its path; in buf, which is returned. */
const char *module_name(const char *path, char *buf, size_t cap);

#endif /* STREAM_BOOT_MODULES_H */
