/* report.c: what imagedump prints of chunks, of the whole image and of its signature.
 * main.c calls this in the first thread, and encrypted.c for the totals. */
#include "tools/imagedump/report.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/number.h"
#include "common/base/say.h"
#include "common/disk/range_json.h"

static const char *
reloc_name(uint32_t type)
{
	static const char *const names[] = { "none", "FreeBSD disklabel",
		"OpenBSD disklabel", "LILO address", "LILO map", "LILO checksum",
		"short sector", "GPT fix" };

	return type < sizeof names / sizeof names[0] ? names[type] : "unknown";
}

static void
print_chunk(const struct ndz_header *h, uint32_t i, uint64_t detail)
{
	say_text(stdout, "  chunk %u: %u bytes of stream, sectors %" PRIu64 "-%" PRIu64
	    ", %u regions, %u relocations\n",
	    i, h->size, h->firstsect, h->lastsect - 1, h->nregions, h->nrelocs);
	for (unsigned k = 0; k < h->nregions && detail >= 2; k++)
		say_text(stdout, "    region %u: %" PRIu64 " sectors, %" PRIu64 "-%" PRIu64
		    "\n", k, h->regions[k].len, h->regions[k].off,
		    range_end(h->regions[k]) - 1);
	for (unsigned k = 0; k < h->nrelocs && detail >= 2; k++)
		say_text(stdout, "    relocation %u: %s, sector %" PRIu64 ", offset %u, "
		    "%" PRIu64 " bytes\n", k, reloc_name(h->relocs[k].type),
		    h->relocs[k].sector, h->relocs[k].offset, h->relocs[k].size);
}

static void
json_relocs(struct json *j, const struct ndz_header *h)
{
	json_array(j, "relocations");
	for (unsigned k = 0; k < h->nrelocs; k++) {
		json_object(j, NULL);
		json_uint(j, "type", h->relocs[k].type);
		json_uint(j, "sector", h->relocs[k].sector);
		json_uint(j, "offset_bytes", h->relocs[k].offset);
		json_uint(j, "bytes", h->relocs[k].size);
		json_end(j);
	}
	json_end(j);
}

void
report_chunk(struct json *j, const struct chunk *c, uint32_t i, uint64_t detail)
{
	const struct ndz_header *h = &c->h;

	if (j == NULL) {
		print_chunk(h, i, detail);
		return;
	}
	json_object(j, NULL);
	json_uint(j, "stream_bytes", h->size);
	json_uint(j, "first_sector", h->firstsect);
	json_uint(j, "end_sector", h->lastsect);
	json_uint(j, "fragments", c->ext.nfragments);
	if (detail >= 2) {
		json_ranges(j, "regions", h->regions, h->nregions);
		json_relocs(j, h);
	}
	json_end(j);
}

void
report_oddities(const char *name, const struct totals *t, const struct ndz_header *h)
{
	if (h->index != (int32_t)t->chunks)
		say_text(stderr, "imagedump: %s: the header of chunk %u has the number %d\n",
		    name, t->chunks, h->index);
	if (h->version > 1 && h->firstsect != t->next_sector)
		say_text(stderr, "imagedump: %s: chunk %u begins at sector %" PRIu64
		    ", but the chunk before it ends at %" PRIu64 "\n",
		    name, t->chunks, h->firstsect, t->next_sector);
}

static const char *
kind_name(enum ext_kind kind)
{
	static const char *const names[] = { "unknown", "disk", "partition", "file" };

	return (size_t)kind < sizeof names / sizeof names[0] ? names[kind] : names[0];
}

static void
show_sizes(struct json *j, const struct totals *t, const char *name)
{
	char a[32], b[32];

	json_uint(j, "version", t->version);
	json_string(j, "codec", t->codec->name);
	json_uint(j, "chunks", t->chunks);
	json_uint(j, "sectors", t->sectors);
	json_uint(j, "regions", t->regions);
	json_uint(j, "relocations", t->relocs);
	json_uint(j, "fragments", t->fragments);
	json_uint(j, "stream_bytes", t->stream_bytes);
	json_uint(j, "data_bytes", t->raw_bytes);
	json_uint(j, "header_bytes", t->header_bytes);
	json_uint(j, "extension_bytes", t->extension_bytes);
	json_uint(j, "padding_bytes", t->padding_bytes);
	if (j != NULL)
		return;
	say_text(stdout, "%s: version %u, %s, %u chunks, sectors 0-%" PRIu64 "\n", name,
	    t->version, t->codec->name, t->chunks, t->sectors - 1);
	say_text(stdout, "  %s of data in %s (%.2fx), %" PRIu64 " regions, %" PRIu64
	    " relocations\n",
	    human_bytes(t->raw_bytes, a, sizeof a),
	    human_bytes(t->stream_bytes, b, sizeof b),
	    (double)t->raw_bytes / (double)t->stream_bytes, t->regions, t->relocs);
}

static void
show_lost(struct json *j, const struct lost *l)
{
	lost_json(l, j);
	if (j != NULL || l->nranges == 0)
		return;
	say_text(stdout, "  %" PRIu64 " sectors could not be read and are stored as zeros, %s",
	    l->sectors, l->merged ? "all of them among" : "namely");
	for (size_t i = 0; i < l->nranges; i++)
		say_text(stdout, "%s %" PRIu64 "-%" PRIu64, i > 0 ? "," : "", l->ranges[i].off,
		    range_end(l->ranges[i]) - 1);
	say_text(stdout, "\n");
}

/* Print the key of the signature.  Only --verify-key finds out whether it is right. */
static void
print_signer(const struct totals *t)
{
	char key[2 * EXT_KEY_ID_BYTES + 1];

	if (t->signed_chunks == t->chunks)
		say_text(stdout, "  signed with key %s\n",
		    number_hex(t->first.key_id, EXT_KEY_ID_BYTES, key));
}

static void
show_state(struct json *j, const struct totals *t)
{
	const struct ext *x = &t->first;
	char base[128], state[128];

	ext_state_text(&x->base, base, sizeof base);
	ext_state_text(&x->state, state, sizeof state);
	json_bool(j, "delta", ext_is_delta(x));
	if (ext_is_delta(x)) {
		json_string(j, "base", base);
		json_uint(j, "freed_sectors", t->freed);
		json_uint(j, "base_samples", t->samples);
	}
	if (x->state.kind != EXT_STATE_NONE)
		json_string(j, "state", state);
	if (j == NULL && ext_is_delta(x))
		say_text(stdout, "  a delta of %s, of which %" PRIu64
		    " sectors are free now; before an installation %" PRIu64
		    " samples of the base are compared with the disk\n", base, t->freed,
		    t->samples);
	if (j == NULL && x->state.kind != EXT_STATE_NONE)
		say_text(stdout, "  has the same contents as %s\n", state);
}

/* How many sectors a target must have, so that the image is not refused; 0: not known. */
static uint64_t
needed(const struct ext *x)
{
	uint64_t data = x->image.needed_sectors;
	uint64_t parts = reach_needed(x->reach, x->image.kind == EXT_KIND_DISK);

	return parts > data ? parts : data;
}

static void
show_image(struct json *j, const struct ext *x)
{
	const struct ext_image *i = &x->image;
	uint64_t least = needed(x);
	char size[32], when[32];

	json_string(j, "kind", kind_name(i->kind));
	json_uint(j, "source_bytes", i->source_bytes);
	json_uint(j, "needed_sectors", least);
	json_uint(j, "sector_bytes", i->sector_bytes);
	json_uint(j, "made_at", i->made_at);
	json_string(j, "tool", i->tool);
	json_string(j, "filesystems", i->filesystems);
	json_bool(j, "live", (i->flags & EXT_IMAGE_LIVE) != 0);
	if (j != NULL)
		return;
	/* The size is not known for an image of a pipe: chunk 0 was made before the
	 * end was read. */
	human_bytes(i->source_bytes, size, sizeof size);
	say_text(stdout, "  a %s of %s, sectors of %u bytes, made by %s on %s\n",
	    kind_name(i->kind), i->source_bytes != 0 ? size : "unknown size",
	    i->sector_bytes, i->tool, human_time(i->made_at, when, sizeof when));
	if (least != 0)
		say_text(stdout, "  for disks of %" PRIu64 " sectors (%s) and more\n", least,
		    human_bytes(least * SECTOR_BYTES, size, sizeof size));
}

static void
print_part(const struct reach_part *p)
{
	char size[32];

	if (p->fs_sectors == 0 || p->fs_sectors == p->sectors.len)
		return;
	say_text(stdout, "  the %s filesystem", p->fs);
	if (p->number != 0)
		say_text(stdout, " of partition %u", p->number);
	say_text(stdout, " has %" PRIu64 " of %" PRIu64 " sectors (%s)\n", p->fs_sectors,
	    p->sectors.len, human_bytes(p->fs_sectors * SECTOR_BYTES, size, sizeof size));
}

static void
show_reach(struct json *j, const struct reach *x)
{
	if (x == NULL)
		return;
	json_array(j, "partitions");
	for (size_t i = 0; i < x->n; i++) {
		const struct reach_part *p = &x->parts[i];
		if (j == NULL)
			print_part(p);
		json_object(j, NULL);
		json_uint(j, "number", p->number);
		json_uint(j, "first_sector", p->sectors.off);
		json_uint(j, "sectors", p->sectors.len);
		json_bool(j, "stored", (p->flags & REACH_STORED) != 0);
		json_string(j, "filesystem", p->fs);
		json_uint(j, "filesystem_sectors", p->fs_sectors);
		json_uint(j, "largest_sector_bytes", p->sector_bytes);
		json_end(j);
	}
	json_end(j);
}

static void
print_notes(const struct ext_image *i)
{
	if (i->filesystems[0] != '\0')
		say_text(stdout, "  filesystems: %s\n", i->filesystems);
	if ((i->flags & EXT_IMAGE_LIVE) != 0)
		say_text(stdout, "  captured live: the source was in use, and files in it may "
		    "be damaged\n");
}

static void
show_piece(struct json *j, const struct tail_piece *p, uint64_t stored)
{
	if (j == NULL)
		say_text(stdout, "    %s at %" PRIu64 "-%" PRIu64 ": %" PRIu64 " sectors\n",
		    tail_kind_name(p->kind), p->sectors.off, range_end(p->sectors) - 1,
		    stored);
	json_object(j, NULL);
	json_uint(j, "first_sector", p->sectors.off);
	json_uint(j, "sectors", p->sectors.len);
	json_uint(j, "stored_sectors", stored);
	json_uint(j, "kind", p->kind);
	json_string(j, "holds", tail_kind_name(p->kind));
	json_end(j);
}

static void
show_tail(struct json *j, const struct totals *t)
{
	const struct tail *x = &t->first.tail;

	if (x->n == 0)
		return;
	if (j == NULL)
		say_text(stdout, "  the tail of the disk, which is installed only on disks of "
		    "%" PRIu64 " sectors; the rest needs %" PRIu64 " sectors\n",
		    x->disk_sectors, x->needed);
	json_uint(j, "tail_disk_sectors", x->disk_sectors);
	json_uint(j, "min_disk_sectors", x->needed);
	json_array(j, "tail");
	for (size_t i = 0; i < x->n; i++)
		show_piece(j, &x->pieces[i], t->tail_sectors[i]);
	json_end(j);
}

void
report_totals(struct json *j, const struct totals *t, const char *name)
{
	const struct ext *x = &t->first;
	char uuid[2 * NDZ_UUID_BYTES + 1];

	show_sizes(j, t, name);
	show_lost(j, &t->lost);
	if (x->has_uuid)
		json_hex(j, "uuid", x->uuid, NDZ_UUID_BYTES);
	if (j == NULL && !x->present)
		return;
	if (j == NULL) {
		say_text(stdout, "  %" PRIu64 " fragments; uuid %s\n", t->fragments,
		    number_hex(x->uuid, NDZ_UUID_BYTES, uuid));
		print_signer(t);
	}
	show_state(j, t);
	if (x->has_signature)
		json_hex(j, "signing_key", x->key_id, sizeof x->key_id);
	if (!x->has_image)
		return;
	show_image(j, x);
	show_reach(j, x->reach);
	if (j == NULL)
		print_notes(&x->image);
	show_tail(j, t);
}

void
report_rest(const struct totals *t)
{
	double percent = (double)t->chunks * NDZ_CHUNK_BYTES / 100;

	say_text(stdout,
	    "  of the file, %.1f %% are headers, %.1f %% extension areas and %.1f %% "
	    "padding\n",
	    (double)t->header_bytes / percent, (double)t->extension_bytes / percent,
	    (double)t->padding_bytes / percent);
}

/* What is known of the signature. */
static const char *
signature(const struct options *o, const struct totals *t)
{
	if (o->opener_files.verify_key != NULL)
		return "good"; /* image.c gives out only chunks that are proved */
	return t->signed_chunks == 0           ? "none"
	       : t->signed_chunks == t->chunks ? "unchecked"
	                                       : "partial";
}

void
report_verdict(struct json *j, const struct options *o, const struct totals *t)
{
	const char *key = opener_key_name(o->opener);
	bool whole = t->tiled && t->first.present;

	json_bool(j, "verified", o->verify);
	json_bool(j, "encrypted", o->opener_files.decrypt != NULL);
	json_string(j, "signature", signature(o, t));
	if (j != NULL || !o->verify)
		return;
	say_text(stdout, "  verified: %s: every chunk is whole, %s; ",
	    ext_is_delta(&t->first) ? "can be restored onto its base" : "can be restored",
	    whole ? "every sector is covered once, and the last chunk is there"
		  : "but the format does not say whether all chunks are there");
	if (key[0] != '\0')
		say_text(stdout, "signed with key %s", key);
	else
		say_text(stdout, "%s",
		    t->signed_chunks == 0 ? "not signed"
		    : t->signed_chunks == t->chunks
			? "signed (--verify-key checks the signature)"
			: "signed only in part");
	say_text(stdout, "%s\n", o->opener_files.decrypt != NULL ? "; encrypted" : "");
}
