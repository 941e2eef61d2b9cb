/* index_packs.c: the packs that the index knows, and the choice of the pack that is read
 * where several have a fragment.  Called by the other files of the store, in the thread
 * that has the index. */
#include "emustore/store/index_impl.h"

#define GOOD "(SELECT number FROM packs WHERE condemned = 0)"
#define THERE "(SELECT number FROM packs)"

static void
pack_row(sqlite3_stmt *s, struct index_pack *p)
{
	p->number = (uint32_t)index_column(s, 0);
	p->condemned = index_column(s, 1) != 0;
	index_column_text(s, 2, p->id, sizeof p->id);
	p->bytes = index_column(s, 3);
}

int
index_find_pack(struct index *x, const char *id, struct index_pack *p, struct err *e)
{
	sqlite3_stmt *s = index_ask(x, Q_FIND_PACK, 0, NULL, e);

	if (s == NULL)
		return -1;
	sqlite3_bind_text(s, 1, id, -1, SQLITE_STATIC);
	int rc = index_step(x, s, e);
	if (rc == 1)
		pack_row(s, p);
	sqlite3_reset(s);
	return rc;
}

int
index_get_pack(struct index *x, uint32_t number, struct index_pack *p,
    struct buf *digests, struct err *e)
{
	sqlite3_stmt *s = index_ask(x, Q_GET_PACK, 1, (uint64_t[]){ number }, e);
	int rc = index_step(x, s, e);

	if (rc != 1)
		return rc;
	pack_row(s, p);
	if (digests != NULL)
		buf_bytes(digests, sqlite3_column_blob(s, 4),
		    (size_t)sqlite3_column_bytes(s, 4));
	sqlite3_reset(s);
	return digests == NULL || buf_ok(digests) ? 1 : err_nomem(e, "a pack");
}

int
index_each_pack(struct index *x,
    int (*fn)(void *, const struct index_pack *, struct err *), void *arg, struct err *e)
{
	sqlite3_stmt *s = index_ask(x, Q_EACH_PACK, 0, NULL, e);
	struct index_pack p;
	int rc;

	while ((rc = index_step(x, s, e)) == 1) {
		pack_row(s, &p);
		rc = fn(arg, &p, e);
		if (rc != 0)
			break;
	}
	if (s != NULL)
		sqlite3_reset(s);
	return rc;
}

static int
add_pack_row(struct index *x, const char *id, const struct toc *t, struct err *e)
{
	sqlite3_stmt *s = index_ask(x, Q_ADD_PACK, 1, (uint64_t[]){ t->pack_bytes }, e);

	if (s == NULL)
		return -1;
	sqlite3_bind_text(s, 2, id, -1, SQLITE_STATIC);
	sqlite3_bind_blob(
	    s, 3, t->digests, (int)(t->nblocks * SHA256_BYTES), SQLITE_STATIC);
	return index_step(x, s, e);
}

static int
add_spare(struct index *x, const struct index_fragment *i, struct err *e)
{
	sqlite3_stmt *s = index_ask(
	    x, Q_ADD_SPARE, 2, (uint64_t[]){ i->pack, i->f.at }, e);

	if (s == NULL)
		return -1;
	sqlite3_bind_blob(s, 3, i->f.head.sha256, SHA256_BYTES, SQLITE_STATIC);
	return index_step(x, s, e);
}

int
index_add_pack(struct index *x, const char *id, struct toc *t, struct err *e)
{
	struct index_fragment i, there;

	if (add_pack_row(x, id, t, e) != 0)
		return -1;
	i.pack = (uint32_t)sqlite3_last_insert_rowid(x->db.sql);
	while (toc_next(t, &i.f)) {
		int known = index_find_fragment(x, i.f.head.sha256, &there, e);
		if (known == 0)
			known = index_add_fragment(x, &i, e);
		else if (known == 1)
			known = add_spare(x, &i, e);
		if (known < 0)
			return -1;
	}
	return 0;
}

int
index_condemn(struct index *x, uint32_t pack, struct err *e)
{
	return index_tell(x, Q_CONDEMN, 1, (uint64_t[]){ pack }, e);
}

int
index_any_condemned(struct index *x, struct err *e)
{
	sqlite3_stmt *s = index_ask(x, Q_ANY_CONDEMNED, 0, NULL, e);
	int rc = index_step(x, s, e);

	if (s != NULL)
		sqlite3_reset(s);
	return rc;
}

int
index_drop_pack(struct index *x, uint32_t pack, struct err *e)
{
	return index_tell(x, Q_DROP_SPARES, 1, (uint64_t[]){ pack }, e) == 0
	           ? index_tell(x, Q_DROP_PACK, 1, (uint64_t[]){ pack }, e)
	           : -1;
}

int
index_settle(struct index *x, struct err *e)
{
	return db_run(&x->db,
	    /* A fragment whose pack is condemned moves to a spare in a pack that is not; a
	     * fragment whose pack is gone moves to any spare there is.  The old place
	     * becomes a spare if its pack exists.  Fragments without a pack are removed at
	     * the end. */
	    "CREATE TEMP TABLE IF NOT EXISTS moves (number INTEGER PRIMARY KEY, "
	    "pack INTEGER, at INTEGER);"
	    "DELETE FROM moves;"
	    "INSERT OR IGNORE INTO moves SELECT f.number, s.pack, s.at FROM spares s "
	    "JOIN fragments f ON f.sha256 = s.sha256 WHERE f.pack NOT IN " GOOD
	    " AND s.pack IN " GOOD ";"
	    "INSERT OR IGNORE INTO moves SELECT f.number, s.pack, s.at FROM spares s "
	    "JOIN fragments f ON f.sha256 = s.sha256 WHERE f.pack NOT IN " THERE ";"
	    "INSERT OR IGNORE INTO spares SELECT sha256, pack, at FROM fragments "
	    "WHERE number IN (SELECT number FROM moves) AND pack IN " THERE ";"
	    "UPDATE fragments SET "
	    "pack = (SELECT pack FROM moves m WHERE m.number = fragments.number), "
	    "at = (SELECT at FROM moves m WHERE m.number = fragments.number) "
	    "WHERE number IN (SELECT number FROM moves);"
	    "DELETE FROM spares WHERE EXISTS (SELECT 1 FROM fragments f "
	    "WHERE f.sha256 = spares.sha256 AND f.pack = spares.pack);"
	    "DELETE FROM fragments WHERE pack NOT IN " THERE,
	    e);
}
