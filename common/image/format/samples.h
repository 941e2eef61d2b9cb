/* samples.h: what a delta says of the data of its base: record 11 of the extension
 * area.
 *
 * A sample is a range of sectors, the digest of what the base stores there, and the
 * digest of what stands there when the delta is installed; the two are the same where
 * the delta changes nothing.  An installer compares them with the disk before it
 * writes.  Digests are of the data as it is stored, before relocations; samples
 * therefore lie where no relocation does.
 */
#ifndef COMMON_IMAGE_FORMAT_SAMPLES_H
#define COMMON_IMAGE_FORMAT_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/rd.h"
#include "common/base/wr.h"
#include "common/disk/range.h"

enum {
	SAMPLE_DIGEST_BYTES = 16, /* the first ones of a longer digest */
	SAMPLE_SECTORS_MAX = 32768,
	SAMPLES_MAX = 16384,      /* of one chunk */
	SAMPLES_SPREAD_MAX = 256, /* of the whole disk, in chunk 0 */
	SAMPLES_HOT_MAX = 512, /* of what every use of a filesystem changes, in chunk 0 */
	/* As many of a delta that is written again, whoever made it: chunk 0 has room for
	 * these, and for the largest window with its samples. */
	SAMPLES_FIRST_MAX = 4096,
	/* A chunk shares one sample with what is before it, and one with what is behind it. */
	SAMPLES_SHARED_MAX = 2,
};

/* The numbers of the first two are those of signature files. */
enum sample_hash { SAMPLE_MD5 = 1, SAMPLE_SHA1 = 2, SAMPLE_SHA256 = 3 };

struct sample {
	struct range sectors; /* of the image; 1 to SAMPLE_SECTORS_MAX */
	uint8_t before[SAMPLE_DIGEST_BYTES], after[SAMPLE_DIGEST_BYTES];
};

struct samples {
	enum sample_hash hash;
	size_t n, cap;
	struct sample *v; /* owned; samples_free() */
};

void samples_free(struct samples *); /* leaves none */
/* Append a copy.  ERR_NOMEM. */
int samples_add(struct samples *, const struct sample *, struct err *);
/* Keep at most `most` samples, evenly spread over all of them. */
void samples_thin(struct samples *, size_t most);
/* The digest of data[bytes].  ERR_UNSUPPORTED: the hash is not available. */
int sample_digest(enum sample_hash, const void *data, size_t bytes,
    uint8_t digest[SAMPLE_DIGEST_BYTES], struct err *);
/* Does the delta leave the data of this sample as it is? */
bool sample_stays(const struct sample *);

/* Read the body of the record.  Returns 1 when samples were read, 0 when the record is of a
 * later version, which this program cannot read.  ERR_FORMAT: it is damaged.  ERR_NOMEM. */
int samples_get(struct samples *, struct rd *, struct err *);
/* Write the body of the record. */
void samples_put(const struct samples *, struct wr *);
/* How many bytes the body of n samples takes. */
size_t samples_bytes(size_t n);

#endif /* COMMON_IMAGE_FORMAT_SAMPLES_H */
