/* index_fragments.c: the fragments that the index knows, and the packs they are in. */
#include "emustore/store/index_impl.h"

int
index_add_fragment(struct index *x, const struct index_fragment *f, struct err *e)
{
	sqlite3_stmt *s = index_ask(x, Q_ADD_FRAGMENT, 4,
	    (uint64_t[]){ f->number, f->pack, f->at, f->bytes }, e);

	if (s == NULL)
		return -1;
	sqlite3_bind_blob(s, 5, f->head.sha256, sizeof f->head.sha256, SQLITE_STATIC);
	sqlite3_bind_blob(
	    s, 6, f->head.raw_digest, sizeof f->head.raw_digest, SQLITE_STATIC);
	sqlite3_bind_int64(s, 7, f->head.raw_bytes);
	sqlite3_bind_int64(s, 8, f->head.adler);
	return index_step(x, s, e);
}

/* The row that s is to give: 1, 0, -1. */
static int
fragment_row(struct index *x, sqlite3_stmt *s, struct index_fragment *f, struct err *e)
{
	int rc = index_step(x, s, e);

	if (rc != 1)
		return rc;
	f->number = index_column(s, 0);
	f->pack = (uint32_t)index_column(s, 1);
	f->at = index_column(s, 2);
	f->bytes = (uint32_t)index_column(s, 3);
	index_column_bytes(s, 4, f->head.sha256, sizeof f->head.sha256);
	index_column_bytes(s, 5, f->head.raw_digest, sizeof f->head.raw_digest);
	f->head.raw_bytes = (uint32_t)index_column(s, 6);
	f->head.adler = (uint32_t)index_column(s, 7);
	sqlite3_reset(s);
	return 1;
}

int
index_find_fragment(struct index *x, const uint8_t sha256[SHA256_BYTES],
    struct index_fragment *f, struct err *e)
{
	sqlite3_stmt *s = index_ask(x, Q_FIND_FRAGMENT, 0, NULL, e);

	if (s == NULL)
		return -1;
	sqlite3_bind_blob(s, 1, sha256, SHA256_BYTES, SQLITE_STATIC);
	return fragment_row(x, s, f, e);
}

int
index_find_raw(struct index *x, const uint8_t raw_digest[RAW_DIGEST_BYTES],
    uint32_t raw_bytes, struct index_fragment *f, struct err *e)
{
	sqlite3_stmt *s = index_ask(x, Q_FIND_RAW, 1, (uint64_t[]){ raw_bytes }, e);

	if (s == NULL)
		return -1;
	sqlite3_bind_blob(s, 2, raw_digest, RAW_DIGEST_BYTES, SQLITE_STATIC);
	return fragment_row(x, s, f, e);
}

int
index_prepare_raw(struct index *x, struct err *e)
{
	return index_schema_make(x, INDEX_TABLES_RAW, e);
}

int
index_get_fragment(
    struct index *x, uint64_t number, struct index_fragment *f, struct err *e)
{
	return fragment_row(x, index_ask(x, Q_GET_FRAGMENT, 1, &number, e), f, e);
}

int
index_fragment_from(
    struct index *x, uint64_t number, struct index_fragment *f, struct err *e)
{
	return fragment_row(x, index_ask(x, Q_FRAGMENT_FROM, 1, &number, e), f, e);
}

int
index_move_fragment(
    struct index *x, uint64_t number, uint32_t pack, uint64_t at, struct err *e)
{
	return index_tell(x, Q_MOVE_FRAGMENT, 3, (uint64_t[]){ number, pack, at }, e);
}

int
index_delete_fragment(struct index *x, uint64_t number, struct err *e)
{
	return index_tell(x, Q_DELETE_FRAGMENT, 1, &number, e);
}

int
index_put_pack(struct index *x, const struct index_pack *p, struct err *e)
{
	return index_tell(x, Q_PUT_PACK, 2, (uint64_t[]){ p->number, p->bytes }, e);
}

int
index_delete_pack(struct index *x, uint32_t number, struct err *e)
{
	return index_tell(x, Q_DELETE_PACK, 1, (uint64_t[]){ number }, e);
}

int
index_pack_from(struct index *x, uint32_t number, struct index_pack *p, struct err *e)
{
	sqlite3_stmt *s = index_ask(x, Q_PACK_FROM, 1, (uint64_t[]){ number }, e);
	int rc = index_step(x, s, e);

	if (rc != 1)
		return rc;
	p->number = (uint32_t)index_column(s, 0);
	p->bytes = index_column(s, 1);
	sqlite3_reset(s);
	return 1;
}

int
index_pack_end(struct index *x, uint32_t number, uint64_t *end, struct err *e)
{
	sqlite3_stmt *s = index_ask(x, Q_PACK_END, 1, (uint64_t[]){ number }, e);

	if (index_step(x, s, e) != 1)
		return -1;
	*end = index_column(s, 0);
	sqlite3_reset(s);
	return 0;
}
