/* What the modules of filesystems say that every use changes, of the small filesystems of the
 * fuzz corpora. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fsmods/fsmod.h"
#include "tests/fuzz/sparse_disk.h"
#include "tests/t.h"

static const struct fs_case {
	const struct fsmod *mod;
	const char *file; /* in tests/fuzz/corpus */
	const char *hot;  /* "first+sectors ..." */
} cases[] = {
	{ &fsmod_ext, "fs_ext/a", "2+4 132+2 164+2 196+2" },
	{ &fsmod_xfs, "fs_xfs/levels", "0+4 32768+4 32816+514" },
	{ &fsmod_xfs, "fs_xfs/v4", "0+4 7+514" },
	{ &fsmod_btrfs, "fs_btrfs/default", "128+8 131072+8" },
	{ &fsmod_f2fs, "fs_f2fs/loaded", "0+16 4096+256 8192+256" },
	{ &fsmod_ntfs, "fs_ntfs/files", "16+8 32+152 1064+8 1080+8 4096+16" },
	{ &fsmod_fat, "fs_fat/fat12", "1+9 19+14 39+1" },
	{ &fsmod_fat, "fs_fat/fat16", "1+24 49+32 87+1" },
	{ &fsmod_exfat, "fs_exfat/4k",
	    "0+1 2048+8 4096+1 4120+8 4176+8 4224+8 4288+8" },
	{ &fsmod_ffs, "fs_ffs/ufs1", "16+3 48+2" },
	{ &fsmod_ffs, "fs_ffs/ufs2", "16+3 48+2" },
	{ &fsmod_lvm2, "fs_lvm2/striped", "5890+4 5900+6" },
};

/* The whole file, in memory that the caller frees. */
static uint8_t *
read_file(const char *name, size_t *len)
{
	char path[200];
	uint8_t *bytes = calloc(1, 1 << 20);

	snprintf(path, sizeof path, "tests/fuzz/corpus/%s", name);
	FILE *f = fopen(path, "rb");
	T_CHECK(f != NULL && bytes != NULL);
	*len = f != NULL ? fread(bytes, 1, 1 << 20, f) : 0;
	if (f != NULL)
		fclose(f);
	return bytes;
}

static void
describe(const struct rangeset *hot, char *text, size_t cap)
{
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < rangeset_count(hot) && n < cap; i++) {
		struct range r = rangeset_get(hot, i);
		n += (size_t)snprintf(text + n, cap - n, "%s%llu+%llu", i > 0 ? " " : "",
		    (unsigned long long)r.off, (unsigned long long)r.len);
	}
}

static void
try(const struct fs_case *c)
{
	struct sparse_disk s;
	struct fs_scan f;
	struct err e;
	size_t len;
	uint8_t *bytes = read_file(c->file, &len);
	struct disk *d = sparse_open(&s, bytes, len);
	char text[1000];

	T_CHECK(d != NULL);
	T_CHECK(fsmods_scan_here(c->mod, d, (struct range){ 0, s.bytes / 512 }, &f, &e) ==
		0);
	T_CHECK(!f.failed);
	describe(&f.hot, text, sizeof text);
	T_CHECK(strcmp(text, c->hot) == 0);
	if (strcmp(text, c->hot) != 0)
		printf("# %s: %s %s\n", c->file, text, f.warning);
	fs_scan_free(&f);
	disk_close(d, &e);
	free(bytes);
}

int
main(void)
{
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		try(&cases[i]);
	return t_done();
}
