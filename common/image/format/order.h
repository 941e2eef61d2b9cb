/* order.h: the order in which a machine reads the disk of an image while it starts, or
 * in which several machines do: a file, which docs/stream-format.md describes.
 *
 * A record is an order that one machine has recorded (recorder.h).  Records are merged
 * into an order of many machines (merge.h).  What fills a streaming disk fetches what
 * an order names before the rest, and the server of a session sends it before the rest.
 * An order decides when something is fetched or sent, and nothing else: a wrong one
 * costs time.
 */
#ifndef COMMON_IMAGE_FORMAT_ORDER_H
#define COMMON_IMAGE_FORMAT_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/err.h"

enum {
	/* Systems that start read some ten thousand runs of sectors, and 8 GiB are more
	 * than any of them reads until somebody is logged in. */
	ORDER_RUNS_MAX = 1 << 17,
	ORDER_SECTORS_MAX = 1 << 24,
	ORDER_HEADER_BYTES = 32,
	ORDER_RUN_BYTES = 20,
	ORDER_BYTES_MAX = ORDER_HEADER_BYTES + ORDER_RUNS_MAX * ORDER_RUN_BYTES,
};

/* Sectors that were read one after the other, or at once. */
struct order_run {
	uint64_t first_sector;
	uint32_t sectors;  /* not 0 */
	uint32_t after_ms; /* since the disk was opened */
	uint32_t machines; /* how many have read them; at least 1 */
};

struct order {
	uint64_t disk_sectors;  /* of the disk that the image holds */
	uint32_t machines;      /* 1: a record */
	struct order_run *runs; /* owned, in the order of reading */
	size_t n, cap;
	uint64_t sectors; /* of all runs */
};

/* An order without runs; *o owns nothing yet. */
void order_init(struct order *o, uint64_t disk_sectors, uint32_t machines);
void order_free(struct order *); /* leaves an order without runs */
/* Append a run within the disk.  1: it is appended; 0: there is no room for it, as the
 * constants above say, and the order is complete; -1: ERR_NOMEM. */
int order_add(struct order *, struct order_run, struct err *);
/* Append the bytes of the file to *out; buf_ok() says whether there was memory. */
void order_put(const struct order *, struct buf *out);
/* Read data[n], the bytes of a file.  *o is to be freed if this returns 0.  Errors name
 * `name`: ERR_FORMAT: it is no order, or damaged; ERR_NOMEM. */
int order_get(
    struct order *o, const void *data, size_t n, const char *name, struct err *);
/* Read, or write, a file.  Only another order, or an empty file, is written over.
 * Errors of order_get() and output_open(); ERR_ABSENT: there is no such file. */
int order_read(struct order *o, const char *path, struct err *);
struct disk;
/* The same for what is open as a disk, which is closed. */
int order_of_disk(struct order *o, struct disk *, struct err *);
/* order_read() that never waits for a pipe that nobody writes: for a path at which somebody else
 * may have put anything.  ERR_REFUSED: it is no regular file, nor a link to one. */
int order_read_regular(struct order *o, const char *path, struct err *);
int order_write(const struct order *, const char *path, struct err *);

#endif /* COMMON_IMAGE_FORMAT_ORDER_H */
