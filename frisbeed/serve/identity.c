/* identity.c: the identity of the image that is served (identity.h).  session.c makes it before
 * the session's threads begin.  Loops of streams call identity_look() once a second and
 * identity_changed() in each turn; readers call identity_holds() for each run of blocks. */
#include "frisbeed/serve/identity.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/cancel.h"
#include "common/base/log.h"
#include "common/base/random_bytes.h"
#include "common/base/sha256.h"
#include "common/base/wr.h"
#include "common/image/read/chunk.h"
#include "common/image/read/image.h"
#include "frisbeed/serve/retry_read.h"

enum { SAMPLES = 16 };

struct identity {
	struct source *source;
	const struct disk *file; /* NULL when fixed */
	uint8_t bytes[WIREXT_IDENTITY_BYTES];
	bool fixed; /* the image never changes */
	uint64_t size;
	uint32_t nchunks, nsamples;
	uint8_t sample[SAMPLES][SHA256_BYTES];
	struct image_identity image; /* .known: chunks can be proved by it */

	pthread_mutex_t lock; /* of all that follows */
	pthread_cond_t touched;
	pthread_t thread;
	bool started, stop, changed;
	struct timespec mtime;
	unsigned looks;  /* times that the file was found touched */
	uint32_t to_do;  /* chunks that were not looked at since the last time */
	uint8_t *good;   /* by chunk: it was looked at, and is the same; NULL: never touched */
};

/* The number of the chunk that is sample i. */
static uint32_t
sampled(const struct identity *d, uint32_t i)
{
	return d->nsamples < 2 ? 0
	                       : (uint32_t)((uint64_t)i * (d->nchunks - 1) /
					    (d->nsamples - 1));
}

/* The number of a chunk among the samples, or nsamples when it is none of them. */
static uint32_t
sample_of(const struct identity *d, uint32_t chunk)
{
	uint32_t i = 0;

	while (i < d->nsamples && sampled(d, i) != chunk)
		i++;
	return i;
}

/* Reads a chunk and sets *n to its bytes, which are fewer only at the end of a file that is no
 * image. */
static int
read_chunk(const struct identity *d, uint32_t chunk, uint8_t *to, size_t *n,
    struct err *e)
{
	uint64_t at = (uint64_t)chunk * NDZ_CHUNK_BYTES, left = d->size - at;

	*n = left < NDZ_CHUNK_BYTES ? (size_t)left : NDZ_CHUNK_BYTES;
	return retry_read(d->source, chunk, 0, (uint32_t)((*n - 1) / SOURCE_BLOCK_BYTES + 1),
	    to, e);
}

/* Notes what all chunks of the image have in common, where the first chunk tells it. */
static void
note_image(struct identity *d, const uint8_t *first)
{
	struct chunk c;
	struct err ignored; /* above all, an encrypted chunk cannot be parsed */

	if (chunk_parse(&c, first, &ignored) != 0)
		return;
	if (image_identity_check(&d->image, &c.h, &c.ext, &ignored) != 0)
		d->image.known = false;
	chunk_free(&c);
}

static int
take_samples(struct identity *d, bool is_image, struct err *e)
{
	uint8_t text[8 + SAMPLES * SHA256_BYTES], digest[SHA256_BYTES];
	struct wr w = wr_to(text, sizeof text);
	uint8_t *bytes = malloc(NDZ_CHUNK_BYTES);
	int rc = bytes != NULL ? 0 : err_nomem(e, "the image's identity");
	size_t n;

	wr_le64(&w, d->size);
	for (uint32_t i = 0; i < d->nsamples && rc == 0; i++) {
		rc = read_chunk(d, sampled(d, i), bytes, &n, e);
		if (rc != 0)
			break;
		if (i == 0 && is_image)
			note_image(d, bytes);
		sha256(bytes, n, d->sample[i]);
		wr_bytes(&w, d->sample[i], SHA256_BYTES);
	}
	sha256(text, wr_len(&w), digest);
	memcpy(d->bytes, digest, sizeof d->bytes);
	free(bytes);
	return rc;
}

static int
look(const struct identity *d, struct stat *st, struct err *e)
{
	return fstat(disk_fd(d->file), st) == 0 ? 0
	                                        : err_os(e, "%s", source_name(d->source));
}

int
identity_new(struct identity **out, struct source *source, const struct disk *file,
    bool is_image, struct err *e)
{
	struct source_info info;
	struct identity *d;
	struct stat st;

	if (source_info(source, &info, e) != 0)
		return -1;
	d = calloc(1, sizeof *d);
	if (d == NULL)
		return err_nomem(e, "the image's identity");
	d->source = source;
	d->file = file;
	d->size = info.bytes;
	d->nchunks = info.chunks;
	d->nsamples = d->nchunks < SAMPLES ? d->nchunks : SAMPLES;
	d->fixed = info.has_identity || file == NULL;
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->touched, NULL);
	int rc = 0;
	if (info.has_identity) {
		memcpy(d->bytes, info.identity, sizeof d->bytes);
	} else if (d->fixed) {
		random_bytes(d->bytes, sizeof d->bytes);
	} else {
		rc = look(d, &st, e);
		if (rc == 0)
			rc = take_samples(d, is_image, e);
		d->mtime = st.st_mtim;
	}
	if (rc != 0) {
		identity_free(d);
		return -1;
	}
	*out = d;
	return 0;
}

void
identity_free(struct identity *d)
{
	if (d == NULL)
		return;
	pthread_mutex_lock(&d->lock);
	d->stop = true;
	pthread_cond_signal(&d->touched);
	pthread_mutex_unlock(&d->lock);
	if (d->started)
		pthread_join(d->thread, NULL);
	pthread_cond_destroy(&d->touched);
	pthread_mutex_destroy(&d->lock);
	free(d->good);
	free(d);
}

const uint8_t *
identity_bytes(const struct identity *d)
{
	return d->bytes;
}

/* Does the chunk belong to the image, as far as the image's own UUID, numbers and digests
 * tell? */
static bool
proves_itself(const struct identity *d, uint32_t number, const uint8_t *bytes)
{
	struct image_identity id = d->image;
	struct err ignored;
	struct chunk c;

	if (chunk_parse(&c, bytes, &ignored) != 0)
		return false;
	bool good = image_identity_check(&id, &c.h, &c.ext, &ignored) == 0 &&
	            (!c.ext.present || (uint32_t)c.h.index == number);
	struct decoder *dec = c.ext.has_digest ? NULL : decoder_new();
	if (good && c.ext.has_digest)
		good = chunk_check_digest(&c, bytes, &ignored) == 0;
	else if (good)
		good = dec != NULL &&
		       chunk_pieces(&c, bytes, dec, NULL, NULL, &ignored) == 0;
	decoder_free(dec);
	chunk_free(&c);
	return good;
}

/* Reads the chunk, and finds out whether it is the same as when the identity was made. */
static bool
is_same(const struct identity *d, uint32_t chunk)
{
	uint32_t i = sample_of(d, chunk);
	uint8_t digest[SHA256_BYTES], *bytes = malloc(NDZ_CHUNK_BYTES);
	struct err ignored;
	bool same = false;
	size_t n;

	if (bytes != NULL && read_chunk(d, chunk, bytes, &n, &ignored) == 0) {
		sha256(bytes, n, digest);
		same = i < d->nsamples
		           ? memcmp(digest, d->sample[i], sizeof digest) == 0
		           : proves_itself(d, chunk, bytes);
	}
	free(bytes);
	return same;
}

/* Looks at a chunk, unless that was already done since the file was last touched.  The caller
 * holds the lock, which is released meanwhile. */
static void
look_at(struct identity *d, uint32_t chunk)
{
	unsigned looks = d->looks;

	if (d->to_do == 0 || d->changed || d->good[chunk])
		return;
	pthread_mutex_unlock(&d->lock);
	bool same = is_same(d, chunk);
	pthread_mutex_lock(&d->lock);
	if (!same) {
		d->changed = true;
	} else if (looks == d->looks && !d->good[chunk]) {
		d->good[chunk] = true;
		if (--d->to_do == 0)
			log_info("the file was touched, but its content is the same "
				 "file=%s",
			    source_name(d->source));
	}
}

static void *
identity_main(void *arg)
{
	struct identity *d = arg;

	pthread_mutex_lock(&d->lock);
	while (!d->stop) {
		for (uint32_t i = 0; i < d->nchunks && !d->stop && !d->changed; i++)
			look_at(d, i);
		/* If the file was touched meanwhile, all chunks are looked at again. */
		if (!d->stop && (d->to_do == 0 || d->changed))
			pthread_cond_wait(&d->touched, &d->lock);
	}
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

/* Makes all chunks be looked at again.  The caller holds the lock. */
static void
begin(struct identity *d)
{
	bool provable = d->image.known || d->nchunks == d->nsamples;

	if (d->good == NULL)
		d->good = malloc(d->nchunks);
	if (d->good == NULL || !provable) {
		d->changed = true; /* nothing can show that it is the same */
		return;
	}
	memset(d->good, 0, d->nchunks);
	d->to_do = d->nchunks;
	d->looks++;
	pthread_cond_signal(&d->touched);
	if (!d->started)
		d->started = thread_start(&d->thread, identity_main, d) == 0;
	d->changed |= !d->started;
}

int
identity_look(struct identity *d, struct err *e)
{
	struct stat st;

	if (d->fixed)
		return 0;
	if (look(d, &st, e) != 0)
		return -1;
	pthread_mutex_lock(&d->lock);
	if (disk_kind(d->file) == DISK_FILE && (uint64_t)st.st_size != d->size)
		d->changed = true;
	else if (st.st_mtim.tv_sec != d->mtime.tv_sec ||
		 st.st_mtim.tv_nsec != d->mtime.tv_nsec)
		begin(d);
	d->mtime = st.st_mtim;
	pthread_mutex_unlock(&d->lock);
	return 0;
}

bool
identity_changed(struct identity *d)
{
	pthread_mutex_lock(&d->lock);
	bool changed = d->changed;
	pthread_mutex_unlock(&d->lock);
	return changed;
}

bool
identity_holds(struct identity *d, uint32_t chunk)
{
	pthread_mutex_lock(&d->lock);
	look_at(d, chunk);
	bool holds = !d->changed;
	pthread_mutex_unlock(&d->lock);
	return holds;
}

bool
identity_named(const struct identity *d)
{
	struct stat open, named;

	if (d->fixed)
		return true;
	return fstat(disk_fd(d->file), &open) == 0 &&
	       stat(disk_name(d->file), &named) == 0 && open.st_dev == named.st_dev &&
	       open.st_ino == named.st_ino;
}
