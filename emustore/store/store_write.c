/* A writer's transaction: records behind all others in the packs, which count only when the
 * index, committed after they were synced, says so.  Of a store in a bucket, remote_put.c
 * does it.  Called by one thread. */
#include "emustore/store/store_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Before bytes of a pack from `from` on are given up, because the index does not count
 * them: does it mean any of them?  Then it is damaged, and they are all there is. */
static int
check_unused(struct store *s, uint32_t pack, uint64_t from, struct err *e)
{
	uint64_t end;

	if (index_pack_end(s->index, pack, &end, e) != 0)
		return -1;
	if (end <= from)
		return 0;
	return err_set(e, ERR_FORMAT,
	    "%s: the index counts %" PRIu64 " bytes of pack %" PRIu32 ", but has a "
	    "record behind them (emustore repair --index makes it again)",
	    s->dir, from, pack);
}

int
store_remove_strays(struct store *s, struct err *e)
{
	uint32_t *list;
	size_t n;
	struct index_pack p;
	char name[PACK_NAME_MAX];
	int rc = packs_list(s->packs_fd, s->dir, &list, &n, e);

	for (size_t i = 0; rc == 0 && i < n; i++) {
		rc = index_pack_from(s->index, list[i], &p, e);
		if (rc < 0 || (rc == 1 && p.number == list[i])) {
			rc = rc < 0 ? -1 : 0;
			continue;
		}
		pack_file_name(list[i], name);
		rc = check_unused(s, list[i], 0, e);
		if (rc == 0 && unlinkat(s->packs_fd, name, 0) != 0)
			rc = err_os(e, "%s/packs/%s", s->dir, name);
	}
	free(list);
	return rc;
}

/* *bytes 0: there is no such file. */
static int
file_bytes(const struct store *s, const struct index_pack *p, uint64_t *bytes,
    struct err *e)
{
	char name[PACK_NAME_MAX];
	struct stat st;

	pack_file_name(p->number, name);
	int rc = fstatat(s->packs_fd, name, &st, AT_SYMLINK_NOFOLLOW);
	*bytes = rc == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	return rc == 0 || errno == ENOENT ? 0
	                                  : err_os(e, "%s/packs/%s", s->dir, name);
}

/* The last pack, when there is room in it.  One that lacks something is left as it is:
 * what is new goes into another one, so that it can be repaired. */
static int
open_last_pack(struct store *s, struct err *e)
{
	struct index_pack p = { 0 }, last = { 0 };
	uint64_t there;
	int rc;

	while ((rc = index_pack_from(s->index, p.number + 1, &p, e)) == 1)
		last = p;
	if (rc < 0)
		return -1;
	if (last.number == 0 || last.bytes >= s->pack_bytes)
		return 0;
	if (file_bytes(s, &last, &there, e) != 0)
		return -1;
	if (there < last.bytes)
		return 0;
	if (there > last.bytes && check_unused(s, last.number, last.bytes, e) != 0)
		return -1;
	return pack_writer_open(&s->w, last.number, last.bytes, e);
}

/* What a transaction that failed has left takes room that others need. */
void
store_undo(struct store *s)
{
	struct err ignored; /* the next writer does it, then */

	pack_writer_drop(&s->w);
	index_rollback(s->index);
	if (store_remove_strays(s, &ignored) == 0 && open_last_pack(s, &ignored) == 0)
		pack_writer_drop(&s->w);
}

int
store_begin(struct store *s, struct err *e)
{
	if (s->remote != NULL) {
		s->writing = true;
		return remote_put_new(&s->putting, s->remote, e);
	}
	s->w.dir = s->dir;
	s->w.dirfd = s->packs_fd;
	if (index_begin(s->index, true, e) != 0)
		return -1;
	s->writing = true;
	for (int i = 0; i < 3; i++)
		if (index_next(s->index, (enum index_next)i, &s->next[i], e) != 0)
			return -1;
	if (store_remove_strays(s, e) != 0)
		return -1;
	return open_last_pack(s, e);
}

uint64_t
store_number(struct store *s, enum index_next what)
{
	return s->next[what]++;
}

int
store_end_pack(struct store *s, struct err *e)
{
	struct index_pack p = { s->w.number, s->w.at };

	if (s->w.fd < 0)
		return 0;
	if (pack_writer_finish(&s->w, e) != 0)
		return -1;
	return index_put_pack(s->index, &p, e);
}

int
store_append(struct store *s, enum record_type type, uint64_t number, const void *a,
    size_t a_bytes, const void *b, size_t b_bytes, uint32_t *pack, uint64_t *at,
    struct err *e)
{
	if (s->w.fd >= 0 && s->w.at >= s->pack_bytes && store_end_pack(s, e) != 0)
		return -1;
	if (s->w.fd < 0 && pack_writer_open(&s->w,
			       (uint32_t)store_number(s, INDEX_NEXT_PACK), 0, e) != 0)
		return -1;
	*pack = s->w.number;
	return pack_append(&s->w, type, number, a, a_bytes, b, b_bytes, at, e);
}

int
store_sync(struct store *s, struct err *e)
{
	if (store_end_pack(s, e) != 0)
		return -1;
	return fsync(s->packs_fd) == 0 ? 0 : err_os(e, "%s/packs", s->dir);
}

int
store_find_fragment(struct store *s, const uint8_t sha256[SHA256_BYTES],
    struct index_fragment *f, struct err *e)
{
	return s->putting != NULL ? remote_put_find(s->putting, sha256, f, e)
	                          : index_find_fragment(s->index, sha256, f, e);
}

int
store_add_fragment(
    struct store *s, struct index_fragment *f, const void *data, struct err *e)
{
	uint8_t head[FRAGMENT_HEAD_BYTES];
	bool lost = f->number != 0;

	if (s->putting != NULL)
		return remote_put_fragment(s->putting, f, data, e);
	fragment_put_head(&f->head, head);
	if (!lost)
		f->number = store_number(s, INDEX_NEXT_FRAGMENT);
	if (store_append(s, RECORD_FRAGMENT, f->number, head, sizeof head, data,
		f->bytes, &f->pack, &f->at, e) != 0)
		return -1;
	return lost ? index_move_fragment(s->index, f->number, f->pack, f->at, e)
	            : index_add_fragment(s->index, f, e);
}

int
store_commit(struct store *s, struct err *e)
{
	if (s->remote != NULL) { /* the image's object was the commit */
		s->writing = false;
		return 0;
	}
	if (store_sync(s, e) != 0)
		return -1;
	for (int i = 0; i < 3; i++)
		if (index_set_next(s->index, (enum index_next)i, s->next[i], e) != 0)
			return -1;
	if (index_commit(s->index, e) != 0)
		return -1;
	s->writing = false;
	return 0;
}
