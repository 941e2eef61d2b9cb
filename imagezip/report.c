/* report.c: what imagezip prints: warnings, the layout, lost sectors, the summary.  main.c
 * calls this in the first thread. */
#include "imagezip/report.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/base/number.h"
#include "common/base/say.h"
#include "common/cli/failure.h"
#include "common/disk/range_json.h"
#include "emustore/store/stored.h"
#include "imagezip/into_store.h"

/* Say what was seen outside of partitions. */
static void
report_strays(const struct strays *s)
{
	if (s->found[0] != '\0')
		say_text(stderr,
		    "imagezip: warning: outside of partitions, this was recognised, and "
		    "%s: %s\n",
		    s->kept > 0 ? "is stored" : "is left out", s->found);
	if (s->sampled_data > 0)
		say_text(stderr,
		    "imagezip: warning: data lies outside of partitions, and is left "
		    "out: of %" PRIu64 " blocks of 4 KiB, one in each 64 MiB, %" PRIu64
		    " are not zero, the first of them at sector %" PRIu64
		    "; this was a sample (--outside=store and --gaps=store store "
		    "everything, -R a partition)\n",
		    s->sampled, s->sampled_data, s->first_data);
}

/* Say what of the space outside of partitions is in the image, and what is not. */
static void
report_outside(const struct outside *o)
{
	char size[32], text[300];

	if (o->tail.n > 0)
		say_text(stderr,
		    "imagezip: these parts of the disk's tail, behind all partitions, "
		    "are stored: %s\n",
		    tail_text(&o->tail, o->stored, text, sizeof text));
	if (o->left_out > 0)
		say_text(stderr,
		    "imagezip: warning: these parts of the disk's tail, behind all "
		    "partitions, are left out: %s\n",
		    o->left_text);
	if (o->unreadable > 0)
		say_text(stderr,
		    "imagezip: warning: %s of the disk's tail, behind all partitions, "
		    "cannot be read and is left out\n",
		    human_bytes(o->unreadable * SECTOR_BYTES, size, sizeof size));
	report_strays(&o->strays);
	if (o->not_looked_at > 0)
		say_text(stderr,
		    "imagezip: %s outside of partitions was not examined and is left "
		    "out (--outside=store and --gaps=store store it)\n",
		    human_bytes(o->not_looked_at * SECTOR_BYTES, size, sizeof size));
}

void
report_warnings(const struct layout *l)
{
	if (l->in_use[0] != '\0')
		say_text(stderr, "imagezip: warning: %s: the image may be damaged\n",
		    l->in_use);
	if (l->warning[0] != '\0')
		say_text(stderr, "imagezip: warning: %s\n", l->warning);
	if (l->reloc_warning[0] != '\0')
		say_text(stderr, "imagezip: warning: %s\n", l->reloc_warning);
	for (unsigned i = 0; i < l->nparts; i++) {
		const struct layout_part *p = &l->parts[i];
		if (p->warning[0] == '\0')
			continue;
		if (p->number != 0)
			say_text(stderr, "imagezip: warning: partition %u (%s): %s\n",
			    p->number, p->type, p->warning);
		else
			say_text(stderr, "imagezip: warning: %s\n", p->warning);
	}
	report_outside(&l->outside);
}

void
report_confinement(const struct layout *l)
{
	for (unsigned i = 0; i < l->nparts; i++) {
		const struct layout_part *p = &l->parts[i];
		if (p->confinement[0] == '\0')
			continue;
		if (p->number != 0)
			say_text(stderr, "imagezip: partition %u (%s) %s\n", p->number, p->fs,
			    p->confinement);
		else
			say_text(stderr, "imagezip: the source (%s) %s\n", p->fs,
			    p->confinement);
	}
}

static void
json_outside(struct json *j, const struct outside *o)
{
	json_array(j, "tail");
	for (size_t i = 0; i < o->tail.n; i++) {
		json_object(j, NULL);
		json_uint(j, "first_sector", o->tail.pieces[i].sectors.off);
		json_uint(j, "sectors", o->tail.pieces[i].sectors.len);
		json_uint(j, "stored_sectors", o->stored[i]);
		json_string(j, "holds", tail_kind_name(o->tail.pieces[i].kind));
		json_end(j);
	}
	json_end(j);
	json_uint(j, "outside_left_out_sectors", o->left_out);
	json_string(j, "outside_left_out", o->left_text);
	json_uint(j, "outside_unreadable_sectors", o->unreadable);
	json_uint(j, "outside_unexamined_sectors", o->not_looked_at);
	json_string(j, "outside_recognised", o->strays.found);
	json_uint(j, "outside_recognised_sectors", o->strays.kept);
	json_uint(j, "outside_sampled_blocks", o->strays.sampled);
	json_uint(j, "outside_sampled_data_blocks", o->strays.sampled_data);
}

static void
json_use(struct json *j, const struct layout *l)
{
	json_bool(j, "live", l->in_use[0] != '\0');
	if (l->in_use[0] != '\0')
		json_string(j, "in_use", l->in_use);
}

static void
json_cut_off(struct json *j, const struct shrink_result *r)
{
	char what[300];

	json_array(j, "cut_off");
	for (size_t i = 0; i < r->disks.n; i++)
		json_string(j, NULL, tail_kind_name(r->disks.owned[i].kind));
	if (r->disks.unknown.len > 0)
		json_string(j, NULL, behind_unknown_text(&r->disks, what, sizeof what));
	for (unsigned i = 0; i < r->nparts; i++) {
		const struct shrink_part *p = &r->parts[i];
		if (p->behind.unknown.len > 0)
			json_string(
			    j, NULL, behind_unknown_text(&p->behind, what, sizeof what));
		if (p->gap_left_out && p->before.unknown.len > 0)
			json_string(
			    j, NULL, behind_unknown_text(&p->before, what, sizeof what));
	}
	json_end(j);
}

static void
json_shrunk_part(struct json *j, const struct shrink_part *p)
{
	json_object(j, NULL);
	json_uint(j, "number", p->number);
	json_uint(j, "was_first_sector", p->was.off);
	json_uint(j, "was_sectors", p->was.len);
	json_uint(j, "first_sector", p->is.off);
	json_uint(j, "sectors", p->is.len);
	json_string(j, "filesystem", p->fs.type);
	json_uint(j, "filesystem_was_bytes", p->fs.was_bytes);
	json_uint(j, "filesystem_is_bytes", p->fs.is_bytes);
	json_string(j, "left_alone", p->fs.left_alone);
	json_end(j);
}

static void
json_shrunk(struct json *j, const struct shrink_result *r)
{
	if (r == NULL)
		return;
	json_object(j, "shrunk");
	json_uint(j, "source_sectors", r->was_sectors);
	json_array(j, "partitions");
	for (unsigned i = 0; i < r->nparts; i++)
		json_shrunk_part(j, &r->parts[i]);
	json_end(j);
	json_cut_off(j, r);
	json_end(j);
}

static int
json_layout(const struct layout *l, uint64_t stored, const struct shrink_result *shrunk,
    struct err *e)
{
	struct json *j = json_new();

	json_object(j, NULL);
	json_uint(j, "sectors", l->total);
	json_uint(j, "stored_sectors", stored);
	json_uint(j, "stored_ranges", rangeset_count(&l->store));
	json_uint(j, "estimated_image_bytes", l->image_bytes);
	json_use(j, l);
	json_array(j, "partitions");
	for (unsigned i = 0; i < l->nparts; i++) {
		const struct layout_part *p = &l->parts[i];
		json_object(j, NULL);
		json_uint(j, "number", p->number);
		json_uint(j, "first_sector", p->sectors.off);
		json_uint(j, "sectors", p->sectors.len);
		json_string(j, "type", p->type);
		json_string(j, "filesystem", p->fs);
		json_uint(j, "used_sectors", p->sectors.len - p->skipped);
		json_uint(j, "skipped_sectors", p->skipped);
		json_uint(j, "estimated_image_bytes", p->image_bytes);
		json_string(j, "warning", p->warning);
		json_end(j);
	}
	json_end(j);
	json_shrunk(j, shrunk);
	json_outside(j, &l->outside);
	json_end(j);
	return json_show(j, e);
}

/* Print the rows of the table for the disk's end. */
static void
print_tail(const struct outside *o)
{
	char size[32], stored[32];

	for (size_t i = 0; i < o->tail.n; i++) {
		const struct tail_piece *p = &o->tail.pieces[i];
		say_text(stdout, "%4s %12" PRIu64 " %10s %10s %10s %10s  %s\n", "end",
		    p->sectors.off,
		    human_bytes(p->sectors.len * SECTOR_BYTES, size, sizeof size),
		    human_bytes(o->stored[i] * SECTOR_BYTES, stored, sizeof stored),
		    "", "", tail_kind_name(p->kind));
	}
}

int
report_layout(const struct layout *l, const struct options *o,
    const struct shrink_result *shrunk, struct err *e)
{
	uint64_t stored = rangeset_total(&l->store);
	char size[32], used[32], skipped[32], image[32];

	if (o->json)
		return json_layout(l, stored, shrunk, e);
	say_text(stdout, "%4s %12s %10s %10s %10s %10s  %-8s %s\n", "part", "start", "size",
	    "stored", "skipped", "image", "holds", "type");
	for (unsigned i = 0; i < l->nparts; i++) {
		const struct layout_part *p = &l->parts[i];
		say_text(stdout, "%4u %12" PRIu64 " %10s %10s %10s %10s  %-8s %s\n",
		    p->number, p->sectors.off,
		    human_bytes(p->sectors.len * SECTOR_BYTES, size, sizeof size),
		    human_bytes((p->sectors.len - p->skipped) * SECTOR_BYTES, used,
			sizeof used),
		    human_bytes(p->skipped * SECTOR_BYTES, skipped, sizeof skipped),
		    human_bytes(p->image_bytes, image, sizeof image), p->fs,
		    p->type);
	}
	print_tail(&l->outside);
	say_text(stdout,
	    "in all, %s of %s would be stored, in %zu ranges; the image would have "
	    "about %s\n",
	    human_bytes(stored * SECTOR_BYTES, used, sizeof used),
	    human_bytes(l->total * SECTOR_BYTES, size, sizeof size),
	    rangeset_count(&l->store),
	    human_bytes(l->image_bytes, skipped, sizeof skipped));
	if (o->debug)
		for (size_t i = 0; i < rangeset_count(&l->store); i++) {
			struct range r = rangeset_get(&l->store, i);
			say_text(stdout, "  %" PRIu64 "-%" PRIu64 "\n", r.off,
			    range_end(r) - 1);
		}
	return 0;
}

static void
json_lost(struct json *j, const struct rangeset *lost)
{
	uint64_t sectors = rangeset_total(lost);
	char sentence[100];

	json_uint(j, "lost_sectors", sectors);
	json_rangeset(j, "lost_ranges", lost);
	if (sectors == 0)
		return;
	snprintf(sentence, sizeof sentence,
	    "%" PRIu64 " sectors could not be read, and are stored as zeros", sectors);
	failure_put(j, sentence, "lost", EXIT_LOST_SECTORS);
}

static void
json_stored(struct json *j, const struct stored_as *in)
{
	json_object(j, "store");
	json_string(j, "name", in->about->name.name);
	json_uint(j, "version", in->about->name.version);
	json_hex(j, "sha256", in->about->sha256, sizeof in->about->sha256);
	json_uint(j, "fragments", in->stats->fragments);
	json_uint(j, "new_fragments", in->stats->new_fragments);
	json_uint(j, "new_bytes", in->stats->new_bytes);
	json_uint(j, "known_data_bytes", in->stats->known_bytes);
	json_uint(j, "recipe_bytes", in->stats->recipe_bytes);
	json_end(j);
}

static void
say_stored(const struct stored_as *in)
{
	char known[32], kept[32];

	say_text(stderr,
	    "imagezip: %s: %s of data was in the store and was not compressed; %s is new in it\n",
	    stored_title(in->about).text,
	    human_bytes(in->stats->known_bytes, known, sizeof known),
	    human_bytes(in->stats->new_bytes + in->stats->recipe_bytes, kept, sizeof kept));
}

static void
say_cut_off(const struct options *o, const char *what, const char *where)
{
	say_text(stderr, "imagezip: warning: %s: %s %s\n", o->what.source, what, where);
}

/* Nothing is cut off without a word. */
static void
report_cut_off(const struct options *o, const struct shrink_result *r)
{
	char what[300], where[60];

	if (r->disks.n > 0)
		say_cut_off(o, behind_owned_text(&r->disks, what, sizeof what),
		    "behind the last partition is cut off");
	if (r->disks.unknown.len > 0)
		say_cut_off(o, behind_unknown_text(&r->disks, what, sizeof what),
		    "behind the last partition is cut off");
	for (unsigned i = 0; i < r->nparts; i++) {
		const struct shrink_part *p = &r->parts[i];
		snprintf(where, sizeof where,
		    p->number != 0 ? "behind the filesystem of partition %u is cut off"
		                   : "behind the filesystem is cut off",
		    p->number);
		if (p->behind.unknown.len > 0)
			say_cut_off(
			    o, behind_unknown_text(&p->behind, what, sizeof what), where);
		snprintf(where, sizeof where, "in front of partition %u is left out",
		    p->number);
		if (p->gap_left_out && p->before.unknown.len > 0)
			say_cut_off(
			    o, behind_unknown_text(&p->before, what, sizeof what), where);
	}
}

static void
report_shrunk_part(const struct options *o, const struct shrink_part *p)
{
	char was[32], is[32], part[32] = "";

	human_bytes(p->fs.was_bytes, was, sizeof was);
	human_bytes(p->fs.is_bytes, is, sizeof is);
	if (p->number != 0)
		snprintf(part, sizeof part, "partition %u: ", p->number);
	if (p->fs.left_alone[0] != '\0')
		say_text(stderr, "imagezip: %s: %sis not made smaller: %s\n", o->what.source,
		    part, p->fs.left_alone);
	else if (p->fs.is_bytes == p->fs.was_bytes)
		say_text(stderr,
		    "imagezip: %s: %s%s of %s is not made smaller: its files and what is "
		    "to stay free need that\n",
		    o->what.source, part, p->fs.type, was);
	else
		say_text(stderr, "imagezip: %s: %s%s is made smaller, from %s to %s\n",
		    o->what.source, part, p->fs.type, was, is);
	if (p->is.off != p->was.off)
		say_text(stderr,
		    "imagezip: %s: %sis moved from sector %" PRIu64 " to sector %" PRIu64
		    "\n",
		    o->what.source, part, p->was.off, p->is.off);
}

void
report_shrunk(const struct options *o, const struct shrink_result *r)
{
	char was[32], is[32];

	human_bytes(r->was_sectors * SECTOR_BYTES, was, sizeof was);
	human_bytes(r->is_sectors * SECTOR_BYTES, is, sizeof is);
	for (unsigned i = 0; i < r->nparts; i++)
		report_shrunk_part(o, &r->parts[i]);
	say_text(stderr, "imagezip: %s: the image is that of a disk of %s (the source has %s)\n",
	    o->what.source, is, was);
	report_cut_off(o, r);
}

int
imagezip_summary(const struct options *o, const struct layout *l,
    const struct capture_stats *s, const struct delta *x,
    const struct shrink_result *shrunk, const struct stored_as *in, double seconds,
    struct err *e)
{
	uint64_t image_bytes = (uint64_t)s->made.chunks * NDZ_CHUNK_BYTES;
	char data[32], image[32], rate[32];

	if (o->json) {
		struct json *j = json_new();
		json_object(j, NULL);
		json_uint(j, "sectors", s->total_sectors);
		json_uint(j, "data_bytes", s->made.data_bytes);
		json_uint(j, "image_bytes", image_bytes);
		json_uint(j, "chunks", s->made.chunks);
		json_string(j, "codec", o->what.how.codec.codec->name);
		json_bool(j, "delta", x->on);
		if (o->what.sig_old != NULL) {
			json_uint(j, "full_data_bytes", x->full_sectors * SECTOR_BYTES);
			json_uint(
			    j, "changed_data_bytes", x->changed_sectors * SECTOR_BYTES);
			json_uint(j, "compared_data_bytes", x->read_sectors * SECTOR_BYTES);
		}
		json_double(j, "seconds", seconds);
		json_shrunk(j, shrunk);
		if (in != NULL)
			json_stored(j, in);
		json_use(j, l);
		json_outside(j, &l->outside);
		json_lost(j, &s->lost);
		json_end(j);
		return json_show(j, e);
	}
	if (!o->quiet && o->what.sig_old != NULL)
		say_text(stderr, "imagezip: %s of %s differ from the signature: %s\n",
		    human_bytes(x->changed_sectors * SECTOR_BYTES, data, sizeof data),
		    human_bytes(x->full_sectors * SECTOR_BYTES, image, sizeof image),
		    x->on ? "a delta is made" : "more than -P allows, so a full image is made");
	if (!o->quiet)
		say_text(stderr, "imagezip: %s of data in an image of %s, %.1f s (%s/s)\n",
		    human_bytes(s->made.data_bytes, data, sizeof data),
		    human_bytes(image_bytes, image, sizeof image), seconds,
		    human_bytes(
			(uint64_t)((double)s->made.data_bytes / (seconds > 0 ? seconds : 1)),
			rate, sizeof rate));
	if (!o->quiet && in != NULL)
		say_stored(in);
	return 0;
}

void
report_lost(const struct options *o, const struct capture_stats *s)
{
	for (size_t i = 0; i < rangeset_count(&s->lost); i++) {
		struct range r = rangeset_get(&s->lost, i);
		say_text(stderr,
		    "imagezip: %s: lost sectors %" PRIu64 "-%" PRIu64
		    ", stored as zeros\n",
		    o->what.source, r.off, range_end(r) - 1);
	}
}
