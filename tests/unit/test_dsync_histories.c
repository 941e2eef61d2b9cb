/* Random histories of a device and two copies, which are targets with names of their own and one place for
 * what is remembered of them: writes that are undone, other sizes of the device,
 * streams that are lost, cut, merged late, twice, in place or into the wrong copy, confirmations
 * that come late or never, an old state restored, and extracts and merges that are killed or run
 * out of room at any write.  Whatever happens: what is said of a copy is true, a merge that succeeds
 * leaves the state that was extracted, one that is refused leaves the copy as it was, and in the end
 * all are equal.  Each history is told twice: with the source of change "scan", and with a tracker in memory that
 * notes blocks of four pages, of which mostly only the pages are sent that differ; there, old backups of
 * a copy are put back, too, and extracts end before any of their writes, flushes and names.
 *	HISTORIES=10000 SEED=1 test_dsync_histories		default: 60, or 20 where a processor is emulated
 *	TRACE=1 HISTORIES=1 SEED=5063 test_dsync_histories	prints each step
 *
 * Each extract asks twice which processes have the device open for writing, and each file that is
 * opened for writing is looked for behind the machine's loop devices.  On a machine with many of both
 * this takes nearly all of the time, so the histories run in namespaces of their own, without /sys
 * and with few mounts, where that is allowed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "dsync/change/bases.h"
#include "dsync/change/change.h"
#include "dsync/extract/extract.h"
#include "dsync/merge/merge.h"
#include "tests/t.h"
#include "tests/unit/scratch.h"

enum {
	BLOCK = 4096,
	BLOCKS = 12,
	BYTES_MAX = BLOCKS * BLOCK,
	STREAMS = 6,
	COPIES = 2,
	STEPS = 80,
	STATES = 2 * STEPS, /* more than are extracted */
	TRACKED = 4 * BLOCK, /* bytes of a block of the tracker */
	TRACKED_BLOCKS = BYTES_MAX / TRACKED,
};

static uint64_t seed;
static bool trace;

/* Not of tests/random.h, because once_wrong, below, has numbers of histories of this sequence. */
static unsigned
chance(unsigned n)
{
	seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
	return (unsigned)(seed >> 20) % n;
}

struct content {
	size_t bytes;
	uint8_t data[BYTES_MAX];
};

/* What the device was when a state was extracted. */
struct state {
	struct stream_id id;
	struct content was;
};

/* What all histories have done. */
struct sum {
	uint64_t good, merges, refusals, restored, killed, wrong_copies, narrowed;
};

struct world {
	struct content device;
	struct state states[STATES];
	unsigned nstates;
	bool sent[COPIES][STREAMS]; /* there is a stream; it may be cut */
	bool whole[COPIES][STREAMS];
	unsigned last[COPIES]; /* the slot of the last stream */
	bool saved[COPIES], backed_up[COPIES];
	bool tracked; /* by the tracker, and not by "scan" */
	bool fine;    /* each extract is, and knows nothing of the copy; otherwise most are */
	uint64_t era, written[TRACKED_BLOCKS]; /* in which era each block was written last */
	struct sum sum;
	const char *wrong;
};

static void
put_file(const char *name, unsigned i, const struct content *c)
{
	char path[20];

	snprintf(path, sizeof path, "%s%u", name, i);
	FILE *f = fopen(in_scratch(path), "w");
	if (f == NULL || fwrite(c->data, 1, c->bytes, f) != c->bytes || fclose(f) != 0)
		abort();
}

static void
get_copy(unsigned copy, struct content *c)
{
	char path[20];

	snprintf(path, sizeof path, "copy%u", copy);
	FILE *f = fopen(in_scratch(path), "r");
	c->bytes = f != NULL ? fread(c->data, 1, sizeof c->data, f) : 0;
	if (f != NULL)
		fclose(f);
}

static bool
same(const struct content *a, const struct content *b)
{
	return a->bytes == b->bytes && memcmp(a->data, b->data, a->bytes) == 0;
}

static const struct content *
find_state(const struct world *w, const struct stream_id *id)
{
	for (unsigned i = w->nstates; i-- > 0;)
		if (stream_id_same(&w->states[i].id, id))
			return &w->states[i].was;
	return NULL;
}

/* --- a tracker --- */

static struct world *world; /* in memory that children share */
static uint64_t opened; /* the era that began with this extract */

static void
note_write(struct world *w, size_t from, size_t to)
{
	for (size_t at = from / TRACKED * TRACKED; at < to; at += TRACKED)
		w->written[at / TRACKED] = w->era;
}

static int
tracker_open(void **self, const struct change_job *job, struct change_about *about, struct err *e)
{
	(void)job, (void)e;
	opened = ++world->era;
	about->block_bytes = TRACKED;
	about->cumulative = true;
	*self = &opened;
	return 0;
}

static int
tracker_same(void *self, const struct base *base, struct same_sink *sink, struct err *e)
{
	struct rangeset changed;
	int rc = 0;

	(void)self;
	rangeset_init(&changed);
	for (size_t i = 0; rc == 0 && i < TRACKED_BLOCKS; i++)
		if (world->written[i] >= strtoull(base->token, NULL, 10))
			rc = rangeset_add(&changed, (struct range){ i * TRACKED, TRACKED }, e);
	rangeset_seal(&changed);
	if (rc == 0)
		rc = same_sink_add_all_but(sink, &changed, e);
	rangeset_free(&changed);
	return rc;
}

static int
tracker_keep(void *self, const struct stream_id *id, char token[BASE_TOKEN_BYTES], struct err *e)
{
	(void)self, (void)id, (void)e;
	snprintf(token, BASE_TOKEN_BYTES, "%llu", (unsigned long long)opened);
	return 0;
}

static void
tracker_close(void *self)
{
	(void)self;
}

/* In the place of dm-era's. */
const struct change_kind change_era = { .name = "era", .args = "METADATA", .about = "", .has_bases = true,
	.open = tracker_open, .same = tracker_same, .keep = tracker_keep, .close = tracker_close };

/* What an extract calls to change files; it ends before the n-th of these calls. */
static unsigned end_before;

static void
count_call(void)
{
	if (end_before != 0 && --end_before == 0)
		_exit(1);
}

ssize_t
pwrite(int fd, const void *buf, size_t len, off_t off)
{
	count_call();
	return syscall(SYS_pwrite64, fd, buf, len, off);
}

int
fsync(int fd)
{
	count_call();
	return (int)syscall(SYS_fsync, fd);
}

int
rename(const char *from, const char *to)
{
	count_call();
	return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int
unlink(const char *path)
{
	count_call();
	return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

/* --- extracts --- */

/* What an extract works with.  The texts are its own. */
struct from {
	char since[400], device[300], state[300], target[12];
	struct extract_config c;
};

static const struct extract_config *
from_config(struct from *f, unsigned copy)
{
	snprintf(f->since, sizeof f->since, "scan:%s/state", scratch_dir);
	snprintf(f->target, sizeof f->target, "%u", copy);
	snprintf(f->device, sizeof f->device, "%s/device0", scratch_dir);
	f->c = (struct extract_config){ .since = f->since, .device = f->device,
		.target = f->target, .folder = "/nowhere", .jobs = 1 };
	if (world->tracked) {
		snprintf(f->since, sizeof f->since, "era:meta");
		snprintf(f->state, sizeof f->state, "%s/state", scratch_dir);
		f->c.state = f->state;
	}
	return &f->c;
}

static const char *
stream_path(unsigned copy, unsigned slot)
{
	char name[30];

	snprintf(name, sizeof name, "stream%u-%u", copy, slot);
	return in_scratch(name);
}

/* Few contents, so that blocks often get back what they had. */
static void
write_blocks(struct world *w)
{
	for (unsigned n = 1 + chance(3); n > 0; n--) {
		size_t at = chance(BLOCKS) * (size_t)BLOCK;
		if (at >= w->device.bytes)
			continue;
		memset(w->device.data + at, (int)chance(3),
		    at + BLOCK > w->device.bytes ? w->device.bytes - at : BLOCK);
		note_write(w, at, at + BLOCK);
	}
	put_file("device", 0, &w->device);
}

static void
resize(struct world *w)
{
	static const size_t less[] = { 100, 0, BLOCK, 3 * BLOCK + 1 };
	size_t was = w->device.bytes, is = BYTES_MAX - less[chance(4)];

	if (is > was)
		memset(w->device.data + was, (int)chance(3), is - was);
	w->device.bytes = is;
	note_write(w, 0, BYTES_MAX);
	put_file("device", 0, &w->device);
}

/* Learn of the states that extracts have remembered: a new one is what the device is now. */
static void
learn_states(struct world *w, unsigned copy)
{
	struct from f;
	struct bases b;
	struct err e;

	if (extract_bases(from_config(&f, copy), &b, &e) != 0) {
		w->wrong = "what is remembered cannot be read";
		return;
	}
	for (unsigned i = 0; i < b.n; i++)
		if (find_state(w, &b.all[i].id) == NULL) {
			if (w->nstates == STATES)
				abort();
			w->states[w->nstates++] = (struct state){ b.all[i].id, w->device };
		}
	bases_close(&b);
}

/* The work of a step, which may be done by a child that is killed. */
struct work {
	unsigned copy, slot;
	bool full, fine, incomplete; /* an extract: see extract_config */
	uint64_t narrowed;     /* bytes that the tracker named, and that were not sent */
	unsigned to;           /* a merge: the copy that the stream goes to */
	bool in_place;
	struct merge_report report;
	int (*run)(struct work *);
};

static int
run_extract(struct work *x)
{
	struct from f;
	struct extract_report r;
	struct disk *to;
	struct err e, late;

	from_config(&f, x->copy);
	f.c.full = x->full;
	/* What the program decides by itself is what is asked for on such a small device, but without
	 * room it goes on without digests. */
	f.c.fine = !x->fine                ? FINE_NEVER
	           : world->nstates % 2 == 0 ? FINE_ALWAYS
	                                     : FINE_BY_ITSELF;
	f.c.incomplete = x->incomplete;
	if (disk_open(&to, stream_path(x->copy, x->slot), DISK_WRITE | DISK_CREATE | DISK_TRUNC,
		&e) != 0)
		return -1;
	int rc = extract_stream(&f.c, to, &r, &e);
	disk_close(to, &late);
	x->narrowed = r.named_bytes - r.changed_bytes;
	return rc;
}

/* Let a child do the work, which ends before the n-th call that changes a file. */
static int
run_until(struct work *x, unsigned n)
{
	int status = -1;

	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		setenv("FRISBEE_NO_URING", "1", 1);
		end_before = n;
		_exit(x->run(x) == 0 ? 0 : 1);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		abort();
	return status == 0 ? 0 : -1;
}

/* Let a child do the work.  It may write no byte of a file from `limit` on: it is killed then, or,
 * with `full`, the write fails as on a full disk.  Returns 0 if it has succeeded all the same. */
static int
run_limited(struct work *x, unsigned limit, bool full)
{
	int status = -1;

	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		setrlimit(RLIMIT_FSIZE, &(struct rlimit){ limit, limit });
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
		signal(SIGXFSZ, full ? SIG_IGN : SIG_DFL);
		_exit(x->run(x) == 0 ? 0 : 1);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		abort();
	return status == 0 ? 0 : -1;
}

/* What a merge works with. */
struct into {
	char target[300];
	struct merge_config c;
};

static const struct merge_config *
into_config(struct into *i, unsigned copy)
{
	snprintf(i->target, sizeof i->target, "%s/copy%u", scratch_dir, copy);
	i->c = (struct merge_config){ .target = i->target, .folder = "/nowhere" };
	return &i->c;
}

static bool
is_incomplete(unsigned copy)
{
	struct merge_report r;
	struct into i;
	struct err e;

	return merge_look(into_config(&i, copy), &r, &e) == 0 &&
	       (r.state.flags & TARGET_INCOMPLETE) != 0;
}

/* limit: see run_limited(); 0: none. */
static int
do_extract(struct world *w, unsigned copy, unsigned slot, bool full, unsigned limit)
{
	struct work x = { .copy = copy, .slot = slot, .full = full, .run = run_extract };
	x.fine = w->tracked && (w->fine || chance(6) != 0);
	x.incomplete = w->tracked && !w->fine && chance(2) != 0 && is_incomplete(copy);
	int rc = limit == 0                            ? run_extract(&x)
	         : w->tracked && limit % 4 != 0 ? run_until(&x, 1 + limit % 40)
	                                        : run_limited(&x, limit, limit % 2 == 0);

	learn_states(w, copy);
	if (trace)
		printf("# extract for %u into %u, full %d, fine %d, limit %u: %d; %u states, %zu bytes\n", copy,
		    slot, full, x.fine, limit, rc, w->nstates, w->device.bytes);
	w->sum.narrowed += x.narrowed;
	w->sent[copy][slot] = true;
	w->whole[copy][slot] = rc == 0;
	w->last[copy] = slot;
	if (rc != 0 && limit == 0)
		w->wrong = "an extract failed";
	w->sum.killed += rc != 0;
	return rc;
}

/* --- merges --- */

static int
run_merge(struct work *x)
{
	struct into i;
	struct disk *from;
	struct err e, late;

	into_config(&i, x->to);
	i.c.in_place = x->in_place;
	if (disk_open(&from, stream_path(x->copy, x->slot), DISK_READ, &e) != 0)
		return -1;
	int rc = merge_into_target(&i.c, from, &x->report, &e);
	disk_close(from, &late);
	return rc;
}

static void
cut_stream(struct world *w, unsigned copy, unsigned slot)
{
	struct stat st;
	const char *path = stream_path(copy, slot);

	if (stat(path, &st) != 0 ||
	    (st.st_size > 0 && truncate(path, (off_t)chance((unsigned)st.st_size)) != 0))
		abort();
	w->whole[copy][slot] = false;
}

enum { UNTOUCHED, UNFINISHED, WHOLE };

/* Look at what is said of a copy, which must be true.  Returns whether it has a whole state, lies
 * between two, or was never merged into. */
static int
look_at_copy(struct world *w, unsigned copy, const struct content *has, struct stream_id *id)
{
	struct merge_report r;
	const struct target_state *s = &r.state;
	struct into i;
	struct err e;

	if (merge_look(into_config(&i, copy), &r, &e) != 0) {
		w->wrong = "the state of a copy cannot be read";
		return UNTOUCHED;
	}
	*id = s->id;
	if ((s->flags & (TARGET_PENDING | TARGET_INCOMPLETE)) != 0)
		return UNFINISHED;
	if (!stream_id_set(&s->id))
		return UNTOUCHED;
	const struct content *is = find_state(w, &s->id);
	if (is == NULL || !same(is, has))
		w->wrong = "a copy is not what is said of it";
	else if (r.changed)
		w->wrong = "a copy that is what is said of it counts as changed";
	return WHOLE;
}

static void
deliver(struct world *w, struct work *x, bool cut, unsigned limit)
{
	static struct content before, after;
	struct stream_id id;

	if (!w->sent[x->copy][x->slot])
		return;
	if (cut)
		cut_stream(w, x->copy, x->slot);
	get_copy(x->to, &before);
	int was = look_at_copy(w, x->to, &before, &id);
	x->run = run_merge;
	int rc = limit == 0 ? run_merge(x) : run_limited(x, limit, limit % 2 == 0);
	get_copy(x->to, &after);
	int is = look_at_copy(w, x->to, &after, &id);
	if (trace)
		printf("# merge of %u for %u into %u, cut %d, in place %d, limit %u: %d; was %d, is %d\n",
		    x->slot, x->copy, x->to, cut, x->in_place, limit, rc, was, is);
	if (w->wrong != NULL)
		return;
	if (rc == 0 && (is != WHOLE || !w->whole[x->copy][x->slot]))
		w->wrong = "a merge succeeded, and the copy is not whole";
	else if (rc == 0 && limit == 0 && !stream_id_same(&id, &x->report.head.id))
		w->wrong = "a merge succeeded, and the copy has another state";
	else if (rc == 0 && x->to != x->copy)
		w->wrong = "the wrong copy was not refused";
	else if (rc != 0 && limit == 0 && !x->in_place && was != UNFINISHED && !same(&before, &after))
		w->wrong = "a merge failed, and the copy was changed";
	w->sum.merges += rc == 0;
	w->sum.refusals += rc != 0 && limit == 0;
	w->sum.killed += rc != 0 && limit != 0;
	w->sum.wrong_copies += x->to != x->copy;
}

/* Only what the copy has is ever confirmed. */
static void
confirm(unsigned copy)
{
	struct merge_report r;
	struct from f;
	struct into i;
	struct err e;

	if (merge_look(into_config(&i, copy), &r, &e) == 0 && stream_id_set(&r.state.id))
		extract_done(from_config(&f, copy), &r.state.id, &e);
}

/* --- old states --- */

/* Call fn() with the names of the files in the folder that begin so. */
static void
each_file(const char *begins, void (*fn)(const char *name, unsigned copy), unsigned copy)
{
	char names[64][80];
	unsigned n = 0;
	DIR *d = opendir(scratch_dir);

	for (struct dirent *x; d != NULL && n < 64 && (x = readdir(d)) != NULL;)
		if (x->d_name[0] != '.' && strncmp(x->d_name, begins, strlen(begins)) == 0)
			snprintf(names[n++], sizeof names[0], "%.70s", x->d_name);
	if (d == NULL || n == 64)
		abort();
	closedir(d);
	for (unsigned i = 0; i < n; i++)
		fn(names[i], copy);
}

static void
remove_file(const char *name, unsigned copy)
{
	(void)copy;
	if (unlink(in_scratch(name)) != 0)
		abort();
}

static void
copy_file(const char *from, const char *to)
{
	static uint8_t bytes[1 << 16];
	FILE *a = fopen(in_scratch(from), "r"), *b = fopen(in_scratch(to), "w");
	size_t n = a != NULL ? fread(bytes, 1, sizeof bytes, a) : 0;

	if (a == NULL || b == NULL || n == sizeof bytes || fwrite(bytes, 1, n, b) != n ||
	    fclose(b) != 0)
		abort();
	fclose(a);
}

static void
save_file(const char *name, unsigned copy)
{
	char to[100];

	snprintf(to, sizeof to, "saved%u-%s", copy, name);
	copy_file(name, to);
}

static void
back_up_file(const char *name, unsigned copy)
{
	char to[100];

	snprintf(to, sizeof to, "backup%u-%s", copy, name);
	copy_file(name, to);
}

static void
restore_file(const char *name, unsigned copy)
{
	(void)copy;
	copy_file(name, strchr(name, '-') + 1);
}

static void
restore_but_digests(const char *name, unsigned copy)
{
	if (strstr(name, ".digests") == NULL)
		restore_file(name, copy);
}

/* Call fn() with the files of a copy whose names begin with `word` and its number. */
static void
each_of(const char *word, unsigned copy, void (*fn)(const char *name, unsigned copy))
{
	char begins[20];

	snprintf(begins, sizeof begins, "%s%u", word, copy);
	each_file(begins, fn, copy);
}

static void
save_state(struct world *w, unsigned copy)
{
	each_of("saved", copy, remove_file);
	each_of("state.", copy, save_file);
	w->saved[copy] = true;
}

static void
restore_state(struct world *w, unsigned copy)
{
	if (!w->saved[copy])
		return;
	w->sum.restored++;
	if (!w->tracked || chance(2) == 0)
		each_of("state.", copy, remove_file);
	each_of("saved", copy, w->tracked && chance(2) == 0 ? restore_but_digests : restore_file);
}

/* A backup of a copy and of its journal is made, or the last one put back. */
static void
back_up_copy(struct world *w, unsigned copy)
{
	if (!w->backed_up[copy]) {
		each_of("copy", copy, back_up_file);
		w->backed_up[copy] = true;
		return;
	}
	each_of("copy", copy, remove_file);
	each_of("backup", copy, restore_file);
	each_of("backup", copy, remove_file);
	w->backed_up[copy] = false;
}

/* --- histories --- */

static void
step(struct world *w)
{
	unsigned copy = chance(COPIES), slot = chance(STREAMS);
	/* Mostly the last stream. */
	struct work x = { .copy = copy, .to = copy,
		.slot = chance(3) == 0 ? slot : w->last[copy] };

	unsigned what = chance(20);
	if (trace)
		printf("# step %u, copy %u\n", what, copy);
	switch (what) {
	case 0 ... 4: write_blocks(w); break;
	case 5 ... 8: do_extract(w, copy, slot, chance(12) == 0, 0); break;
	case 9 ... 11: deliver(w, &x, false, 0); break;
	case 12:
		x.in_place = true;
		deliver(w, &x, chance(2) == 0, 0);
		break;
	case 13: deliver(w, &x, true, 0); break;
	case 14: confirm(copy); break;
	case 15:
		x.to = 1 - copy;
		x.in_place = chance(2) == 0;
		deliver(w, &x, false, 0);
		break;
	case 16:
		do_extract(w, copy, slot, false, 1 + chance(3 * BLOCK));
		x.slot = slot;
		x.in_place = true;
		if (w->tracked && chance(2) == 0) /* which was read while it was written */
			deliver(w, &x, false, 0);
		break;
	case 17:
		x.in_place = chance(4) == 0;
		deliver(w, &x, false, 1 + chance(BYTES_MAX));
		break;
	case 18:
		if (chance(4) == 0)
			resize(w);
		break;
	default:
		if (w->tracked && chance(3) == 0)
			back_up_copy(w, copy);
		else if (chance(2) == 0)
			save_state(w, copy);
		else if (chance(2) == 0)
			restore_state(w, copy);
		break;
	}
}

/* What is left to do in the end: send what has changed; if that is refused, send it all. */
static void
settle(struct world *w, unsigned copy)
{
	static struct content after;
	struct work x = { .copy = copy, .to = copy };
	struct stream_id id;

	confirm(copy);
	if (do_extract(w, copy, 0, false, 0) != 0)
		return;
	if (run_merge(&x) != 0 && (do_extract(w, copy, 0, true, 0) != 0 || run_merge(&x) != 0))
		w->wrong = "a full copy was refused";
	get_copy(copy, &after);
	if (w->wrong == NULL && (look_at_copy(w, copy, &after, &id) != WHOLE || !same(&after, &w->device)))
		w->wrong = "not equal in the end";
}

static void
begin(struct world *w)
{
	memset(w, 0, offsetof(struct world, states));
	memset(&w->nstates, 0, sizeof *w - offsetof(struct world, nstates));
	w->device.bytes = BYTES_MAX - 100;
}

static void
add_up(struct sum *all, const struct world *w)
{
	all->good += w->wrong == NULL;
	all->merges += w->sum.merges;
	all->refusals += w->sum.refusals;
	all->restored += w->sum.restored;
	all->killed += w->sum.killed;
	all->wrong_copies += w->sum.wrong_copies;
	all->narrowed += w->sum.narrowed;
}

static void
history(struct world *w, uint64_t number, bool tracked, struct sum *sum)
{
	begin(w);
	w->tracked = tracked;
	seed = number * 0x9e3779b97f4a7c15u + 1;
	each_file("", remove_file, 0);
	write_blocks(w);
	for (unsigned i = 0; i < COPIES; i++)
		settle(w, i), confirm(i);
	for (unsigned i = 0; i < STEPS && w->wrong == NULL; i++)
		step(w);
	for (unsigned i = 0; i < COPIES && w->wrong == NULL; i++)
		settle(w, i);
	add_up(sum, w);
	if (w->wrong != NULL)
		printf("# HISTORIES=1 SEED=%llu %s: %s: %s\n", (unsigned long long)number,
		    program_invocation_name, tracked ? "tracker" : "scan", w->wrong);
}

/* --- the digests of the base --- */

static void
fill_block(struct world *w, unsigned block, unsigned with)
{
	memset(w->device.data + block * BLOCK, (int)with, BLOCK);
	note_write(w, block * BLOCK, block * BLOCK + 1);
	put_file("device", 0, &w->device);
}

/* A block gets another content, and the copy the new state, which is confirmed. */
static void
follow(struct world *w, unsigned block)
{
	if (block != 0)
		fill_block(w, block, block);
	settle(w, 0);
	confirm(0);
}

static void
begin_fine(struct world *w)
{
	begin(w);
	w->tracked = w->fine = true;
	each_file("", remove_file, 0);
	put_file("device", 0, &w->device);
}

static void
save_all(void)
{
	each_of("state.", 0, save_file);
	each_of("copy", 0, back_up_file);
}

static void
restore_all_but_digests(void)
{
	each_of("saved", 0, restore_but_digests);
	each_of("backup", 0, restore_file);
}

/* An extract ends before its n-th call that changes a file: while it carries over what is noted of the
 * base, and later.  Then the next sync is right; so it is if the state and the copy of before are put
 * back, but not the digests: they are of another state, or of none.  Returns whether it came so far. */
static bool
ends_before(struct world *w, unsigned n, bool put_back)
{
	struct work x = { .slot = 1, .fine = true, .run = run_extract };

	begin_fine(w);
	follow(w, 0);
	follow(w, 1);
	save_all();
	follow(w, 2);
	bool ended = run_until(&x, n) != 0;
	if (put_back)
		restore_all_but_digests();
	settle(w, 0);
	return ended;
}

static void
test_ends_before(struct world *w)
{
	bool ended = true;

	for (unsigned n = 1; ended && w->wrong == NULL && n < 200; n++)
		for (unsigned put_back = 0; put_back < 2; put_back++) {
			ended = ends_before(w, n, put_back == 1);
			T_CHECK(w->wrong == NULL);
		}
}

/* Of the newest stream for copy 0, as it is remembered. */
static uint64_t
made_at(void)
{
	struct from f;
	struct bases b;
	struct err e;

	T_CHECK(extract_bases(from_config(&f, 0), &b, &e) == 0);
	uint64_t at = b.made_at;
	bases_close(&b);
	return at;
}

/* A stream is merged in place up to the n-th call, and is not remembered, since the state of before is put
 * back.  The device gets back what it had.  A comparison with the base does not find that the copy has
 * something else there: the next stream must not be taken for one of each write.  Returns whether the merge
 * came so far. */
static bool
written_back(struct world *w, unsigned n)
{
	struct work late = { .slot = 2, .fine = true, .run = run_extract };
	struct work x = { .slot = 1, .in_place = true, .run = run_merge };

	begin_fine(w);
	for (unsigned block = 0; block < 3; block++)
		follow(w, block);
	each_of("state.", 0, save_file);
	fill_block(w, 5, 5);
	do_extract(w, 0, 1, false, 0);
	uint64_t then = made_at();
	each_of("saved", 0, restore_file);
	/* The time of the next stream is later, as it would be: extracts that fail have noted it. */
	for (unsigned i = 1; i < 30 && made_at() <= then; i++)
		run_until(&late, i);
	T_CHECK(made_at() > then);
	bool ended = run_until(&x, n) != 0;
	fill_block(w, 5, 0);
	settle(w, 0);
	return ended;
}

static void
test_written_back(struct world *w)
{
	bool ended = true;

	for (unsigned n = 1; ended && w->wrong == NULL && n < 100; n++) {
		ended = written_back(w, n);
		T_CHECK(w->wrong == NULL);
	}
}

/* The state of an earlier time is put back, with what it has noted, and the copy; the digests are of
 * a later one. */
static void
test_later_digests(struct world *w)
{
	begin_fine(w);
	for (unsigned block = 0; block < 3; block++)
		follow(w, block);
	save_all();
	follow(w, 4);
	follow(w, 8);
	restore_all_but_digests();
	settle(w, 0);
	T_CHECK(w->wrong == NULL);
}

/* Numbers of histories in which a copy was once wrong: an older stream was merged into a copy that
 * was incomplete, or a later one that had not what was written back. */
static const uint64_t once_wrong[] = { 481, 802, 1149, 5063, 5148, 5377, 5545, 5835 };

static void
tell_progress(uint64_t done, uint64_t histories, time_t began)
{
	if (histories < 1000 || done % (histories / 20) != 0)
		return;
	printf("# %llu of %llu histories, %llu s\n", (unsigned long long)done,
	    (unsigned long long)histories, (unsigned long long)(time(NULL) - began));
	fflush(stdout);
}

static int
run_histories(void)
{
	const char *n = getenv("HISTORIES"), *first = getenv("SEED");
	bool emulated = getenv("EMULATOR") != NULL && getenv("EMULATOR")[0] != '\0';
	uint64_t histories = n != NULL ? strtoull(n, NULL, 10) : emulated ? 20 : 60;
	uint64_t from = first != NULL ? strtoull(first, NULL, 10) : 1;
	time_t began = time(NULL);
	struct sum sum = { 0 };
	/* Shared memory is not copied for a child. */
	struct world *w = world = mmap(NULL, sizeof *w, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	/* In memory: everything is flushed. */
	if (access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 1);
	trace = getenv("TRACE") != NULL;
	scratch_init();
	/* Large buffers come from the system, and are not cleared again and again. */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	if (w == MAP_FAILED)
		abort();
	if (emulated)
		printf("# %llu histories, which are fewer than elsewhere: the processor is emulated\n",
		    (unsigned long long)histories);
	for (uint64_t i = 0; i < histories; i++) {
		history(w, from + i, false, &sum);
		history(w, from + i, true, &sum);
		tell_progress(i + 1, histories, began);
	}
	printf("# %llu merges, %llu that were refused or cut, %llu into the wrong copy, "
	       "%llu killed or without room, %llu old states restored\n",
	    (unsigned long long)sum.merges, (unsigned long long)sum.refusals,
	    (unsigned long long)sum.wrong_copies, (unsigned long long)sum.killed,
	    (unsigned long long)sum.restored);
	printf("# %llu bytes that the tracker named were not sent\n", (unsigned long long)sum.narrowed);
	T_CHECK(sum.good == 2 * histories);
	for (size_t i = 0; n == NULL && i < sizeof once_wrong / sizeof *once_wrong; i++) {
		struct sum again = { 0 };
		history(w, once_wrong[i], false, &again);
		T_CHECK(again.good == 1);
	}
	test_ends_before(w);
	test_written_back(w);
	test_later_digests(w);
	if (histories < 20) /* too few to have all of it */
		return t_done();
	T_CHECK(sum.merges > histories && sum.refusals > histories);
	T_CHECK(sum.wrong_copies > histories && sum.killed > histories);
	T_CHECK(sum.restored > histories / 10);
	T_CHECK(sum.narrowed > histories * BLOCK);
	return t_done();
}

#ifdef __SANITIZE_ADDRESS__
/* The checker of leaks cannot look at the first process of a namespace; what is called here has
 * tests of its own, in which leaks are found. */
int __lsan_is_turned_off(void);

int
__lsan_is_turned_off(void)
{
	return 1;
}
#endif

/* Whether the place is needed, or has one that is. */
static bool
is_needed(const char *place)
{
	static const char *const needed[] = { "/", "/proc", "/dev", "/dev/shm" };

	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		if (strcmp(place, needed[i]) == 0)
			return true;
	return false;
}

/* Take away all other mounts: the list of them is read for each file that is opened for writing.  Those
 * that cannot be taken away stay. */
static void
leave_mounts(void)
{
	char line[4096], place[4096];
	FILE *f = fopen("/proc/self/mounts", "r");

	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		if (sscanf(line, "%*s %4095s", place) == 1 && !is_needed(place))
			umount2(place, MNT_DETACH);
	if (f != NULL)
		fclose(f);
}

/* Run in namespaces of our own, in which this process alone is seen.  Returns false if that is
 * not possible, or true with the exit status. */
static bool
run_alone(int *status)
{
	int flags = CLONE_NEWPID | CLONE_NEWNS | (geteuid() != 0 ? CLONE_NEWUSER : 0);
	int said = 0;

	if (unshare(flags) != 0)
		return false;
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM); /* the runner may end the parent alone */
		bool private = mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
		if (private)
			leave_mounts();
		if (!private || mount("proc", "/proc", "proc", 0, NULL) != 0 ||
		    mount("none", "/sys", "tmpfs", MS_RDONLY, NULL) != 0)
			printf("# slow: all processes or loop devices of this machine are seen\n");
		exit(run_histories());
	}
	if (pid < 0 || waitpid(pid, &said, 0) != pid)
		return false;
	*status = WIFEXITED(said) ? WEXITSTATUS(said) : 1;
	return true;
}

int
main(void)
{
	int status;

	return run_alone(&status) ? status : run_histories();
}
