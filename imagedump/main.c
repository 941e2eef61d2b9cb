/* imagedump: what is in an image, and is it whole? */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/cli.h"
#include "common/base/json.h"
#include "common/base/ordered.h"
#include "common/base/pipeline.h"
#include "common/ndz/chunk.h"
#include "common/ndz/image.h"

struct opts {
	uint64_t detail; /* 1: chunks, 2: regions and relocations, too */
	bool quiet, json, verify;
	struct proof_config proof_files;
	struct proof *proof; /* made of them, or NULL */
	uint64_t jobs;
};

/* What all chunks add up to. */
struct totals {
	uint32_t chunks;
	unsigned version;
	const struct codec *codec;
	uint64_t regions, relocs, fragments;
	uint64_t stream_bytes, raw_bytes, sectors;
	uint64_t freed;       /* sectors that a delta calls free by now */
	uint64_t next_sector; /* where the next chunk should begin */
	uint32_t signed_chunks;
	bool tiled;       /* chunks say whose sectors they are: each, once */
	struct ext first; /* of chunk 0, without what it owns */
	struct lost lost; /* from the last chunk; owned */
};

static int
more_detail(void *at, const char *arg, struct err *e)
{
	struct opts *o = at;

	(void)arg, (void)e;
	o->detail++;
	return 0;
}

static int
ignored_letter(void *at, const char *arg, struct err *e)
{
	(void)at, (void)arg, (void)e;
	return 0;
}

#define AT(field) offsetof(struct opts, field)

static const struct cli_opt opts_table[] = {
	{ 'd', "detail", NULL, "each chunk; twice: its regions and relocations",
	    CLI_CALL, 0, 0, 0, more_detail },
	{ 'q', "quiet", NULL, "print nothing: the exit status tells", CLI_FLAG,
	    AT(quiet), 0, 0, NULL },
	{ 300, "json", NULL, "print JSON", CLI_FLAG, AT(json), 0, 0, NULL },
	{ 301, "verify", NULL, "decode and check everything: can it be restored?",
	    CLI_FLAG, AT(verify), 0, 0, NULL },
	{ 'j', "jobs", "N", "threads for --verify (default: one a processor)", CLI_UINT,
	    AT(jobs), 1, 256, NULL },
	{ 'i', NULL, NULL, "accepted: the index fields of V1 are never looked at",
	    CLI_CALL, 0, 0, 0, ignored_letter },
	{ 'm', NULL, NULL, "not built yet: a map", CLI_REFUSED, 0, 0, 0, NULL },
	{ 'c', NULL, NULL, "not built yet: Emulab's signatures; see --verify-key",
	    CLI_REFUSED, 0, 0, 0, NULL },
	{ 0 },
};

static const struct cli_program prog = {
	.name = "imagedump",
	.synopsis = "[options] image...",
	.about = "Show what images hold, and check that they are whole.",
	.examples = "  imagedump disk.ndz              a summary\n"
		    "  imagedump -dd disk.ndz          every region\n"
		    "  imagedump --verify -q disk.ndz && echo good\n"
		    "  imagedump --verify --verify-key lab.pub disk.ndz\n",
	.tables = { { opts_table, 0, NULL }, { proof_opts, AT(proof_files), "Proof" } },
};

static const char *
reloc_name(uint32_t type)
{
	static const char *const names[] = { "none", "FreeBSD disklabel",
		"OpenBSD disklabel", "LILO address", "LILO map", "LILO checksum",
		"short sector", "GPT fix" };

	return type < sizeof names / sizeof names[0] ? names[type] : "unknown";
}

static void
print_chunk(const struct chunk *c, uint32_t i, uint64_t detail)
{
	const struct ndz_header *h = &c->h;

	printf("  chunk %u: %u bytes of stream, sectors %" PRIu64 "-%" PRIu64
	       ", %u regions, %u "
	       "relocations\n",
	    i, h->size, h->firstsect, h->lastsect - 1, h->nregions, h->nrelocs);
	if (detail < 2)
		return;
	for (unsigned k = 0; k < h->nregions; k++)
		printf("    region %u: %" PRIu64 " sectors, %" PRIu64 "-%" PRIu64 "\n",
		    k, h->regions[k].len, h->regions[k].off,
		    range_end(h->regions[k]) - 1);
	for (unsigned k = 0; k < h->nrelocs; k++)
		printf("    relocation %u: %s, sector %" PRIu64 ", offset %u, %" PRIu64
		       " bytes\n",
		    k, reloc_name(h->relocs[k].type), h->relocs[k].sector,
		    h->relocs[k].offset, h->relocs[k].size);
}

static void
json_chunk(struct json *j, const struct chunk *c, uint64_t detail)
{
	const struct ndz_header *h = &c->h;

	json_object(j, NULL);
	json_uint(j, "stream_bytes", h->size);
	json_uint(j, "first_sector", h->firstsect);
	json_uint(j, "end_sector", h->lastsect);
	json_uint(j, "fragments", c->ext.nfragments);
	if (detail >= 2) {
		json_array(j, "regions");
		for (unsigned k = 0; k < h->nregions; k++) {
			json_object(j, NULL);
			json_uint(j, "start", h->regions[k].off);
			json_uint(j, "sectors", h->regions[k].len);
			json_end(j);
		}
		json_end(j);
		json_array(j, "relocations");
		for (unsigned k = 0; k < h->nrelocs; k++) {
			json_object(j, NULL);
			json_uint(j, "type", h->relocs[k].type);
			json_uint(j, "sector", h->relocs[k].sector);
			json_uint(j, "offset", h->relocs[k].offset);
			json_uint(j, "bytes", h->relocs[k].size);
			json_end(j);
		}
		json_end(j);
	}
	json_end(j);
}

/* What is odd, but does not make the image useless. */
static void
print_oddities(const struct opts *o, const char *name, const struct totals *t,
    const struct ndz_header *h)
{
	if (o->quiet)
		return;
	if (h->index != (int32_t)t->chunks)
		fprintf(stderr, "imagedump: %s: chunk %u says that it is number %d\n",
		    name, t->chunks, h->index);
	if (h->version > 1 && h->firstsect != t->next_sector)
		fprintf(stderr,
		    "imagedump: %s: chunk %u begins at sector %" PRIu64
		    ", the one before "
		    "ends at %" PRIu64 "\n",
		    name, t->chunks, h->firstsect, t->next_sector);
}

/* Chunks tile the disk; version 1 does not tell. */
static int
check_tiling(struct totals *t, const struct chunk *c, struct err *e)
{
	const struct ndz_header *h = &c->h;
	bool follows = h->version > 1 && h->firstsect == t->next_sector;

	t->tiled = follows && (t->chunks == 0 || t->tiled);
	if (h->version > 1 && !follows)
		return err_set(e, ERR_FORMAT,
		    "chunk %u begins at sector %" PRIu64 ", and the one before "
		    "ends at %" PRIu64 ": sectors are missing or stored twice",
		    t->chunks, h->firstsect, t->next_sector);
	return 0;
}

static void
add_chunk(struct totals *t, struct chunk *c)
{
	t->signed_chunks += c->ext.has_signature;
	if (t->chunks == 0) {
		t->first = c->ext;
		t->first.fragments = NULL;
		t->first.freed = NULL;
		t->first.lost = (struct lost){ 0 };
	}
	if (c->ext.lost.nranges > 0) {
		lost_free(&t->lost);
		t->lost = c->ext.lost;
		c->ext.lost = (struct lost){ 0 };
	}
	for (size_t i = 0; i < c->ext.nfreed; i++)
		t->freed += c->ext.freed[i].len;
	t->chunks++;
	t->version = c->h.version;
	t->codec = c->codec;
	t->regions += c->h.nregions;
	t->relocs += c->h.nrelocs;
	t->fragments += c->ext.nfragments;
	t->stream_bytes += c->h.size;
	t->raw_bytes += c->raw_bytes;
	t->next_sector = c->h.lastsect;
	t->sectors = c->h.lastsect > t->sectors ? c->h.lastsect : t->sectors;
}

static const char *
kind_name(enum ext_kind kind)
{
	static const char *const names[] = { "unknown", "disk", "partition", "file" };

	return (size_t)kind < sizeof names / sizeof names[0] ? names[kind] : names[0];
}

static void
print_lost(const struct lost *l)
{
	if (l->nranges == 0)
		return;
	printf("  %" PRIu64 " sectors could not be read and are zeros, %s", l->sectors,
	    l->merged ? "all of them among" : "namely");
	for (size_t i = 0; i < l->nranges; i++)
		printf("%s %" PRIu64 "-%" PRIu64, i > 0 ? "," : "", l->ranges[i].off,
		    range_end(l->ranges[i]) - 1);
	printf("\n");
}

static void
print_state(const struct totals *t)
{
	char what[128];

	if (ext_is_delta(&t->first))
		printf("  a delta of %s; %" PRIu64 " sectors of that are free now\n",
		    ext_state_text(&t->first.base, what, sizeof what), t->freed);
	if (t->first.state.kind != EXT_STATE_NONE)
		printf("  installs what %s does\n",
		    ext_state_text(&t->first.state, what, sizeof what));
}

static void
print_totals(const struct totals *t, const char *name)
{
	uint64_t file_bytes = (uint64_t)t->chunks * NDZ_CHUNK_BYTES;
	char a[32], b[32], when[32];

	printf("%s: version %u, %s, %u chunks, sectors 0-%" PRIu64 "\n", name,
	    t->version, t->codec->name, t->chunks, t->sectors - 1);
	printf("  %s of data in %s (%.2fx), %" PRIu64 " regions, %" PRIu64
	       " relocations, %.1f %% of "
	       "the file is padding and headers\n",
	    cli_human_bytes(t->raw_bytes, a, sizeof a),
	    cli_human_bytes(t->stream_bytes, b, sizeof b),
	    (double)t->raw_bytes / (double)t->stream_bytes, t->regions, t->relocs,
	    100.0 * (double)(file_bytes - t->stream_bytes) / (double)file_bytes);
	print_lost(&t->lost);
	if (!t->first.present)
		return;
	printf("  %" PRIu64 " fragments; uuid ", t->fragments);
	for (int i = 0; i < NDZ_UUID_BYTES; i++)
		printf("%02x", t->first.uuid[i]);
	printf("\n");
	print_state(t);
	if (!t->first.has_image)
		return;
	const struct ext_image *i = &t->first.image;
	time_t made = (time_t)i->made_at;
	struct tm tm;
	if (gmtime_r(&made, &tm) == NULL ||
	    strftime(when, sizeof when, "%F %T UTC", &tm) == 0)
		strcpy(when, "?");
	printf("  a %s of %s, sectors of %u bytes, made by %s on %s\n",
	    kind_name(i->kind), cli_human_bytes(i->source_bytes, a, sizeof a),
	    i->sector_bytes, i->tool, when);
	if (i->filesystems[0] != '\0')
		printf("  filesystems: %s\n", i->filesystems);
}

static void
json_state(struct json *j, const struct totals *t)
{
	char what[128];

	json_bool(j, "delta", ext_is_delta(&t->first));
	if (ext_is_delta(&t->first)) {
		json_string(
		    j, "base", ext_state_text(&t->first.base, what, sizeof what));
		json_uint(j, "freed_sectors", t->freed);
	}
	if (t->first.state.kind != EXT_STATE_NONE)
		json_string(
		    j, "state", ext_state_text(&t->first.state, what, sizeof what));
}

static void
json_totals(struct json *j, const struct totals *t)
{
	json_uint(j, "version", t->version);
	json_string(j, "codec", t->codec->name);
	json_uint(j, "chunks", t->chunks);
	json_uint(j, "sectors", t->sectors);
	json_uint(j, "regions", t->regions);
	json_uint(j, "relocations", t->relocs);
	json_uint(j, "fragments", t->fragments);
	json_uint(j, "stream_bytes", t->stream_bytes);
	json_uint(j, "data_bytes", t->raw_bytes);
	lost_json(&t->lost, j);
	if (t->first.has_uuid)
		json_hex(j, "uuid", t->first.uuid, NDZ_UUID_BYTES);
	json_state(j, t);
	if (!t->first.has_image)
		return;
	const struct ext_image *i = &t->first.image;
	json_string(j, "kind", kind_name(i->kind));
	json_uint(j, "source_bytes", i->source_bytes);
	json_uint(j, "sector_bytes", i->sector_bytes);
	json_uint(j, "made_at", i->made_at);
	json_string(j, "tool", i->tool);
	json_string(j, "filesystems", i->filesystems);
}

/* --verify: chunks are read in order and checked by several threads. */
struct item {
	uint32_t number;
	uint8_t bytes[NDZ_CHUNK_BYTES];
};

static int
verify_stage(void *arg, struct err *e)
{
	struct ordered *work = arg;
	struct decoder *dec = decoder_new();
	void *p;
	size_t ticket;
	int rc = 0;

	if (dec == NULL)
		return err_nomem(e, "a decoder");
	while (rc == 0 && ordered_begin(work, &p, &ticket) == QUEUE_OK) {
		struct item *it = p;
		struct chunk c;
		rc = chunk_parse(&c, it->bytes, e);
		if (rc == 0) {
			rc = chunk_verify(&c, it->bytes, dec, e);
			chunk_free(&c);
		}
		if (rc != 0)
			err_ctx(e, "chunk %u", it->number);
		ordered_done(work, ticket);
	}
	decoder_free(dec);
	return rc;
}

static int
free_stage(void *arg, struct err *e)
{
	void *p;

	(void)e;
	while (ordered_take(arg, &p) == QUEUE_OK)
		free(p);
	return 0;
}

/* Give a chunk to the threads; it is theirs then. */
static int
submit(struct ordered *work, uint32_t number, const void *bytes, struct err *e)
{
	struct item *it = malloc(sizeof *it);

	if (it == NULL)
		return err_nomem(e, "a chunk");
	it->number = number;
	memcpy(it->bytes, bytes, sizeof it->bytes);
	if (ordered_submit(work, it) == QUEUE_OK)
		return 0;
	free(it);
	return err_set(e, ERR_CANCELLED, "cancelled");
}

static int
read_all(const struct opts *o, struct image *img, struct totals *t, struct json *j,
    struct ordered *work, struct err *e)
{
	static uint8_t buf[NDZ_CHUNK_BYTES];
	int rc;

	while ((rc = image_next(img, buf, NULL, e)) == 1) {
		struct chunk c;
		if (chunk_parse(&c, buf, e) != 0)
			return -1;
		rc = work != NULL ? check_tiling(t, &c, e) : 0;
		if (rc != 0) {
			chunk_free(&c);
			return err_ctx(e, "%s", image_name(img));
		}
		print_oddities(o, image_name(img), t, &c.h);
		if (j != NULL && o->detail > 0)
			json_chunk(j, &c, o->detail);
		else if (j == NULL && !o->quiet && o->detail > 0)
			print_chunk(&c, t->chunks, o->detail);
		add_chunk(t, &c);
		chunk_free(&c);
		if (work != NULL && submit(work, t->chunks - 1, buf, e) != 0)
			return -1;
	}
	return rc;
}

static int
read_and_verify(const struct opts *o, struct image *img, struct totals *t,
    struct json *j, struct err *e)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t n = o->jobs != 0 ? o->jobs : cpus > 0 ? (uint64_t)cpus : 1;
	struct ordered *work = ordered_new(n + 2);
	struct pipeline *pipe = pipeline_new();
	struct err first;
	void *left;
	int rc = 0;

	if (work == NULL || pipe == NULL) {
		ordered_free(work);
		pipeline_free(pipe);
		return err_nomem(e, "threads");
	}
	pipeline_attach_ordered(pipe, work);
	pipeline_start(pipe, free_stage, work);
	for (uint64_t i = 0; i < n; i++)
		pipeline_start(pipe, verify_stage, work);
	rc = read_all(o, img, t, j, work, e);
	ordered_close(work);
	if (pipeline_join(pipe, &first) != 0) {
		*e = first;
		rc = err_ctx(e, "%s", image_name(img));
	}
	while (ordered_drain(work, &left))
		free(left);
	ordered_free(work);
	pipeline_free(pipe);
	return rc;
}

static const char *
signature_state(const struct opts *o, const struct totals *t)
{
	if (o->proof_files.verify_key != NULL)
		return "good"; /* or no chunk had come so far */
	return t->signed_chunks == 0           ? "none"
	       : t->signed_chunks == t->chunks ? "unchecked"
	                                       : "partial";
}

/* --verify: one line. */
static void
print_verdict(const struct opts *o, const struct totals *t)
{
	const char *key = proof_key_name(o->proof);
	bool whole = t->tiled && t->first.present;

	printf("  verified: %s: every chunk is whole, %s; ",
	    ext_is_delta(&t->first) ? "can be restored onto its base"
				    : "can be restored",
	    whole ? "every sector covered once, the last chunk there"
		  : "but the format does not tell whether all are there");
	if (key[0] != '\0')
		printf("signed with key %s", key);
	else
		printf("%s", t->signed_chunks == 0 ? "not signed"
			     : t->signed_chunks == t->chunks
				 ? "signed, which --verify-key checks"
				 : "signed only in part");
	printf("%s\n", o->proof_files.decrypt != NULL ? "; encrypted" : "");
}

static int
dump(const struct opts *o, const char *path, struct json *j, struct err *e)
{
	struct totals t = { 0 };
	struct image *img;

	if (image_open_proved(&img, path, o->proof, e) != 0)
		return -1;
	if (j != NULL) {
		json_object(j, NULL);
		json_string(j, "image", path);
		if (o->detail > 0)
			json_array(j, "chunk_list");
	}
	int rc = o->verify ? read_and_verify(o, img, &t, j, e)
	                   : read_all(o, img, &t, j, NULL, e);
	if (j != NULL && o->detail > 0)
		json_end(j);
	if (rc == 0 && j != NULL) {
		json_totals(j, &t);
		json_bool(j, "verified", o->verify);
		json_bool(j, "encrypted", o->proof_files.decrypt != NULL);
		json_string(j, "signature", signature_state(o, &t));
	} else if (rc == 0 && !o->quiet) {
		print_totals(&t, path);
		if (o->verify)
			print_verdict(o, &t);
	}
	if (j != NULL)
		json_end(j);
	lost_free(&t.lost);
	image_close(img);
	return rc;
}

static int
dump_all(const struct opts *o, char **paths, int n)
{
	struct json *j = o->json ? json_new() : NULL;
	struct err e;
	int status = 0;

	if (j != NULL)
		json_array(j, NULL);
	for (int i = 0; i < n; i++)
		if (dump(o, paths[i], j, &e) != 0) {
			status = err_exit_status(&e) > status ? err_exit_status(&e)
			                                      : status;
			if (!o->quiet)
				fprintf(stderr, "imagedump: %s\n", e.text);
		}
	if (j != NULL) {
		json_end(j);
		if (status == 0 && json_print(j, stdout, &e) != 0)
			status = cli_fail(&prog, &e);
		json_free(j);
	}
	return status;
}

static int
act(void *opts, char **operands, int n, struct err *e)
{
	struct opts *o = opts;

	if (n == 0)
		return err_set(e, ERR_USAGE, "no image is named");
	if (proof_new(&o->proof, &o->proof_files, e) != 0)
		return -1;
	int status = dump_all(o, operands, n);
	proof_free(o->proof);
	return status;
}

int
main(int argc, char **argv)
{
	struct opts o = { 0 };

	return cli_main(&prog, argc, argv, &o, act);
}
