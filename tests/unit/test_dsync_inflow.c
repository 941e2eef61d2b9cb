/* A stream that goes into a journal part by part: what the file holds then, room that was reserved and
 * is given back, and disks that have no room. */
#include "dsync/merge/inflow.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "tests/unit/scratch.h"

enum { MIB = 1 << 20, STREAM_BYTES = 45 * MIB + 77, PUT_BYTES = 100003 };

static unsigned reserved, synced; /* calls */
static bool no_room;              /* a reservation gets less than it asks for */

int
fallocate(int fd, int mode, off_t at, off_t n)
{
	reserved++;
	if (no_room && at > JOURNAL_STREAM_AT) {
		syscall(SYS_fallocate, fd, mode, at, n - MIB);
		errno = ENOSPC;
		return -1;
	}
	return (int)syscall(SYS_fallocate, fd, mode, at, n);
}

int
fsync(int fd)
{
	synced++;
	return (int)syscall(SYS_fsync, fd);
}

static uint8_t all[JOURNAL_STREAM_AT + STREAM_BYTES];
static struct journal *journal;
static struct err e;

static void
open_journal(void)
{
	static const struct target_state nothing = { .target_bytes = MIB };

	unlink(in_scratch("j"));
	T_CHECK(journal_open(&journal, in_scratch("j"), &e) == 0);
	T_CHECK(journal_say(journal, &nothing, &e) == 0);
	reserved = synced = 0;
}

/* Puts the first n bytes of the stream into the journal. */
static int
put(size_t n)
{
	const uint8_t *stream = all + JOURNAL_STREAM_AT;
	struct inflow *f;
	int rc = inflow_new(&f, journal, &e);

	for (size_t at = 0, some; rc == 0 && at < n; at += some) {
		some = n - at < PUT_BYTES ? n - at : PUT_BYTES;
		rc = inflow_put(f, stream + at, some, &e);
	}
	if (rc == 0)
		rc = inflow_end(f, &e);
	if (rc == 0)
		T_CHECK(inflow_bytes(f) == n);
	inflow_free(f);
	return rc;
}

static bool
journal_holds(size_t n)
{
	struct err late;

	if (disk_read(journal_disk(journal), all, JOURNAL_STREAM_AT, 0, &late) != 0)
		return false;
	return scratch_holds("j", all, JOURNAL_STREAM_AT + n);
}

static uint64_t
room_bytes(void)
{
	struct stat st;

	return stat(in_scratch("j"), &st) == 0 ? (uint64_t)st.st_blocks * 512 : UINT64_MAX;
}

static void
of_any_length(void)
{
	static const size_t lengths[] = { 1, 4 * MIB - 1, 4 * MIB, 4 * MIB + 1, 16 * MIB, STREAM_BYTES };

	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		open_journal();
		T_CHECK(put(lengths[i]) == 0);
		T_CHECK(journal_holds(lengths[i]) && synced == 1);
		T_CHECK((reserved > 0) == (lengths[i] > 8 * MIB));
		T_CHECK(room_bytes() < lengths[i] + MIB); /* the rest was given back */
		T_CHECK(journal_empty(journal, &e) == 0);
		T_CHECK(room_bytes() < MIB);
		journal_close(journal);
	}
}

/* What is reserved again after the first stream ends at the same byte. */
static void
twice(void)
{
	open_journal();
	T_CHECK(put(STREAM_BYTES) == 0);
	unsigned first = reserved;
	T_CHECK(journal_empty(journal, &e) == 0 && put(STREAM_BYTES) == 0);
	T_CHECK(first > 0 && reserved == 2 * first && journal_holds(STREAM_BYTES));
	journal_close(journal);
}

/* What a reservation got that failed is given back, and the slots, which were never written here, have
 * room whatever the stream takes. */
static void
little_room(void)
{
	unlink(in_scratch("j"));
	T_CHECK(journal_open(&journal, in_scratch("j"), &e) == 0);
	reserved = 0;
	no_room = true;
	T_CHECK(put(9 * MIB) == 0 && reserved == 2);
	no_room = false;
	T_CHECK(room_bytes() < 10 * MIB && room_bytes() >= JOURNAL_STREAM_AT + 9 * MIB);
	memset(all, 0, JOURNAL_STREAM_AT);
	T_CHECK(scratch_holds("j", all, JOURNAL_STREAM_AT + 9 * MIB));
	journal_close(journal);
}

/* The file may have so many bytes. */
static void
without_room(rlim_t limit)
{
	open_journal();
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){ limit, RLIM_INFINITY });
	T_CHECK(put(STREAM_BYTES) != 0 && e.kind == ERR_IO && strstr(e.text, "File too large") != NULL);
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY });
	T_CHECK(journal_empty(journal, &e) == 0 && room_bytes() < MIB);
	journal_close(journal);
}

int
main(void)
{
	scratch_init();
	signal(SIGXFSZ, SIG_IGN);
	for (size_t i = 0; i < sizeof all; i++)
		all[i] = (uint8_t)(i * 2654435761u >> 13);
	of_any_length();
	twice();
	little_room();
	without_room(9 * MIB);  /* in the thread */
	without_room(45 * MIB); /* the last part */
	return t_done();
}
