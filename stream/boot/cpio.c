/* cpio.c: writes "newc" archives.  boot.c calls this, in the first thread. */
#include "stream/boot/cpio.h"

#include <stdio.h>
#include <string.h>

enum {
	MODE_FOLDER = 0040755,
	MODE_FILE = 0100000,
	ALIGN = 4,
	HEADER_BYTES = 110, /* six digits that say the format, and 13 numbers of eight digits */
};

static void
align(struct cpio *c)
{
	static const uint8_t zeros[ALIGN];

	buf_bytes(&c->out, zeros, (ALIGN - c->out.len % ALIGN) % ALIGN);
}

static void
entry(struct cpio *c, const char *path, unsigned mode, const void *data, size_t n)
{
	char head[HEADER_BYTES + 1];
	size_t name_bytes = strlen(path) + 1;

	/* inode, mode, owner, group, links, time, bytes, four device numbers, bytes of the
	 * name, checksum (of another format) */
	snprintf(head, sizeof head,
	    "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X", c->next_ino++, mode,
	    0u, 0u, 1u, 0u, (unsigned)n, 0u, 0u, 0u, 0u, (unsigned)name_bytes, 0u);
	buf_bytes(&c->out, head, HEADER_BYTES);
	buf_bytes(&c->out, path, name_bytes);
	align(c);
	buf_bytes(&c->out, data, n);
	align(c);
}

static void
folders(struct cpio *c, const char *path)
{
	char folder[sizeof c->folder];
	const char *last = strrchr(path, '/');
	size_t n = last != NULL ? (size_t)(last - path) : 0;

	if (n >= sizeof folder || (strlen(c->folder) == n && strncmp(c->folder, path, n) == 0))
		return;
	for (const char *p = strchr(path, '/'); p != NULL; p = strchr(p + 1, '/')) {
		snprintf(folder, sizeof folder, "%.*s", (int)(p - path), path);
		entry(c, folder, MODE_FOLDER, NULL, 0);
	}
	snprintf(c->folder, sizeof c->folder, "%.*s", (int)n, path);
}

void
cpio_file(struct cpio *c, const char *path, unsigned mode, const void *data, size_t n)
{
	folders(c, path);
	entry(c, path, MODE_FILE | mode, data, n);
}

void
cpio_end(struct cpio *c)
{
	entry(c, "TRAILER!!!", 0, NULL, 0);
}
