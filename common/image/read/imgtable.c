/* imgtable.c: a partition of an image is found by its number.  imageunzip, frisbee and
 * imagedump (--only) call this in the thread that has the chunks.
 *
 * ptable_read() reads the table, as it reads that of a disk, on a view that knows some
 * sectors.  A sector that is not known yet looks like the record that ends a chain of
 * logical partitions, and is noted as missing.  What is known of the chain therefore gets
 * the right numbers, and the rest is read once the sector is known.  A GPT of which one
 * copy is known needs no other copy.
 */
#include "common/image/read/imgtable.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/grow.h"
#include "common/disk/rangeset.h"

enum {
	/* The sectors that are learned at once: the MBR, and a primary GPT of either sector
	 * size, or its beginning. */
	BEGINNING_SECTORS = 64,
	SIGNATURE_AT = 510, /* 55 AA */
};

/* Stands for the size of a disk that the image does not say. */
static const uint64_t UNKNOWN_BYTES = UINT64_C(1) << 52;

struct copy {
	uint64_t sector;
	uint8_t bytes[SECTOR_BYTES];
};

struct imgtable {
	struct rangeset known;   /* sectors; those without a copy are zeros */
	struct rangeset missing; /* sectors that reading the table came across */
	struct copy *copies;
	size_t ncopies, cap;
	bool delta;     /* the image may have only the changed parts of the table */
	bool has_image; /* chunk 0 said what the image is of: */
	struct ext_image image;
	bool tried; /* pt and why are up to date with what is known */
	bool good;  /* pt is a table, perhaps with some of its partitions */
	struct ptable pt;
	struct err why;   /* why it is not good */
	struct err worse; /* ERR_NOMEM while a sector was looked for */
};

int
imgtable_new(struct imgtable **out, struct err *e)
{
	struct imgtable *t = calloc(1, sizeof *t);

	if (t == NULL)
		return err_nomem(e, "the image's partition table");
	rangeset_init(&t->known);
	rangeset_init(&t->missing);
	if (rangeset_add(&t->missing, (struct range){ 0, BEGINNING_SECTORS }, e) != 0) {
		imgtable_free(t);
		return -1;
	}
	rangeset_seal(&t->missing);
	*out = t;
	return 0;
}

void
imgtable_free(struct imgtable *t)
{
	if (t == NULL)
		return;
	ptable_free(&t->pt);
	rangeset_free(&t->known);
	rangeset_free(&t->missing);
	free(t->copies);
	free(t);
}

/* Copy what is known of a sector, or what stands for a sector that is not known. */
static void
copy_sector(struct imgtable *t, uint64_t sector, uint8_t out[SECTOR_BYTES])
{
	memset(out, 0, SECTOR_BYTES);
	for (size_t i = 0; i < t->ncopies; i++)
		if (t->copies[i].sector == sector) {
			memcpy(out, t->copies[i].bytes, SECTOR_BYTES);
			return;
		}
	if (rangeset_contains(&t->known, sector))
		return;
	out[SIGNATURE_AT] = 0x55;
	out[SIGNATURE_AT + 1] = 0xaa;
	rangeset_add(&t->missing, (struct range){ sector, 1 }, &t->worse);
}

static ssize_t
view_pread(void *ctx, void *buf, size_t len, uint64_t off)
{
	struct imgtable *t = ctx;
	uint8_t sector[SECTOR_BYTES], *out = buf;

	for (size_t at = 0, n; at < len; at += n) {
		uint64_t in = (off + at) % SECTOR_BYTES;
		n = SECTOR_BYTES - in < len - at ? SECTOR_BYTES - in : len - at;
		copy_sector(t, (off + at) / SECTOR_BYTES, sector);
		memcpy(out + at, sector + in, n);
	}
	return (ssize_t)len;
}

/* The view is opened as a file, so that a table in sectors of 4096 is looked for, too. */
int
imgtable_open(struct imgtable *t, struct disk **d, struct err *e)
{
	static const struct disk_ops ops = { .pread = view_pread };
	uint64_t bytes = t->has_image && t->image.source_bytes != 0
	                     ? t->image.source_bytes
	                     : UNKNOWN_BYTES;

	if (disk_open_ops(
		d, "the image's partition table", DISK_FILE, bytes, &ops, t, e) != 0)
		return -1;
	if (t->has_image && t->image.sector_bytes >= SECTOR_BYTES)
		disk_set_sector_bytes(*d, t->image.sector_bytes);
	return 0;
}

static int
try_table(struct imgtable *t, struct err *e)
{
	struct disk *d;
	struct err none;

	if (imgtable_open(t, &d, e) != 0)
		return -1;
	rangeset_free(&t->missing);
	ptable_free(&t->pt);
	t->worse = (struct err){ .kind = ERR_NONE };
	t->good = ptable_read(&t->pt, d, &t->why) == 0;
	rangeset_seal(&t->missing);
	t->tried = true;
	disk_close(d, &none);
	if (t->worse.kind == ERR_NONE)
		return 0;
	*e = t->worse;
	return -1;
}

/* The sectors of a chunk that are wanted, while its data comes. */
struct taking {
	struct imgtable *t;
	const struct ndz_header *h;
	unsigned region;
	uint64_t region_at; /* sectors of the region that came */
	const struct rangeset *want;
};

static int
keep(struct imgtable *t, uint64_t sector, const uint8_t *bytes, struct err *e)
{
	if (grow_array(&t->copies, &t->cap, t->ncopies, sizeof *t->copies,
		"the image's partition table", e) != 0)
		return -1;
	t->copies[t->ncopies].sector = sector;
	memcpy(t->copies[t->ncopies++].bytes, bytes, SECTOR_BYTES);
	return 0;
}

/* Keep the wanted sectors of a piece of the chunk's data. */
static int
take_piece(void *arg, void *data, size_t n, struct err *e)
{
	struct taking *k = arg;
	const uint8_t *p = data;

	for (; n >= SECTOR_BYTES; n -= SECTOR_BYTES, p += SECTOR_BYTES) {
		struct range r = k->h->regions[k->region];
		uint64_t sector = r.off + k->region_at;
		if (rangeset_contains(k->want, sector) && keep(k->t, sector, p, e) != 0)
			return -1;
		if (++k->region_at == r.len) {
			k->region++;
			k->region_at = 0;
		}
	}
	return 0;
}

static bool
stores_some(const struct ndz_header *h, const struct rangeset *want)
{
	for (unsigned i = 0; i < h->nregions; i++) {
		size_t k = rangeset_find(want, h->regions[i].off);
		if (k < rangeset_count(want) &&
		    rangeset_get(want, k).off < range_end(h->regions[i]))
			return true;
	}
	return false;
}

/* Decode a chunk that stores wanted sectors, and keep these.  All of the chunk's data is
 * looked at, so that its checksum is checked. */
static int
decode(struct imgtable *t, const struct chunk *c, const void *bytes,
    const struct rangeset *want, struct err *e)
{
	struct taking k = { .t = t, .h = &c->h, .want = want };
	struct decoder *dec;

	if (!stores_some(&c->h, want))
		return 0;
	if (chunk_check_digest(c, bytes, e) != 0)
		return -1;
	if ((dec = decoder_new()) == NULL)
		return err_nomem(e, "a decoder");
	int rc = chunk_pieces(c, bytes, dec, take_piece, &k, e);
	decoder_free(dec);
	return rc;
}

/* Take the missing sectors that this chunk answers for; *any tells whether there were any. */
static int
take_missing(struct imgtable *t, const struct chunk *c, const void *bytes, bool *any,
    struct err *e)
{
	struct rangeset want;
	int rc = 0;

	rangeset_init(&want);
	for (size_t i = 0; rc == 0 && i < rangeset_count(&t->missing); i++) {
		struct range r = range_clip(
		    rangeset_get(&t->missing, i), c->h.firstsect, c->h.lastsect);
		if (r.len != 0)
			rc = rangeset_add(&want, r, e);
	}
	rangeset_seal(&want);
	*any = rangeset_count(&want) > 0;
	if (rc == 0 && *any)
		rc = decode(t, c, bytes, &want, e);
	if (rc == 0)
		rc = rangeset_union(&t->known, &want, e);
	rangeset_free(&want);
	return rc;
}

int
imgtable_learn(struct imgtable *t, uint32_t number, const struct chunk *c,
    const void *bytes, struct err *e)
{
	bool any = true;

	t->delta |= ext_is_delta(&c->ext);
	if (number == 0 && c->ext.has_image) {
		t->has_image = true;
		t->image = c->ext.image;
	}
	/* The sectors that were learned may show that more sectors of the chunk are missing. */
	while (any) {
		if (take_missing(t, c, bytes, &any, e) != 0)
			return err_ctx(e, "chunk %u", number);
		if (any && try_table(t, e) != 0)
			return -1;
	}
	return 0;
}

static bool
is_disk(const struct imgtable *t)
{
	return !t->has_image || t->image.kind == EXT_KIND_DISK ||
	       t->image.kind == EXT_KIND_UNKNOWN;
}

const struct ptable *
imgtable_table(const struct imgtable *t)
{
	return t->tried && t->good && is_disk(t) && t->pt.nparts > 0 ? &t->pt : NULL;
}

const struct partition *
imgtable_find(const struct imgtable *t, unsigned number)
{
	const struct ptable *pt = imgtable_table(t);

	return pt != NULL ? ptable_find(pt, number) : NULL;
}

bool
imgtable_needs(struct imgtable *t, uint64_t *sector)
{
	bool whole_gpt = t->tried && t->good && t->pt.kind == PTABLE_GPT;

	if (!is_disk(t) || whole_gpt || rangeset_count(&t->missing) == 0)
		return false;
	*sector = rangeset_get(&t->missing, 0).off;
	return true;
}

int
imgtable_cannot(struct imgtable *t, uint64_t sector, struct err *e)
{
	if (rangeset_add(&t->known, (struct range){ sector, 1 }, e) != 0)
		return -1;
	rangeset_seal(&t->known);
	return try_table(t, e);
}

bool
imgtable_left_out(const struct imgtable *t, unsigned number)
{
	char want[32];
	const char *p = t->has_image ? t->image.filesystems : "";
	size_t n = (size_t)snprintf(want, sizeof want, "%u:ignored", number);

	for (; (p = strstr(p, want)) != NULL; p += n)
		if ((p == t->image.filesystems || p[-1] == ' ') &&
		    (p[n] == '\0' || p[n] == ' '))
			return true;
	return false;
}

/* The numbers of the partitions that can be installed: "1, 2, 5". */
static void
put_numbers(const struct imgtable *t, char *buf, size_t cap)
{
	struct ptable there = { .nparts = 0 };

	for (unsigned i = 0; i < t->pt.nparts; i++)
		if (!imgtable_left_out(t, t->pt.parts[i].number))
			there.parts[there.nparts++] = t->pt.parts[i];
	ptable_numbers(&there, buf, cap);
}

int
imgtable_refuse(const struct imgtable *t, unsigned number, struct err *e)
{
	char numbers[PTABLE_PARTS_MAX * 5];

	if (!is_disk(t))
		return err_set(e, ERR_ABSENT,
		    "the image was made from a %s and has no partitions: install it "
		    "without --only",
		    t->image.kind == EXT_KIND_PARTITION ? "single partition" : "file");
	if (t->delta && imgtable_table(t) == NULL)
		return err_set(e, ERR_UNSUPPORTED,
		    "the image is a delta without the partition table of its disk, so "
		    "--only finds no partition; make a whole image of it and its base "
		    "with imagedelta --onto");
	if (t->tried && !t->good)
		return err_set(e, ERR_FORMAT, "%.400s", t->why.text);
	if (imgtable_table(t) == NULL)
		return err_set(e, ERR_ABSENT,
		    "the image has no partition table, so --only finds no partition");
	put_numbers(t, numbers, sizeof numbers);
	if (imgtable_left_out(t, number))
		return err_set(e, ERR_ABSENT,
		    "partition %u was left out when the image was made (imagezip -I): "
		    "it has partitions %.200s",
		    number, numbers);
	return err_set(e, ERR_ABSENT,
	    "the image has no partition %u: it has partitions %.200s", number, numbers);
}
