/* record_fs IMAGE OUT: scan a filesystem and write the sectors that its module read,
 * those of zeros left out, as an input for the fuzz targets (sparse_disk.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/wr.h"
#include "common/disk/disk_impl.h"
#include "fsmods/fsmod.h"

struct recorder {
	struct disk *real;
	struct rangeset seen; /* bytes, whole sectors */
};

static ssize_t
record_pread(void *ctx, void *buf, size_t len, uint64_t off)
{
	struct recorder *rec = ctx;
	struct err e;

	if (rangeset_add(&rec->seen,
		(struct range){ off / 512, (off % 512 + len + 511) / 512 }, &e) != 0)
		abort();
	return disk_read_upto(rec->real, buf, len, off, &e);
}

static void
put_le(FILE *f, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		putc((int)(v >> 8 * i & 0xff), f);
}

static int
sector_at(struct disk *d, uint64_t sector, uint8_t buf[512])
{
	static const uint8_t zeros[512];
	struct err e;

	memset(buf, 0, 512);
	return disk_read_upto(d, buf, 512, sector * 512, &e) > 0 &&
	       memcmp(buf, zeros, 512) != 0;
}

/* Runs of sectors that are not zeros become extents. */
static void
put_range(struct disk *d, struct range r, FILE *f)
{
	static uint8_t run[64 * 512];

	for (uint64_t at = r.off; at < range_end(r);) {
		uint64_t n = 0;
		while (n < 64 && at + n < range_end(r) &&
		       sector_at(d, at + n, run + n * 512))
			n++;
		if (n > 0) {
			put_le(f, at, 8);
			put_le(f, n * 512, 4);
			fwrite(run, 512, n, f);
		}
		at += n > 0 ? n : 1;
	}
}

int
main(int argc, char **argv)
{
	static const struct disk_ops ops = { .pread = record_pread };
	struct recorder rec = { 0 };
	struct disk *d;
	struct fs_scan found;
	struct err e;

	if (argc != 3 || disk_open(&rec.real, argv[1], DISK_READ, &e) != 0)
		return 2;
	uint64_t sectors = disk_size_bytes(rec.real) / 512;
	rangeset_init(&rec.seen);
	struct range all = { 0, sectors };
	const struct fsmod *mod = fsmods_probe(rec.real, all, FS_ALONE);
	if (mod == NULL ||
	    disk_open_ops(&d, argv[1], DISK_FILE, sectors * 512, &ops, &rec, &e) != 0 ||
	    mod->probe(d, all, &e) != 1 || fsmods_scan_here(mod, d, all, &found, &e) != 0)
		return 1;
	FILE *f = fopen(argv[2], "wb");
	if (f == NULL)
		return 1;
	put_le(f, sectors, 8);
	rangeset_seal(&rec.seen);
	for (size_t i = 0; i < rangeset_count(&rec.seen); i++)
		put_range(rec.real, rangeset_get(&rec.seen, i), f);
	printf("%s: %s, %llu sectors skipped %s\n", argv[1], mod->name,
	    (unsigned long long)rangeset_total(&found.skip), found.warning);
	fs_scan_free(&found);
	rangeset_free(&rec.seen);
	int rc = disk_close(d, &e) != 0;
	rc |= disk_close(rec.real, &e) != 0;
	return fclose(f) != 0 || rc;
}
