#include "imagezip/report.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/base/failure.h"
#include "common/disk/range_json.h"

void
report_warnings(const struct layout *l)
{
	if (l->warning[0] != '\0')
		fprintf(stderr, "imagezip: warning: %s\n", l->warning);
	if (l->reloc_warning[0] != '\0')
		fprintf(stderr, "imagezip: warning: %s\n", l->reloc_warning);
	for (unsigned i = 0; i < l->nparts; i++) {
		const struct layout_part *p = &l->parts[i];
		if (p->warning[0] == '\0')
			continue;
		if (p->number != 0)
			fprintf(stderr, "imagezip: warning: partition %u (%s): %s\n",
			    p->number, p->type, p->warning);
		else
			fprintf(stderr, "imagezip: warning: %s\n", p->warning);
	}
}

static int
json_layout(struct layout *l, uint64_t stored, struct err *e)
{
	struct json *j = json_new();

	if (j == NULL)
		return err_nomem(e, "the report");
	json_object(j, NULL);
	json_uint(j, "sectors", l->total);
	json_uint(j, "stored_sectors", stored);
	json_uint(j, "stored_ranges", rangeset_count(&l->store));
	json_uint(j, "estimated_image_bytes", l->image_bytes);
	json_array(j, "partitions");
	for (unsigned i = 0; i < l->nparts; i++) {
		const struct layout_part *p = &l->parts[i];
		json_object(j, NULL);
		json_uint(j, "number", p->number);
		json_uint(j, "start", p->sectors.off);
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
	json_end(j);
	return json_show(j, e);
}

int
report_layout(struct layout *l, const struct options *o, struct err *e)
{
	uint64_t stored = rangeset_total(&l->store);
	char size[32], used[32], skipped[32], image[32];

	if (o->json)
		return json_layout(l, stored, e);
	printf("%4s %12s %10s %10s %10s %10s  %-8s %s\n", "part", "start", "size",
	    "stored", "skipped", "image", "holds", "type");
	for (unsigned i = 0; i < l->nparts; i++) {
		const struct layout_part *p = &l->parts[i];
		printf("%4u %12" PRIu64 " %10s %10s %10s %10s  %-8s %s\n", p->number,
		    p->sectors.off,
		    cli_human_bytes(p->sectors.len * SECTOR_BYTES, size, sizeof size),
		    cli_human_bytes((p->sectors.len - p->skipped) * SECTOR_BYTES, used,
			sizeof used),
		    cli_human_bytes(p->skipped * SECTOR_BYTES, skipped, sizeof skipped),
		    cli_human_bytes(p->image_bytes, image, sizeof image), p->fs,
		    p->type);
	}
	printf("in all %s of %s in %zu ranges, an image of perhaps %s\n",
	    cli_human_bytes(stored * SECTOR_BYTES, used, sizeof used),
	    cli_human_bytes(l->total * SECTOR_BYTES, size, sizeof size),
	    rangeset_count(&l->store),
	    cli_human_bytes(l->image_bytes, skipped, sizeof skipped));
	if (o->debug)
		for (size_t i = 0; i < rangeset_count(&l->store); i++) {
			struct range r = rangeset_get(&l->store, i);
			printf("  %" PRIu64 "-%" PRIu64 "\n", r.off, range_end(r) - 1);
		}
	return 0;
}

static void
json_lost(struct json *j, struct rangeset *lost)
{
	uint64_t sectors = rangeset_total(lost);
	char sentence[100];

	json_uint(j, "lost_sectors", sectors);
	json_rangeset(j, "lost", lost);
	if (sectors == 0)
		return;
	snprintf(sentence, sizeof sentence,
	    "%" PRIu64 " sectors could not be read, and are stored as zeros", sectors);
	failure_put(j, sentence, "lost", EXIT_LOST_SECTORS);
}

int
report_summary(const struct options *o, struct capture_stats *s, const struct delta *x,
    double seconds, struct err *e)
{
	uint64_t image_bytes = (uint64_t)s->chunks * NDZ_CHUNK_BYTES;
	char data[32], image[32], rate[32];

	if (o->json) {
		struct json *j = json_new();
		if (j == NULL)
			return err_nomem(e, "the summary");
		json_object(j, NULL);
		json_uint(j, "sectors", s->total_sectors);
		json_uint(j, "data_bytes", s->data_bytes);
		json_uint(j, "image_bytes", image_bytes);
		json_uint(j, "chunks", s->chunks);
		json_string(j, "codec", o->codec.codec->name);
		json_bool(j, "delta", x->on);
		if (o->sig_old != NULL) {
			json_uint(j, "full_data_bytes", x->full_sectors * SECTOR_BYTES);
			json_uint(
			    j, "changed_data_bytes", x->changed_sectors * SECTOR_BYTES);
		}
		json_double(j, "seconds", seconds);
		json_lost(j, &s->lost);
		json_end(j);
		return json_show(j, e);
	}
	if (!o->quiet && o->sig_old != NULL)
		fprintf(stderr, "imagezip: %s of %s differ from the signature: %s\n",
		    cli_human_bytes(
			x->changed_sectors * SECTOR_BYTES, data, sizeof data),
		    cli_human_bytes(
			x->full_sectors * SECTOR_BYTES, image, sizeof image),
		    x->on ? "a delta" : "too much for -P, a full image");
	if (!o->quiet)
		fprintf(stderr,
		    "imagezip: %s of data in an image of %s, %.1f s (%s/s)\n",
		    cli_human_bytes(s->data_bytes, data, sizeof data),
		    cli_human_bytes(image_bytes, image, sizeof image), seconds,
		    cli_human_bytes(
			(uint64_t)((double)s->data_bytes / (seconds > 0 ? seconds : 1)),
			rate, sizeof rate));
	return 0;
}

void
report_lost(const struct options *o, struct capture_stats *s)
{
	for (size_t i = 0; i < rangeset_count(&s->lost); i++) {
		struct range r = rangeset_get(&s->lost, i);
		fprintf(stderr,
		    "imagezip: %s: lost sectors %" PRIu64 "-%" PRIu64
		    ", stored as zeros\n",
		    o->source, r.off, range_end(r) - 1);
	}
}
