/* sig.h: signature files: what the stored sectors of an image hash to, block by
 * block, so that a disk can be compared with it without the image.
 *
 *	0	u8[8] ".ndzsig\0"
 *	8	u32 version: 0x20140618 (2), or 0x20031107 (1: blocks of 64 KiB)
 *	12	u32 hash: 1 MD5, 2 SHA-1
 *	16	u32 number of records
 *	20	u32 sectors of a block (version 1: 0)
 *	24	8 zeros
 *	32	records of 32 bytes: u32 start, u32 count (sectors, from the image's
 *		sector 0), u32 chunk (bit 31: the data goes on in the next one),
 *		u8 hash[20] (MD5: 16, and zeros)
 *
 * Blocks begin at multiples of their size; a record describes sectors of one block that are
 * stored in a row.  Source: the image format specification, section 11.
 */
#ifndef COMMON_IMAGE_FORMAT_SIG_H
#define COMMON_IMAGE_FORMAT_SIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/range.h"
#include "common/disk/rangeset.h"
#include "common/image/format/ext.h"

enum sig_hash { SIG_MD5 = 1, SIG_SHA1 = 2 };

enum {
	SIG_MAGIC_BYTES = 8,
	SIG_HASH_MAX = 20,
	SIG_HEADER_BYTES = 32,
	SIG_RECORD_BYTES = 32,
	SIG_BLOCK_SECTORS = 128, /* the default, and version 1's only one */
	SIG_BLOCK_MAX = 1 << 21, /* sectors: a gigabyte */
	SIG_VERSION = 2,
};

struct sig_record {
	uint32_t start, count; /* sectors */
	uint32_t chunk;        /* where its data begins; 0 when not in the image */
	bool continues;        /* its data goes on in the next chunk */
	uint8_t hash[SIG_HASH_MAX];
};

struct sig {
	unsigned version; /* 1, 2 */
	enum sig_hash hash;
	uint32_t block_sectors;
	size_t n, cap;
	struct sig_record *records; /* owned; ascending, apart; sig_free() */
};

/* How many sectors a signature can describe: those whose number is a u32. */
#define SIG_SECTORS_MAX (UINT64_C(1) << 32)

/* The name of a hash, "sha1" or "md5", and how many bytes of a record's hash it uses. */
const char *sig_hash_name(enum sig_hash);
size_t sig_hash_bytes(enum sig_hash);

/* Decode a whole file.  ERR_FORMAT: not a signature, cut short, longer than it
 * says, records that descend, overlap or leave their block.  ERR_UNSUPPORTED:
 * another version or hash. */
int sig_get(struct sig *, const void *bytes, size_t len, struct err *);
/* Encode into buf[sig_bytes()]. */
size_t sig_bytes(const struct sig *);
void sig_put(const struct sig *, void *buf);
void sig_free(struct sig *);

/* Is `head` the beginning of a signature file? */
bool sig_begins(const uint8_t head[SIG_MAGIC_BYTES]);
/* Does this file begin as a signature does?  1, 0, or -1 when it cannot be read. */
int sig_is_file(const char *path, struct err *);
/* Read and decode a file.  Errors as sig_get(); ERR_UNSUPPORTED: it is not a regular file. */
int sig_read(struct sig *, const char *path, struct err *);
/* Write a file, which gets its name when it is complete.  Where `image` is not NULL, the
 * file gets the time of the image, by which other tools tell that the two belong together.
 * ERR_REFUSED without `force` when the name is that of a file that is no signature. */
int sig_write(const struct sig *, const char *path, const char *image, bool force,
    struct err *);

/* Append a record.  ERR_NOMEM. */
int sig_add(struct sig *, const struct sig_record *, struct err *);
/* The record that begins at exactly this sector, or NULL. */
struct sig_record *sig_find(const struct sig *, uint32_t start);
/* Add all sectors that the signature has records of to the set, which is left open.
 * ERR_NOMEM. */
int sig_sectors(const struct sig *, struct rangeset *, struct err *);
/* Have both the same sectors and hashes?  Chunk numbers are not compared: they only inform people, and an
 * image that was written again has other ones.  False: *sector is the first one that differs, or that
 * one of them alone has. */
bool sig_is_same(const struct sig *, const struct sig *, uint32_t *sector);
/* The state that the signature stands for, whatever the chunks were: SHA-256 of its records
 * without their chunk numbers. */
void sig_state(const struct sig *, struct ext_state *);

#endif /* COMMON_IMAGE_FORMAT_SIG_H */
