/* transfer.c: the commands that put images into the store and get them out of it.
 * main.c calls them in the first thread. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/number.h"
#include "common/base/say.h"
#include "common/cli/ask.h"
#include "common/cli/failure.h"
#include "common/disk/output.h"
#include "common/image/format/kind.h"
#include "common/image/read/image.h"
#include "emustore/emustore.h"
#include "emustore/store/fetch.h"
#include "emustore/store/put.h"

enum { NAME_BYTES = 256 }; /* of a file */

void
tell_reserve(const struct options *o, const struct err *lacks)
{
	if (lacks->kind != ERR_NONE && !o->quiet)
		say_text(stderr,
		    "emustore: %s: has no reserve, so gc cannot free room once the disk is full, and "
		    "has to be run before: %s\n",
		    o->store, lacks->text);
}

int
command_init(const struct options *o, char **operands, int n, struct err *e)
{
	(void)operands, (void)n;
	struct err lacks;
	int rc = store_init(o->store, o->pack_bytes, o->grace, &lacks, e);
	if (rc == 0)
		tell_reserve(o, &lacks);
	return rc == 0 && o->json ? failure_none_show(e) : rc;
}

/* Fill in what the store must know of image NAME before its first chunk. */
static int
describe(struct recipe_image *a, const struct options *o, struct store *s,
    const char *name, struct err *e)
{
	struct store_name parent;
	struct index_image found;

	memset(a, 0, sizeof *a);
	a->put_at = (uint64_t)time(NULL);
	a->nlabels = o->nlabels;
	memcpy(a->labels, o->labels, sizeof a->labels);
	if (store_name_get(&a->name, name, e) != 0)
		return -1;
	if (o->parent == NULL)
		return 0;
	if (store_name_get(&parent, o->parent, e) != 0)
		return -1;
	int rc = store_find_image(s, &parent, &found, e);
	if (rc == 0)
		return err_set(
		    e, ERR_ABSENT, "%s: the parent is not in the store", o->parent);
	snprintf(a->parent, sizeof a->parent, "%s", stored_title(&found.about).text);
	return rc == 1 ? 0 : -1;
}

/* Pass each chunk of the image to the put. */
static int
put_chunks(struct put *p, struct image *img, struct progress *bar, struct err *e)
{
	int rc = 1;

	for (uint64_t n = 1; rc == 1; n++) {
		void *room = put_room(p, e);
		rc = room != NULL ? image_next(img, room, NULL, e) : -1;
		if (rc == 1 && put_chunk(p, e) != 0)
			rc = -1;
		if (rc == 1)
			progress_at(bar, n * NDZ_CHUNK_BYTES);
	}
	return rc;
}

static void
summary_json(struct json *j, const struct recipe_image *a, const struct put_stats *t,
    double seconds)
{
	json_object(j, NULL);
	json_image(j, a);
	json_uint(j, "fragments", t->fragments);
	json_uint(j, "new_fragments", t->new_fragments);
	json_uint(j, "new_bytes", t->new_bytes);
	json_uint(j, "same_data_fragments", t->same_data_fragments);
	json_uint(j, "known_data_bytes", t->known_bytes);
	json_uint(j, "recompressed_chunks", t->recompressed_chunks);
	json_uint(j, "unsplit_chunks", t->whole_chunks);
	json_uint(j, "encrypted_chunks", t->encrypted_chunks);
	json_uint(j, "damaged_packs", t->damaged_packs);
	json_uint(j, "recipe_bytes", t->recipe_bytes);
	json_double(j, "seconds", seconds);
	json_end(j);
}

/* Tell the user if the store keeps more than half of the image a second time. */
static void
tell_other_encoding(const struct recipe_image *a, const struct put_stats *t)
{
	if (t->same_data_fragments > t->fragments / 2)
		say_text(stderr,
		    "emustore: %s: the store has the data of %" PRIu64
		    " of its %" PRIu64
		    " fragments already, compressed by another codec or at another "
		    "level; it keeps them once more, since only fragments with the "
		    "same compressed bytes are shared; put --codec=CODEC would share "
		    "them, where the image need not come out byte for byte\n",
		    stored_title(a).text, t->same_data_fragments, t->fragments);
}

/* Tell the user if the store is damaged where this image did not need it to be whole. */
static void
tell_damaged(const struct recipe_image *a, const struct put_stats *t)
{
	if (t->damaged_packs > 0)
		say_text(stderr,
		    "emustore: %s: the store is damaged: packs that are missing or too short: "
		    "%" PRIu64 "; what this image needs of them was put again, but other images "
		    "may lack it (emustore verify, emustore repair)\n",
		    stored_title(a).text, t->damaged_packs);
}

/* Tell the user if the image was encoded again with another codec. */
static void
tell_recoded(const struct options *o, const struct recipe_image *a, const struct put_stats *t)
{
	char known[32];

	if (o->how.codec.codec != NULL)
		say_text(stderr,
		    "emustore: %s: was encoded again with %s, and will not come out byte "
		    "for byte; %s of its data was in the store in this codec already, "
		    "and is kept once\n",
		    stored_title(a).text, o->how.codec.codec->name,
		    human_bytes(t->known_bytes, known, sizeof known));
}

/* Add the summary to j, or print it if j is NULL. */
static void
summary(const struct options *o, const struct recipe_image *a,
    const struct put_stats *t, double seconds, struct json *j)
{
	char image[32], kept[32], rate[32];

	if (j != NULL)
		summary_json(j, a, t, seconds);
	if (j != NULL || o->quiet)
		return;
	say_text(stderr, "emustore: %s: %s of image, %s of it new, %.1f s (%s of data/s)\n",
	    stored_title(a).text,
	    human_bytes((uint64_t)a->chunks * NDZ_CHUNK_BYTES, image, sizeof image),
	    human_bytes(t->new_bytes + t->recipe_bytes, kept, sizeof kept), seconds,
	    human_bytes(
		(uint64_t)((double)a->data_bytes / (seconds > 0 ? seconds : 1)), rate,
		sizeof rate));
	tell_damaged(a, t);
	tell_other_encoding(a, t);
	tell_recoded(o, a, t);
}

/* Put the image's name in front of an error that names only a chunk.  The errors of
 * image_next() have the name already. */
static void
add_name(const struct image *img, struct err *e)
{
	if (strncmp(e->text, "chunk ", 6) == 0)
		err_ctx(e, "%s", image_name(img));
}

/* Put the chunks of the image as they are.  img NULL: encode the image in the file again,
 * and put the new chunks. */
static int
put_content(const struct options *o, struct put *p, const char *path, struct image *img,
    struct err *e)
{
	uint64_t chunks = img != NULL ? image_chunks(img) : UINT32_MAX;
	struct progress bar;

	progress_begin(&bar, "emustore",
	    chunks == UINT32_MAX ? 0 : chunks * NDZ_CHUNK_BYTES, -1, o->quiet);
	int rc = img != NULL ? put_chunks(p, img, &bar, e) : recode_image(o, p, path, e);
	progress_end(&bar, 0);
	return rc;
}

/* Put one image, in a transaction of its own.  img NULL: the image in the file is encoded
 * again. */
static int
put_image(const struct options *o, struct store *s, const char *name, const char *path,
    struct image *img, struct json *j, struct err *e)
{
	struct recipe_image *about = malloc(sizeof *about);
	struct put_stats stats = { 0 };
	struct put_config cfg = { .exact = o->exact, .jobs = o->jobs };
	struct put *p = NULL;
	uint64_t started = clock_us();

	if (about == NULL)
		return err_nomem(e, "an image");
	int rc = store_begin(s, e);
	if (rc == 0)
		rc = describe(about, o, s, name, e);
	if (rc == 0)
		rc = put_begin(&p, s, about, &cfg, e);
	if (rc == 0) {
		rc = put_content(o, p, path, img, e);
		if (rc == 0)
			rc = put_end(p, about, &stats, e);
		if (rc != 0 && e->kind != ERR_CANCELLED && img != NULL)
			add_name(img, e);
	}
	if (rc == 0)
		rc = store_commit(s, e);
	put_free(p);
	if (rc == 0)
		summary(o, about, &stats, (double)(clock_us() - started) / 1e6, j);
	free(about);
	return rc;
}

static int
put_file(const struct options *o, const char *name, const char *path, struct json *j,
    struct err *e)
{
	struct store_name checked; /* the name is checked before a pipe is read */
	struct store s;
	struct image *img = NULL;

	if (store_name_get(&checked, name, e) != 0)
		return -1;
	if (o->how.codec.codec == NULL) {
		if (image_open(&img, path, e) != 0)
			return -1;
		image_keep_encrypted(img);
	}
	int rc = emustore_open(&s, o, true, e);
	if (rc == 0) {
		rc = put_image(o, &s, name, path, img, j, e);
		store_close(&s);
	}
	image_close(img);
	return rc;
}

int
command_put(const struct options *o, char **operands, int n, struct err *e)
{
	struct json *j = o->json ? json_new() : NULL;

	(void)n;
	int rc = put_file(o, operands[0], operands[1], j, e);
	if (rc == 0)
		return json_show(j, e);
	json_free(j);
	return rc;
}

static int
is_image_name(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return n > 4 && strcmp(d->d_name + n - 4, ".ndz") == 0;
}

static void
name_of(const struct dirent *d, char out[NAME_BYTES])
{
	snprintf(out, NAME_BYTES, "%.*s", (int)strlen(d->d_name) - 4, d->d_name);
}

/* Check all names before the first image is put. */
static int
check_names(struct dirent **list, int n, struct err *e)
{
	struct store_name parsed;
	char name[NAME_BYTES];

	for (int i = 0; i < n; i++) {
		name_of(list[i], name);
		if (store_name_get(&parsed, name, e) != 0) {
			e->kind = ERR_FORMAT; /* the folder has it, and no operand */
			return -1;
		}
	}
	return 0;
}

/* Put the images one after the other, until one cannot be put. */
static int
put_each(const struct options *o, const char *folder, struct dirent **list, int count,
    struct json *j, struct err *e)
{
	char path[4096], name[NAME_BYTES];
	int rc = 0;

	for (int i = 0; i < count && rc == 0; i++) {
		snprintf(path, sizeof path, "%.3800s/%s", folder, list[i]->d_name);
		name_of(list[i], name);
		rc = put_file(o, name, path, j, e);
		if (rc != 0 && i > 0)
			err_ctx(e, "%d of %d images were put, not", i, count);
		if (rc != 0 && j != NULL) {
			json_object(j, NULL);
			json_string(j, "image", path);
			failure_put_err(j, e, err_exit_status(e));
			json_end(j);
			failure_told(e);
		}
	}
	return rc;
}

/* With --json, print the images that were put, and then the one that could not be put. */
static int
import(const struct options *o, const char *folder, struct dirent **list, int count,
    struct err *e)
{
	struct json *j = o->json ? json_new() : NULL;
	struct err printing;

	if (check_names(list, count, e) != 0) {
		json_free(j);
		return -1;
	}
	json_array(j, NULL);
	int rc = put_each(o, folder, list, count, j, e);
	json_end(j);
	if (json_show(j, &printing) != 0 && rc == 0) {
		*e = printing;
		rc = -1;
	}
	return rc;
}

int
command_import(const struct options *o, char **operands, int n, struct err *e)
{
	struct dirent **list;
	int count = scandir(operands[0], &list, is_image_name, alphasort);

	(void)n;
	if (count < 0)
		return err_os(e, "%s", operands[0]);
	int rc = count > 0 ? import(o, operands[0], list, count, e)
	                   : err_set(e, ERR_ABSENT, "%s: holds no file called *.ndz",
				 operands[0]);
	for (int i = 0; i < count; i++)
		free(list[i]);
	free(list);
	return rc;
}

struct sink {
	struct output out;
	struct progress bar;
};

static int
write_chunk(void *arg, const void *chunk, struct err *e)
{
	struct sink *s = arg;

	if (output_write(&s->out, chunk, NDZ_CHUNK_BYTES, e) != 0)
		return -1;
	progress_at(&s->bar, s->out.at);
	return cancel_check(e);
}

static void
tell_equivalents(const struct recipe_image *a, uint64_t n)
{
	if (n > 0)
		say_text(stderr,
		    "emustore: %s: %" PRIu64
		    " chunks have the data that was put, but in other compressed "
		    "bytes, because this zlib is not the one that made them\n",
		    stored_title(a).text, n);
}

static int
write_chunks(const struct options *o, struct reopened *r, uint32_t from, uint32_t to,
    struct sink *sink, struct err *e)
{
	uint64_t equivalents = 0;

	progress_begin(&sink->bar, "emustore", (uint64_t)(to - from) * NDZ_CHUNK_BYTES,
	    -1, o->quiet);
	int rc = fetch_chunks(&(struct fetch){ .image = r,
				  .from = from,
				  .to = to,
				  .jobs = o->jobs,
				  .fn = write_chunk,
				  .arg = sink },
	    &equivalents, e);
	progress_end(&sink->bar, 0);
	if (rc == 0)
		tell_equivalents(reopened_about(r), equivalents);
	return rc;
}

static int
get_to(const struct options *o, struct reopened *r, const char *path, struct err *e)
{
	uint32_t chunks = reopened_about(r)->chunks;
	uint32_t from = o->chunk != UINT64_MAX ? (uint32_t)o->chunk : 0;
	uint32_t to = o->chunk != UINT64_MAX ? from + 1 : chunks;
	struct sink sink;

	if (from >= chunks)
		return err_set(e, ERR_ABSENT, "%s has only %u chunks",
		    stored_title(reopened_about(r)).text, chunks);
	if (strcmp(path, "-") != 0 && store_holds(o->store, path))
		return err_set(
		    e, ERR_REFUSED, "%s: is a file of the store itself", path);
	/* What may not be replaced is not asked about. */
	if (output_check_replace(path, &kind_image, o->force, e) != 0 ||
	    ask_replace(path, o->force || strcmp(path, "-") == 0, e) != 0 ||
	    output_open(&sink.out, path, &kind_image, o->force, e) != 0)
		return -1;
	if (write_chunks(o, r, from, to, &sink, e) == 0)
		return output_commit(&sink.out, false, e);
	output_abort(&sink.out);
	return -1;
}

/* Print which image was fetched. */
static int
report_got(const struct recipe_image *about, FILE *to, struct err *e)
{
	struct json *j = json_new();

	json_object(j, NULL);
	json_image(j, about);
	json_end(j);
	return json_show_on(j, to, e);
}

int
command_get(const struct options *o, char **operands, int n, struct err *e)
{
	struct store_place place = place_of(o);
	struct reopened *r;

	(void)n;
	if (reopened_open(&r, &place, operands[0], REOPENED_PROVE, e) != 0)
		return -1;
	/* Standard output may be the file that is replaced, so this comes first. */
	FILE *report = output_report(operands[1]);
	int rc = get_to(o, r, operands[1], e);
	if (rc == 0 && o->json)
		rc = report_got(reopened_about(r), report, e);
	reopened_free(r);
	return rc;
}
