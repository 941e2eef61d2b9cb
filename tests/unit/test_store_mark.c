/* The mark of a store: what a writer has put and taken back is in no index that is believed,
 * also if a reader had seen it in the meantime.  And an index that cannot be used any more: packs have
 * other numbers in the next one.  And a writer that is told to end before it waits for another
 * one, and one that has waited: the store is its own then, too. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "common/base/cancel.h"
#include "emustore/store/store_impl.h"
#include "emustore/store/writer.h"
#include "tests/unit/scratch.h"

static char path[200];
static uint8_t digest[SHA256_BYTES];

/* Put a pack that has one fragment, and no image. */
static bool
put_pack(struct store *s)
{
	static const uint8_t data[5000] = { 1, 2, 3 };
	struct pack_fragment f = { .bytes = sizeof data };
	struct err e;

	sha256(data, sizeof data, digest);
	memcpy(f.head.sha256, digest, sizeof digest);
	return store_begin(s, &e) == 0 && writer_add(s->putting, &f, data, &e) == 0 &&
	       writer_flush(s->putting, &e) == 0;
}

static uint64_t
packs_of(struct store *s)
{
	struct index_totals t = { 0 };
	struct err e;

	T_CHECK(index_totals(s->index, &t, &e) == 0);
	return t.packs;
}

/* A reader that has read the mark before a writer began, and lists the objects while it writes: it
 * gives the index the old mark. */
static void
look_meanwhile(const struct store *writer)
{
	struct store s;
	struct err e;

	T_CHECK(store_open(&s, path, STORE_READ, &e) == 0);
	T_CHECK(!s.trusted);
	T_CHECK(packs_of(&s) == 1);
	T_CHECK(index_set_mark(s.index, writer->mark, &e) == 0);
	store_close(&s);
}

static void
test_taken_back(void)
{
	struct index_fragment f;
	struct store s;
	struct err e;

	T_CHECK(store_open(&s, path, STORE_WRITE, &e) == 0);
	T_CHECK(s.trusted);
	T_CHECK(put_pack(&s));
	look_meanwhile(&s);
	store_close(&s); /* nothing was committed */
	T_CHECK(store_open(&s, path, STORE_READ, &e) == 0);
	T_CHECK(s.trusted);
	T_CHECK(packs_of(&s) == 0);
	T_CHECK(index_find_fragment(s.index, digest, &f, &e) == 0);
	store_close(&s);
}

static void
test_committed(void)
{
	struct index_fragment f;
	struct store s;
	struct err e;

	T_CHECK(store_open(&s, path, STORE_WRITE, &e) == 0);
	T_CHECK(put_pack(&s));
	look_meanwhile(&s);
	T_CHECK(store_commit(&s, &e) == 0);
	store_close(&s);
	T_CHECK(store_open(&s, path, STORE_READ, &e) == 0);
	T_CHECK(s.trusted);
	T_CHECK(packs_of(&s) == 1);
	T_CHECK(index_find_fragment(s.index, digest, &f, &e) == 1);
	store_close(&s);
}

/* The blocks of a bucket: which packs they know, by the numbers of an index, ends with the index. */
static void
test_other_numbers(void)
{
	const char id[PACK_ID_CHARS + 1] = "";
	struct buf none = { 0 };
	struct store s;
	struct err e;

	T_CHECK(store_open(&s, path, STORE_READ, &e) == 0);
	T_CHECK(blocks_new(&s.blocks, s.objects, in_scratch("blocks"), 0, &e) == 0);
	T_CHECK(blocks_add_pack(s.blocks, 7, id, 0, &none, &e) == 0);
	struct packs *reader = store_packs(&s);
	struct blocks *before = blocks_hold(s.blocks);
	T_CHECK(cache_leave(&s, false, &e) == 0);
	T_CHECK(s.cache == NULL && s.blocks != NULL && !blocks_has_pack(s.blocks, 7));
	T_CHECK(blocks_has_pack(before, 7)); /* for who reads with the index before */
	blocks_release(before);
	packs_free(reader);
	store_close(&s);
}

/* A signal that came before the wait for another writer does not interrupt this wait. */
static void
test_told_to_end(void)
{
	struct cancel told = { .signal = SIGTERM };
	struct store writer, waits;
	struct err e;

	T_CHECK(store_open(&writer, path, STORE_WRITE, &e) == 0);
	alarm(60); /* it may wait for ever */
	cancel_work_for(&told);
	T_CHECK(store_open(&waits, path, STORE_WRITE | STORE_WAIT, &e) == -1);
	T_CHECK(e.kind == ERR_CANCELLED);
	cancel_work_for(NULL);
	alarm(0);
	store_close(&writer);
}

/* Nobody shares the lock of a writer, also when that one would have waited for it. */
static void
test_its_own(void)
{
	struct store waits;
	char lock[220];
	struct err e;

	snprintf(lock, sizeof lock, "%s/lock", path);
	T_CHECK(store_open(&waits, path, STORE_WRITE | STORE_WAIT, &e) == 0);
	int fd = open(lock, O_RDWR | O_CLOEXEC);
	T_CHECK(fd >= 0);
	T_CHECK(flock(fd, LOCK_SH | LOCK_NB) == -1);
	T_CHECK(errno == EWOULDBLOCK);
	store_close(&waits);
	T_CHECK(flock(fd, LOCK_SH | LOCK_NB) == 0);
	close(fd);
}

int
main(void)
{
	struct store s;
	struct err e;

	scratch_init();
	snprintf(path, sizeof path, "%s/store", scratch_dir);
	T_CHECK(store_init(path, 0, 0, &e, &e) == 0);
	T_CHECK(store_open(&s, path, STORE_WRITE, &e) == 0);
	store_close(&s); /* the index has the mark of the empty store */
	test_taken_back();
	test_committed();
	test_other_numbers();
	test_told_to_end();
	test_its_own();
	scratch_done();
	return t_done();
}
