/* packs.h: the pack files of a store: found by number, read in place, appended to,
 * walked from one end to the other. */
#ifndef EMUSTORE_STORE_PACKS_H
#define EMUSTORE_STORE_PACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "emustore/store/record.h"

enum { PACK_NAME_MAX = 24 };

/* Readers.  Files once opened stay open, so that what they hold can be read even
 * after another process has replaced them. */
struct packs;

/* dir: for messages; dirfd stays the caller's. */
struct packs *packs_new(int dirfd, const char *dir); /* NULL: out of memory */
/* Packs that are no files of a folder. */
struct pack_source {
	void *(*hold)(void *ctx); /* as long as packs_free() was not called */
	void (*release)(void *ctx);
	int (*find)(void *ctx, uint32_t number, struct err *); /* ENOENT */
	uint64_t (*size)(void *ctx, uint32_t number);
	/* What is read was checked; fewer bytes only at the end. */
	ssize_t (*pread)(
	    void *ctx, uint32_t number, void *buf, size_t n, uint64_t at, struct err *);
	void (*name)(void *ctx, uint32_t number, char *out, size_t cap);
	void (*want)(void *ctx, uint32_t number, uint64_t at, size_t n);
};
struct packs *packs_new_from(const struct pack_source *, void *ctx, const char *dir);
bool packs_are_files(const struct packs *);
void packs_free(struct packs *);
/* A small number for that pack, which is open from now on; ERR_IO with ENOENT when
 * there is no such pack. */
int packs_slot(struct packs *, uint32_t number, uint32_t *slot, struct err *);
/* As preadv(); fewer bytes only at the end of the pack. */
ssize_t packs_readv(struct packs *, uint32_t slot, const struct iovec *, int n,
    uint64_t at, struct err *);
/* These bytes will be read soon: of a source they are fetched meanwhile. */
void packs_want(struct packs *, uint32_t slot, uint64_t at, size_t n);
uint32_t packs_number(const struct packs *, uint32_t slot);
/* "DIR/packs/00000007.pack": lasts for the next call. */
const char *packs_name(struct packs *, uint32_t slot);
/* One whole record at `at`: its head, and its body into `body`, both checked.
 * ERR_FORMAT when there is none, or it is damaged. */
int packs_read_record(struct packs *, uint32_t slot, uint64_t at, struct record_head *,
    struct buf *body, struct err *);

/* All records that can be read, in order, up to `end` (UINT64_MAX: of the file).
 * What is damaged is passed to `bad` (NULL: nobody wants to know), and the search goes
 * on behind it.  With data false only heads are read: body[] is then at most a
 * fragment's head. */
struct pack_walk {
	bool data;
	uint64_t end;
	int (*record)(void *arg, uint64_t at, const struct record_head *,
	    const uint8_t *body, size_t body_bytes, struct err *);
	int (*bad)(void *arg, uint64_t at, uint64_t bytes, struct err *);
	void *arg;
};
int packs_walk(struct packs *, uint32_t slot, const struct pack_walk *, struct err *);

/* The numbers of all files in the folder that are called like packs, ascending; *out is
 * to be freed. */
int packs_list(int dirfd, const char *dir, uint32_t **out, size_t *n, struct err *);
void pack_file_name(uint32_t number, char out[PACK_NAME_MAX]);

/* A pack that is being written. */
struct pack_writer {
	int dirfd, fd; /* fd -1: none */
	const char *dir;
	uint32_t number;
	uint64_t at;        /* where the next record goes */
	struct buf pending; /* records that are not written yet; the end of the pack */
};

/* A new pack (bytes 0), or one whose first `bytes` are good; what is behind them
 * goes. */
int pack_writer_open(
    struct pack_writer *, uint32_t number, uint64_t bytes, struct err *);
/* Body in two parts; *at is where the record is. */
int pack_append(struct pack_writer *, enum record_type, uint64_t number, const void *a,
    size_t a_bytes, const void *b, size_t b_bytes, uint64_t *at, struct err *);
/* Readers see what was appended. */
int pack_flush(struct pack_writer *, struct err *);
/* Flushed, synced, closed. */
int pack_writer_finish(struct pack_writer *, struct err *);
/* Closed, without looking. */
void pack_writer_drop(struct pack_writer *);

#endif /* EMUSTORE_STORE_PACKS_H */
