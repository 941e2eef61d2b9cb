/* rehearsal_report.c: prints what a rehearsal has found, as text or JSON. imageunzip and
 * frisbee call this in their first thread. When only chunk 0 of an image was available,
 * it is not known what the image stores. */
#include "imageunzip/install/rehearsal_report.h"

#include <inttypes.h>

#include "common/base/json.h"
#include "common/base/number.h"
#include "common/base/say.h"

static const char *
size_text(uint64_t sectors, char *buf, size_t cap)
{
	return human_bytes(sectors * SECTOR_BYTES, buf, cap);
}

/* What becomes of free space on the target. */
static const char *
free_space(const struct install_config *cfg, const struct rehearsal_found *f)
{
	if (f->kind == DISK_STREAM)
		return cfg->has_pattern ? "is filled with the pattern" : "becomes zeros";
	if (cfg->has_pattern)
		return "is filled with the pattern";
	if (f->fresh)
		return "is a hole";
	return cfg->zero      ? "is zeroed"
	       : cfg->discard ? "is discarded"
			      : "keeps its old bytes";
}

static void
print_part(const struct install_config *cfg, const struct rehearsal_found *f,
    const struct rehearsal_part *p)
{
	char size[32], stored[32], name[40] = "the disk";

	if (p->inside)
		snprintf(name, sizeof name, "  inside it");
	else if (p->number != 0)
		snprintf(name, sizeof name, "partition %u", p->number);
	say_text(stdout, "%s, sectors %" PRIu64 "-%" PRIu64 " (%s)", name, p->sectors.off,
	    range_end(p->sectors) - 1, size_text(p->sectors.len, size, sizeof size));
	if (!f->whole)
		say_text(stdout, "\n");
	else if (p->left_out && !f->fresh && f->kind != DISK_STREAM)
		say_text(stdout, ": the image stores nothing of it, so it %s\n",
		    cfg->zero_all ? "is zeroed" : "keeps all its bytes");
	else
		say_text(stdout, ": %s of data, free space %s\n",
		    size_text(p->stored, stored, sizeof stored), free_space(cfg, f));
}

static void
print_image(const struct rehearsal_found *f, const char *image)
{
	char a[32], b[32];

	say_text(stdout, "%s: %u chunks", image, f->chunks);
	if (f->whole)
		say_text(stdout, ", %s of data, needs %s", size_text(f->stored, a, sizeof a),
		    size_text(f->needed, b, sizeof b));
	if (f->image_bytes != 0)
		say_text(stdout, ", of %s", human_bytes(f->image_bytes, a, sizeof a));
	if (f->filesystems[0] != '\0')
		say_text(stdout, ", filesystems: %s", f->filesystems);
	say_text(stdout, "\n");
}

void
rehearsal_print(const struct rehearsal_found *f, const struct install_config *cfg,
    const char *image, const char *target)
{
	char text[32];

	say_text(stdout, "dry run: nothing was written\n");
	print_image(f, image);
	if (f->target_bytes != UINT64_MAX)
		say_text(stdout, "%s: has %s\n", target,
		    human_bytes(f->target_bytes, text, sizeof text));
	else
		say_text(stdout, "%s: %s\n", target,
		    f->replaces ? "the existing file is replaced by a new one"
		    : f->fresh  ? "a new file is made"
				: "the target receives every byte in order");
	if (!f->whole && f->target_bytes < f->image_bytes)
		say_text(stdout,
		    "the target is smaller than the source of the image: it is refused "
		    "if the image stores anything behind the end of the target\n");
	if (!f->table)
		say_text(stdout, "the partition table %s\n",
		    f->whole ? "cannot be read" : "is not known from chunk 0 alone");
	for (size_t i = 0; i < f->nparts; i++)
		print_part(cfg, f, &f->parts[i]);
	if (f->outside > 0)
		say_text(stdout, "outside of these: %s of data\n",
		    size_text(f->outside, text, sizeof text));
}

static void
put_parts(struct json *j, const struct rehearsal_found *f)
{
	json_array(j, "partitions");
	for (size_t i = 0; i < f->nparts; i++) {
		const struct rehearsal_part *p = &f->parts[i];
		json_object(j, NULL);
		json_uint(j, "number", p->number);
		json_bool(j, "in_disklabel", p->inside);
		json_uint(j, "first_sector", p->sectors.off);
		json_uint(j, "sectors", p->sectors.len);
		if (f->whole) {
			json_uint(j, "bytes_stored", p->stored * SECTOR_BYTES);
			json_bool(j, "left_out", p->left_out);
		}
		json_end(j);
	}
	json_end(j);
}

int
rehearsal_json(const struct rehearsal_found *f, FILE *to, struct err *e)
{
	struct json *j = json_new();

	json_object(j, NULL);
	json_bool(j, "dry_run", true);
	json_uint(j, "chunks", f->chunks);
	if (f->image_bytes != 0)
		json_uint(j, "image_bytes", f->image_bytes);
	if (f->filesystems[0] != '\0')
		json_string(j, "filesystems", f->filesystems);
	if (f->target_bytes != UINT64_MAX)
		json_uint(j, "target_bytes", f->target_bytes);
	json_bool(j, "new_file", f->fresh);
	json_bool(j, "table_known", f->table);
	put_parts(j, f);
	if (f->whole) {
		json_uint(j, "bytes_stored", f->stored * SECTOR_BYTES);
		json_uint(j, "bytes_needed", f->needed * SECTOR_BYTES);
		json_uint(j, "bytes_stored_outside", f->outside * SECTOR_BYTES);
		json_uint(j, "stale_signatures", f->stale);
	}
	json_end(j);
	return json_show_on(j, to, e);
}
