/* disk_nbd_impl.h: what the files of disk_nbd.h share, and others that ask NBD servers.
 *
 * disk_nbd.c is the disk, with a pool of connections; disk_nbd_conn.c is one connection;
 * disk_nbd_lib.c loads libnbd. */
#ifndef COMMON_DISK_DISK_NBD_IMPL_H
#define COMMON_DISK_DISK_NBD_IMPL_H

#include <libnbd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/rangeset.h"

/* The functions of libnbd that are called here; X(name) for each. */
#define NBD_FUNCTIONS(X)                                                                  \
	X(create) X(close) X(get_error) X(get_errno) X(add_meta_context)                  \
	X(can_meta_context) X(can_multi_conn) X(get_size) X(get_block_size) X(poll)       \
	X(aio_connect_uri) X(aio_pread) X(aio_block_status) X(aio_command_completed)      \
	X(aio_is_connecting) X(aio_is_negotiating) X(aio_is_ready) X(aio_is_processing) \
	X(connect_uri) X(block_status) X(can_flush) X(aio_flush) X(set_uri_allow_local_file)

struct nbd_lib {
#define X(name) __typeof__(&nbd_##name) name;
	NBD_FUNCTIONS(X)
#undef X
};

/* The functions of libnbd, which is loaded at the first call and stays loaded; for any thread.
 * NULL: ERR_ABSENT. */
const struct nbd_lib *nbd_lib(struct err *);
/* A new handle, to be connected to this URI; the caller's.  A URI of TLS may name a file with its
 * key: who says which server is trusted says with which key, too.  NULL: get_error() says why. */
struct nbd_handle *nbd_handle_for(const struct nbd_lib *, const char *uri);

/* A connection, which one thread uses at a time. */
struct nbd_conn {
	const struct nbd_lib *lib;
	struct nbd_handle *handle;
	const char *uri; /* borrowed; sentences name it, too */
	uint64_t patience_us; /* how long nothing may come; the caller may change it */
	uint64_t moved_us;    /* when something has come last; 0: nothing has */
	uint64_t bytes;  /* of the export */
	uint32_t align;  /* reads begin and end at multiples of this; a power of 2 */
	size_t most_bytes; /* of one request, a multiple of align */
	bool several;    /* the server allows more than one connection */
	bool map;        /* the server can say which ranges are holes */
	struct nbd_conn *next; /* for the caller's list */
};

/* Connect to an export.  ERR_IO: the server cannot be reached, or did not answer for
 * patience_us; ERR_ABSENT, ERR_NOMEM, ERR_CANCELLED. */
int nbd_conn_open(
    struct nbd_conn **, const char *uri, uint64_t patience_us, struct err *);
/* NULL is fine. */
void nbd_conn_close(struct nbd_conn *);
/* Read n parts, which are aligned and inside the export, several at the same time.  After
 * a failure, *broken says that the connection can only be closed; otherwise the server has
 * refused a request. */
int nbd_conn_read(struct nbd_conn *, const struct disk_part *, size_t n, bool *broken,
    struct err *);
/* Flush what any client has written; 0 also where the server has nothing to flush.  Errors of
 * nbd_conn_open(); the connection can only be closed after one. */
int nbd_conn_flush(struct nbd_conn *, struct err *);
/* Add the sectors of the export that are no holes, and seal the set.  Errors of
 * nbd_conn_open(). */
int nbd_conn_stored(struct nbd_conn *, struct rangeset *, struct err *);

#endif /* COMMON_DISK_DISK_NBD_IMPL_H */
