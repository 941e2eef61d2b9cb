/* store_impl.h: what the parts of a store share: store.c opens and closes one,
 * store_folder.c makes its folder and knows the file "format", store_write.c is a writer's
 * transaction.
 */
#ifndef EMUSTORE_STORE_STORE_IMPL_H
#define EMUSTORE_STORE_STORE_IMPL_H

#include "emustore/store/store.h"

enum { STORE_PATH_BYTES = 600 };

/* store_folder.c */

/* The index, and a new one until it takes that one's place. */
extern const char store_index_name[], store_new_index[];
/* DIR/NAME; a longer path than a store may have is cut. */
void store_path(const char *dir, const char *name, char out[STORE_PATH_BYTES]);
/* An index, and what SQLite keeps beside it. */
void store_remove_index(const char *dir, const char *name);
/* s->format and s->pack_bytes, by the folder s->dirfd.  ERR_ABSENT: it is no store. */
int store_read_format(struct store *s, struct err *);

/* store_write.c */

/* What a transaction that failed has left takes room that others need. */
void store_undo(struct store *);

#endif /* EMUSTORE_STORE_STORE_IMPL_H */
