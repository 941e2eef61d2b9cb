/* A streaming disk in virtual order: by a seed, clients write, read, zero and trim, fetched data
 * arrives late, flushes happen, and power is lost; what was flushed must be there afterwards, and
 * nothing may be there that nobody has written.
 *
 *	test_streamed [SEEDS [FIRST]] */
#include "stream/disk/streamed_impl.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/random.h"
#include "tests/t.h"
#include "tests/unit/memdisk.h"
#include "tests/tmp.h"

enum {
	FRAME_SECTORS = 8 * PIECE_BITS,
	END_OF_IMAGE = 2 * FRAME_SECTORS + 500, /* the table is behind it */
	TABLE_SECTORS = 1024,
	DISK_SECTORS = END_OF_IMAGE + TABLE_SECTORS,
	PLACES = 3,
	PLACE_SECTORS = 40, /* where things happen, around the borders of frames */
	HOT = PLACES * PLACE_SECTORS,
	VERSIONS_MAX = 64,
	LATE_MAX = 8,
	LATE_SECTORS_MAX = 30,
	STEPS = 400,
	PAGE_BYTES = 4096,
};

/* A disk that loses what was not flushed. */

struct write {
	struct write *next;
	uint64_t at;
	size_t n;
	uint8_t data[];
};

struct vdisk {
	struct mem now; /* the first member, which mem_pread() is given */
	uint8_t *durable;
	struct write *first, **last;
	bool fails; /* the next flush does */
	sem_t *in_sync; /* posted by the next flush, which takes a while; NULL: not */
	/* Called once, after zeros were written at this byte; NULL: nothing is. */
	void (*behind_zeros)(void);
	uint64_t zeros_at;
};

/* So many flushes of any disk until the power ends, and they fail; -1: it does not. */
static int syncs_left = -1;

/* So many zeros, in the memory that was used for as many before.  A sanitizer marks each byte of
 * what is allocated, which takes longer than all else here. */
static uint8_t *
zeros(uint8_t *was, size_t was_bytes, size_t bytes)
{
	if (was == NULL || was_bytes != bytes || bytes < 2 * PAGE_BYTES) {
		free(was);
		return calloc(1, bytes);
	}
	uint8_t *page = was + (-(uintptr_t)was & (PAGE_BYTES - 1));
	size_t pages = (size_t)(was + bytes - page) / PAGE_BYTES * PAGE_BYTES;
	if (madvise(page, pages, MADV_DONTNEED) != 0)
		abort();
	memset(was, 0, (size_t)(page - was));
	memset(page + pages, 0, (size_t)(was + bytes - (page + pages)));
	return was;
}

static void
vdisk_init(struct vdisk *v, uint64_t bytes)
{
	uint8_t *now = zeros(v->now.b, v->now.len, bytes);
	uint8_t *durable = zeros(v->durable, v->now.len, bytes);

	*v = (struct vdisk){ .now = mem_of(now, bytes), .durable = durable };
	v->last = &v->first;
}

static void
forget(struct vdisk *v)
{
	struct write *w;

	while ((w = v->first) != NULL) {
		v->first = w->next;
		free(w);
	}
	v->last = &v->first;
}

static ssize_t
vdisk_pwrite(void *ctx, const void *buf, size_t len, uint64_t off)
{
	struct vdisk *v = ctx;
	struct write *w = malloc(sizeof *w + len);

	*w = (struct write){ .at = off, .n = len };
	memcpy(w->data, buf, len);
	*v->last = w;
	v->last = &w->next;
	mem_pwrite(&v->now, buf, len, off);
	if (v->behind_zeros != NULL && off == v->zeros_at && *w->data == 0) {
		void (*call)(void) = v->behind_zeros;
		v->behind_zeros = NULL;
		call();
	}
	return (ssize_t)len;
}

static int
vdisk_sync(void *ctx)
{
	struct vdisk *v = ctx;

	if (v->in_sync != NULL) {
		sem_post(v->in_sync);
		v->in_sync = NULL;
		usleep(200000);
	}
	if (v->fails || syncs_left == 0) {
		v->fails = false;
		errno = EIO;
		return -1;
	}
	syncs_left -= syncs_left > 0;
	for (const struct write *w = v->first; w != NULL; w = w->next)
		memcpy(v->durable + w->at, w->data, w->n);
	forget(v);
	return 0;
}

/* Of each write that was not flushed, each sector is kept or lost. */
static void
lose_power(struct vdisk *v)
{
	for (const struct write *w = v->first; w != NULL; w = w->next) {
		uint64_t fate = draw(3);
		for (size_t i = 0, n; i < w->n; i += n) {
			n = SECTOR_BYTES - (w->at + i) % SECTOR_BYTES;
			n = n < w->n - i ? n : w->n - i;
			if (fate == 0 || (fate == 1 && draw(2) == 0))
				memcpy(v->durable + w->at + i, w->data + i, n);
		}
	}
	for (const struct write *w = v->first; w != NULL; w = w->next)
		memcpy(v->now.b + w->at, v->durable + w->at, w->n);
	forget(v);
}

static const struct disk_ops ops = {
	.pread = mem_pread, .pwrite = vdisk_pwrite, .sync = vdisk_sync
};

static struct disk *
as_disk(struct vdisk *v, const char *name)
{
	struct disk *d;
	struct err e;

	if (disk_open_ops(&d, name, DISK_BLOCK, v->now.len, &ops, v, &e) != 0)
		abort();
	return d;
}

/* What is tested, and what must be true of it. */

/* What a hot sector may hold after a power cut: what was flushed last, and all that was written
 * since.  The last version is what it holds now. */
struct hot {
	unsigned n;
	uint8_t *version[VERSIONS_MAX];
	bool any; /* it was trimmed: what it holds is not known until it is flushed and read */
};

static struct vdisk below, table_disk, image;
static struct export *source;
static struct streamed *device;
static struct hot hot[HOT];
static bool apart; /* the table is on table_disk */
static bool zeroes; /* free space is cleared first */
static const char *problem;

/* Data that was fetched, and is not written yet. */
static struct late {
	struct range sectors;
	uint8_t data[LATE_SECTORS_MAX * SECTOR_BYTES];
} late[LATE_MAX];
static unsigned nlate;

static uint64_t
sector_of(unsigned i)
{
	uint64_t place = i / PLACE_SECTORS;

	return place * FRAME_SECTORS + i % PLACE_SECTORS -
	       (place > 0 ? PLACE_SECTORS / 2 : 0);
}

static void
add_version(struct hot *h, const uint8_t *data)
{
	if (h->n == VERSIONS_MAX) {
		free(h->version[1]); /* the last of so many is enough */
		memmove(h->version + 1, h->version + 2, (VERSIONS_MAX - 2) * sizeof *h->version);
		h->n--;
	}
	h->version[h->n] = malloc(SECTOR_BYTES);
	memcpy(h->version[h->n++], data, SECTOR_BYTES);
}

/* Of the versions, only the last may be there. */
static void
settle(struct hot *h)
{
	for (unsigned i = 0; i + 1 < h->n; i++)
		free(h->version[i]);
	h->version[0] = h->version[h->n - 1];
	h->n = 1;
}

static void
forget_versions(void)
{
	for (unsigned i = 0; i < HOT; i++) {
		while (hot[i].n > 0)
			free(hot[i].version[--hot[i].n]);
		hot[i].any = false;
	}
}

static atomic_bool told_failure; /* of filling the disk */

static void
tell(void *arg, const char *sentence)
{
	(void)arg;
	if (strstr(sentence, "is filled further") != NULL)
		atomic_store(&told_failure, true);
}

static void
open_device(void)
{
	struct streamed_config cfg = { .disk = "disk",
		.table = apart ? "table" : NULL,
		.zero = zeroes,
		.no_fill = true,
		.tell = tell };
	struct err e;

	if (streamed_open_on(&device, source, &cfg, as_disk(&below, "disk"),
		apart ? as_disk(&table_disk, "table") : NULL, &e) != 0) {
		printf("# %s\n", e.text);
		problem = "the disk cannot be opened";
	}
}

/* The image stores some sectors at each place. */
static bool
is_stored(uint64_t sector)
{
	uint64_t near = (sector + PLACE_SECTORS) % FRAME_SECTORS;

	return sector < END_OF_IMAGE && near < 3 * PLACE_SECTORS && sector % 13 < 7;
}

static void
make_source(void)
{
	struct export_config cfg = { .cache_bytes = 0 };
	struct rangeset set;
	struct err e;

	rangeset_init(&set);
	for (uint64_t at = 0; at < END_OF_IMAGE; at++)
		if (is_stored(at))
			rangeset_add(&set, (struct range){ at, 1 }, &e);
	rangeset_seal(&set);
	if (export_open_disk(&source, as_disk(&image, "image"), &set, &cfg, &e) != 0)
		abort();
}

/* What the image, and the disk before, have in a hot sector. */
static void
fill_hot(unsigned i)
{
	uint64_t sector = sector_of(i), at = sector * SECTOR_BYTES;

	memset(below.now.b + at, 0xa0 + (int)(sector % 50), SECTOR_BYTES);
	memcpy(below.durable + at, below.now.b + at, SECTOR_BYTES);
	memset(image.now.b + at, 0x40 + (int)(sector % 60), SECTOR_BYTES);
	add_version(&hot[i], (is_stored(sector) ? image.now.b : below.now.b) + at);
}

static void
begin(uint64_t seed)
{
	draw_seed = seed;
	apart = draw(2) == 0;
	problem = NULL;
	nlate = 0;
	vdisk_init(&below, (uint64_t)DISK_SECTORS * SECTOR_BYTES);
	vdisk_init(&table_disk, (uint64_t)TABLE_SECTORS * SECTOR_BYTES);
	vdisk_init(&image, (uint64_t)END_OF_IMAGE * SECTOR_BYTES);
	for (unsigned i = 0; i < HOT; i++)
		fill_hot(i);
	make_source();
	open_device();
}

static void
end(void)
{
	struct err e;

	streamed_close(device, &e);
	device = NULL;
	export_close(source);
	forget(&below);
	forget(&table_disk);
	forget(&image);
	forget_versions();
}

/* Steps. */

/* Some bytes of one place. */
static uint64_t
some_bytes(unsigned *first, size_t *n)
{
	unsigned place = (unsigned)draw(PLACES);
	size_t in = draw(PLACE_SECTORS * SECTOR_BYTES), most = PLACE_SECTORS * SECTOR_BYTES - in;

	*n = 1 + draw(draw(3) == 0 ? most : most < 3000 ? most : 3000);
	if (draw(2) == 0) {
		in = in / SECTOR_BYTES * SECTOR_BYTES;
		*n = (*n + SECTOR_BYTES - 1) / SECTOR_BYTES * SECTOR_BYTES;
		*n = *n < PLACE_SECTORS * SECTOR_BYTES - in ? *n
							    : PLACE_SECTORS * SECTOR_BYTES - in;
	}
	*first = place * PLACE_SECTORS + (unsigned)(in / SECTOR_BYTES);
	return sector_of(*first) * SECTOR_BYTES + in % SECTOR_BYTES;
}

/* Note that bytes were written; data NULL: zeros. */
static void
note_write(unsigned first, uint64_t at, size_t n, const uint8_t *data)
{
	uint8_t sector[SECTOR_BYTES];

	for (unsigned i = first; n > 0; i++) {
		size_t in = at % SECTOR_BYTES, now = SECTOR_BYTES - in < n ? SECTOR_BYTES - in : n;
		memcpy(sector, hot[i].version[hot[i].n - 1], sizeof sector);
		if (data != NULL)
			memcpy(sector + in, data, now);
		else
			memset(sector + in, 0, now);
		if (now == SECTOR_BYTES || !hot[i].any)
			add_version(&hot[i], sector);
		data = data != NULL ? data + now : NULL;
		at += now;
		n -= now;
	}
}

static void
step_write(bool zero)
{
	static uint8_t data[PLACE_SECTORS * SECTOR_BYTES];
	unsigned first;
	size_t n;
	uint64_t at = some_bytes(&first, &n);
	struct err e;

	for (size_t i = 0; i < n; i++)
		data[i] = (uint8_t)draw(256);
	if ((zero ? streamed_zero(device, n, at, &e) : streamed_write(device, data, n, at, &e)) != 0)
		problem = "a write fails";
	note_write(first, at, n, zero ? NULL : data);
}

static bool
is_absent(uint64_t sector)
{
	uint64_t n;
	bool absent;
	struct err e;

	if (streamed_absent_run(device, (struct range){ sector, 1 }, &absent, &n, &e) != 0)
		problem = "it is not known what is absent";
	return absent;
}

/* What was absent is zeros from now on; other sectors may hold anything. */
static void
step_trim(void)
{
	static const uint8_t zeros[SECTOR_BYTES];
	unsigned first;
	size_t n;
	uint64_t at = some_bytes(&first, &n);
	bool absent[HOT];
	struct err e;

	for (unsigned i = first; i < HOT; i++)
		absent[i] = is_absent(sector_of(i));
	if (streamed_trim(device, n, at, &e) != 0)
		problem = "a trim fails";
	uint64_t from = (at + SECTOR_BYTES - 1) / SECTOR_BYTES, to = (at + n) / SECTOR_BYTES;
	for (unsigned i = first; i < HOT; i++)
		if (sector_of(i) >= from && sector_of(i) < to && absent[i])
			add_version(&hot[i], zeros);
		else if (sector_of(i) >= from && sector_of(i) < to)
			hot[i].any = true;
}

static void
step_read(void)
{
	static uint8_t data[PLACE_SECTORS * SECTOR_BYTES];
	unsigned first;
	size_t n;
	uint64_t at = some_bytes(&first, &n);
	struct err e;

	if (streamed_read(device, data, n, at, &e) != 0)
		problem = "a read fails";
	const uint8_t *p = data;
	for (unsigned i = first; n > 0 && problem == NULL; i++) {
		size_t in = at % SECTOR_BYTES, now = SECTOR_BYTES - in < n ? SECTOR_BYTES - in : n;
		if (!hot[i].any && memcmp(p, hot[i].version[hot[i].n - 1] + in, now) != 0)
			problem = "a read returns something else";
		p += now;
		at += now;
		n -= now;
	}
}

/* Other machines read what the source has, whatever was written, and after power cuts, too. */
static void
step_read_image(void)
{
	static uint8_t data[PLACE_SECTORS * SECTOR_BYTES], right[sizeof data];
	unsigned first;
	size_t n;
	uint64_t at = some_bytes(&first, &n);
	struct err e;

	if (streamed_read_image(device, data, n, at, &e) != 0 ||
	    export_read(source, right, n, at, &e) != 0)
		problem = "the image cannot be read";
	else if (memcmp(data, right, n) != 0)
		problem = "the image for other machines has something else";
}

/* Fetch what the fill or a client would: it is written later. */
static void
step_fetch(void)
{
	unsigned place = (unsigned)draw(PLACES), in = (unsigned)draw(PLACE_SECTORS);
	unsigned n = 1 + (unsigned)draw(LATE_SECTORS_MAX);
	struct err e;

	if (nlate == LATE_MAX)
		return;
	n = n < PLACE_SECTORS - in ? n : PLACE_SECTORS - in;
	struct late *l = &late[nlate++];
	l->sectors = (struct range){ sector_of(place * PLACE_SECTORS + in), n };
	if (streamed_fetch(device, l->data, n * SECTOR_BYTES, l->sectors.off * SECTOR_BYTES, &e) !=
	    0)
		problem = "a fetch fails";
}

static void
step_put(void)
{
	unsigned i = nlate > 0 ? (unsigned)draw(nlate) : 0;
	uint64_t written;
	struct err e;

	if (nlate == 0)
		return;
	if (streamed_put(device, late[i].sectors, late[i].data, &written, &e) != 0)
		problem = "fetched data cannot be written";
	late[i] = late[--nlate];
}

/* What a trimmed sector holds is known when it was flushed and read. */
static void
learn(unsigned i)
{
	uint8_t data[SECTOR_BYTES];
	struct err e;

	if (streamed_read(device, data, sizeof data, sector_of(i) * SECTOR_BYTES, &e) != 0)
		problem = "a read fails";
	add_version(&hot[i], data);
	hot[i].any = false;
}

static void
step_flush(void)
{
	struct err e;

	if (streamed_flush_some(device, draw(3) == 0, &e) != 0)
		problem = "a flush fails";
	for (unsigned i = 0; i < HOT; i++) {
		if (hot[i].any)
			learn(i);
		settle(&hot[i]);
	}
}

/* After a power cut: which version is it? */
static bool
is_possible(struct hot *h, const uint8_t *data)
{
	bool found = h->any;

	for (unsigned i = 0; i < h->n && !found; i++)
		found = memcmp(h->version[i], data, SECTOR_BYTES) == 0;
	add_version(h, data);
	settle(h);
	h->any = false;
	return found;
}

/* Has this sector what the image has, or is it known that it was written locally? */
static bool
is_of_image_or_local(uint64_t sector, const uint8_t *data)
{
	struct range r = { sector, 1 };
	bool untouched;
	uint64_t n;
	struct err e;

	if (!is_stored(sector) || atomic_load(&device->finished))
		return true;
	return table_untouched(device->table, r, &untouched, &n, &e) == 0 &&
	       (!untouched ||
		memcmp(data, image.now.b + sector * SECTOR_BYTES, SECTOR_BYTES) == 0);
}

/* Open the disk again, after the power was lost. */
static void
go_on(void)
{
	uint8_t data[SECTOR_BYTES];
	struct err e;

	lose_power(&below);
	lose_power(&table_disk);
	syncs_left = -1;
	device = NULL;
	nlate = 0;
	open_device();
	for (unsigned i = 0; i < HOT && problem == NULL; i++) {
		if (streamed_read(device, data, sizeof data, sector_of(i) * SECTOR_BYTES, &e) != 0)
			problem = "a read after a power cut fails";
		else if (!is_possible(&hot[i], data))
			problem = "after a power cut a sector holds what it may not";
		else if (!is_of_image_or_local(sector_of(i), data))
			problem = "after a power cut nobody knows that a sector was written locally";
	}
}

/* Lose the power, and open the disk again. */
static void
crash(void)
{
	struct err e;

	lose_power(&below);
	lose_power(&table_disk);
	syncs_left = 0; /* so that closing writes nothing */
	streamed_close(device, &e);
	go_on();
}

/* The power ends amid a flush, or behind one. */
static void
step_crash(void)
{
	struct err ignored;

	syncs_left = (int)draw(5);
	streamed_flush_some(device, draw(2) == 0, &ignored);
	crash();
}

/* The disk is closed.  Power is lost amid that, or afterwards; what was closed is on the disk. */
static void
step_close(void)
{
	struct err ignored;

	syncs_left = draw(3) == 0 ? -1 : (int)draw(6);
	if (streamed_close(device, &ignored) == 0)
		for (unsigned i = 0; i < HOT; i++)
			settle(&hot[i]);
	go_on();
}

static void
step(void)
{
	uint64_t kind = draw(100);

	if (kind < 25)
		step_write(false);
	else if (kind < 32)
		step_write(true);
	else if (kind < 37)
		step_trim();
	else if (kind < 45)
		step_read_image();
	else if (kind < 60)
		step_read();
	else if (kind < 75)
		step_fetch();
	else if (kind < 90)
		step_put();
	else if (kind < 97)
		step_flush();
	else if (kind < 99)
		step_crash();
	else
		step_close();
}

/* Everything that is absent is fetched. */
static void
fetch_all(void)
{
	static uint8_t data[64 * SECTOR_BYTES];
	uint64_t n, written;
	struct err e;
	bool absent;

	step_flush();
	for (uint64_t at = 0; at < END_OF_IMAGE && problem == NULL; at += n) {
		struct range r = { at, END_OF_IMAGE - at < 64 ? END_OF_IMAGE - at : 64 };
		if (streamed_absent_run(device, r, &absent, &n, &e) != 0)
			problem = "the table cannot be asked";
		r.len = n;
		if (absent && (streamed_fetch(device, data, n * SECTOR_BYTES, at * SECTOR_BYTES, &e) !=
				      0 ||
				  streamed_put(device, r, data, &written, &e) != 0))
			problem = "the disk cannot be filled";
	}
}

/* When nothing is absent any more, the disk itself is what it showed. */
static void
become_whole(void)
{
	struct err e;

	fetch_all();
	if (problem == NULL && streamed_finish(device, &e) != 0)
		problem = "the disk cannot be finished";
	for (unsigned i = 0; i < HOT && problem == NULL; i++)
		if (memcmp(below.durable + sector_of(i) * SECTOR_BYTES,
			hot[i].version[hot[i].n - 1], SECTOR_BYTES) != 0)
			problem = "the finished disk is not what it showed";
}

static bool
run(uint64_t seed)
{
	begin(seed);
	for (unsigned i = 0; i < STEPS && problem == NULL; i++)
		step();
	if (problem == NULL)
		become_whole();
	if (problem != NULL)
		printf("# seed %llu: %s\n", (unsigned long long)seed, problem);
	end();
	return problem == NULL;
}

static bool
show_problem(const char *what, uint64_t seed)
{
	if (problem != NULL)
		printf("# %s, seed %llu: %s\n", what, (unsigned long long)seed, problem);
	return problem == NULL;
}

/* The power ends amid the first flush of local data. */
static bool
first_flush(uint64_t seed)
{
	begin(seed);
	for (unsigned i = 0; i < 4; i++)
		step_write(false);
	step_crash();
	bool right = show_problem("the first flush", seed);
	end();
	return right;
}

/* A disk that was closed in order is written to where data had been fetched, and the power ends before
 * a flush. */
static bool
written_behind_close(uint64_t seed)
{
	struct err e;

	begin(seed);
	for (unsigned i = 0; i < LATE_MAX; i++)
		step_fetch();
	while (nlate > 0)
		step_put();
	if (streamed_close(device, &e) != 0)
		problem = "the disk cannot be closed";
	go_on();
	for (unsigned i = 0; i < 4 && problem == NULL; i++)
		step_write(false);
	if (problem == NULL)
		crash();
	bool right = show_problem("a write behind a close", seed);
	end();
	return right;
}

/* The power ends at the n-th flush amid the end, which then happens again.  *ended: there were
 * fewer. */
static bool
cut_amid_the_end(uint64_t seed, int n, bool *ended)
{
	struct err e;

	begin(seed);
	for (unsigned i = 0; i < 10; i++)
		step_write(draw(4) == 0);
	fetch_all();
	syncs_left = n;
	*ended = streamed_finish(device, &e) == 0;
	crash();
	if (problem == NULL)
		become_whole();
	bool right = show_problem("the end", seed);
	end();
	return right;
}

static bool
all_cuts_amid_the_end(uint64_t seed)
{
	bool ended = false, right = true;

	for (int n = 0; !ended && right; n++)
		right = cut_amid_the_end(seed, n, &ended);
	return right;
}

/* Begin a disk whose table is on another one. */
static void
begin_apart(void)
{
	for (uint64_t seed = 1; seed == 1 || !apart; seed++) {
		if (seed > 1)
			end();
		begin(seed);
	}
}

/* A disk that is whole, and whose boot area cannot be read from the table, is not opened, and not
 * finished either. */
static void
bad_boot_area(void)
{
	struct err e;

	begin_apart();
	fetch_all();
	T_CHECK(problem == NULL && streamed_flush_some(device, true, &e) == 0);
	crash();
	syncs_left = 0;
	streamed_close(device, &e);
	device = NULL;
	syncs_left = -1;
	table_disk.now.bad = 2 * 4096;
	open_device();
	T_CHECK(problem != NULL && device == NULL);
	T_CHECK(memcmp(below.now.b, "NDZ unfinished", 14) == 0);
	table_disk.now.bad = SIZE_MAX;
	problem = NULL;
	open_device();
	T_CHECK(problem == NULL);
	become_whole();
	T_CHECK(problem == NULL);
	end();
}

static void *
flush_once(void *arg)
{
	struct err e;

	*(int *)arg = streamed_flush(device, &e);
	return NULL;
}

/* The end comes while a flush runs, which fails. */
static void
end_behind_failing_flush(void)
{
	pthread_t thread;
	sem_t in_sync;
	struct err e;
	int rc;

	begin(1);
	fetch_all();
	sem_init(&in_sync, 0, 0);
	below.in_sync = &in_sync;
	below.fails = true;
	if (pthread_create(&thread, NULL, flush_once, &rc) != 0)
		abort();
	sem_wait(&in_sync);
	T_CHECK(streamed_finish(device, &e) != 0 && e.kind == ERR_IO);
	pthread_join(thread, NULL);
	T_CHECK(rc != 0);
	sem_destroy(&in_sync);
	end();
}

static void *
flush_all_once(void *arg)
{
	struct err e;

	*(int *)arg = streamed_flush_some(device, true, &e);
	return NULL;
}

/* A flush of all marks waits together with one of local marks: the latter does not do for both. */
static void
flush_all_behind_others(void)
{
	void *(*const run[])(void *) = { flush_once, flush_once, flush_all_once };
	uint8_t data[SECTOR_BYTES] = { 0 };
	pthread_t thread[3];
	uint64_t written;
	sem_t in_sync;
	struct err e;
	int rc[3];

	begin(1);
	T_CHECK(streamed_put(device, (struct range){ 0, 1 }, data, &written, &e) == 0);
	T_CHECK(written == 1 && table_is_dirty(device->table));
	sem_init(&in_sync, 0, 0);
	below.in_sync = &in_sync;
	for (unsigned i = 0; i < 3; i++) {
		if (pthread_create(&thread[i], NULL, run[i], &rc[i]) != 0)
			abort();
		if (i == 0)
			sem_wait(&in_sync);
		usleep(30000); /* they wait in this order */
	}
	for (unsigned i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	T_CHECK(rc[0] == 0 && rc[1] == 0 && rc[2] == 0 && !table_is_dirty(device->table));
	sem_destroy(&in_sync);
	end();
}

/* A sector that the image stores, in the table's second frame. */
static unsigned
stored_hot(void)
{
	unsigned i = PLACE_SECTORS + PLACE_SECTORS / 2;

	while (!is_stored(sector_of(i)))
		i++;
	return i;
}

static void
write_hot(void)
{
	uint8_t data[SECTOR_BYTES];
	unsigned i = stored_hot();
	struct err e;

	memset(data, 0x77, sizeof data);
	if (streamed_write(device, data, sizeof data, sector_of(i) * SECTOR_BYTES, &e) != 0)
		problem = "a write fails while the table is cleared";
	add_version(&hot[i], data);
}

/* A client writes while the table of a disk that has gone on is being cleared. */
static void
write_amid_clearing(void)
{
	struct err e;

	begin_apart();
	fetch_all();
	T_CHECK(problem == NULL && streamed_flush_some(device, true, &e) == 0);
	crash();
	table_disk.zeros_at = 2 * 4096; /* behind the headers */
	table_disk.behind_zeros = write_hot;
	T_CHECK(streamed_finish(device, &e) == 0);
	T_CHECK(table_disk.behind_zeros == NULL && problem == NULL);
	T_CHECK(streamed_flush(device, &e) == 0);
	T_CHECK(below.durable[sector_of(stored_hot()) * SECTOR_BYTES] == 0x77);
	end();
}

/* Disks of any size, which have zeros. */
static struct mem zeros_image, zeros_disk, zeros_table;

static pthread_barrier_t meeting;
static atomic_bool meet; /* each thread that clears waits there, once, for the others */
static _Thread_local bool has_met;

static int
meet_others(struct mem *m, enum mem_access what, struct range bytes)
{
	(void)m, (void)bytes;
	if (what == MEM_ZERO && atomic_load(&meet) && !has_met) {
		has_met = true;
		pthread_barrier_wait(&meeting);
	}
	return 0;
}

static struct disk *
open_zeros(struct mem *m, const char *name, uint64_t bytes)
{
	*m = mem_of(NULL, bytes);
	m->before = meet_others;
	return mem_open(m, name, DISK_BLOCK);
}

/* Make a source that stores all of this disk. */
static void
make_full_source(struct disk *d)
{
	struct export_config cfg = { .cache_bytes = 0 };
	uint64_t sectors = (disk_size_bytes(d) + SECTOR_BYTES - 1) / SECTOR_BYTES;
	struct rangeset set;
	struct err e;

	rangeset_init(&set);
	rangeset_add(&set, (struct range){ 0, sectors }, &e);
	rangeset_seal(&set);
	if (export_open_disk(&source, d, &set, &cfg, &e) != 0)
		abort();
}

/* The longest request to clear marks more than a small table has room for. */
static void
long_request(void)
{
	const uint64_t bytes = UINT64_C(5) << 30, most = UINT32_MAX;
	struct streamed_config cfg = { .disk = "disk",
		.table = "table",
		.table_memory_bytes = TABLE_MEMORY_BYTES_MIN,
		.no_fill = true,
		.tell = tell };
	struct err e;
	uint64_t n;
	bool absent;

	vdisk_init(&table_disk, table_bytes(bytes / SECTOR_BYTES));
	make_full_source(open_zeros(&zeros_image, "image", bytes));
	if (streamed_open_on(&device, source, &cfg,
		open_zeros(&zeros_disk, "disk", bytes),
		as_disk(&table_disk, "table"), &e) != 0)
		abort();
	T_CHECK(streamed_zero(device, most, 1000, &e) == 0);
	T_CHECK(streamed_status(device).written_bytes == most);
	/* Two sectors were cleared in part, and fetched. */
	T_CHECK(streamed_status(device).present_bytes == (most / SECTOR_BYTES + 2) * SECTOR_BYTES);
	/* One question finds all frames that are whole, so that who goes through a disk asks few.  Of the
	 * first frame a sector is absent. */
	struct range behind = { FRAME_SECTORS, bytes / SECTOR_BYTES - FRAME_SECTORS };
	T_CHECK(streamed_absent_run(device, behind, &absent, &n, &e) == 0 && !absent);
	T_CHECK(n == (most / SECTOR_BYTES / FRAME_SECTORS - 1) * FRAME_SECTORS);
	streamed_close(device, &e);
	export_close(source);
	forget(&table_disk);
	device = NULL;
}

struct clearer {
	uint64_t at;
	int rc;
};

enum { CLEARERS = 16, CLEAR_BYTES = 64 << 20 };

static void *
clear_one(void *arg)
{
	struct clearer *c = arg;
	struct err e;

	c->rc = streamed_zero(device, CLEAR_BYTES, c->at, &e);
	return NULL;
}

/* As many requests to clear as nbdkit has at a time come together when half of a small table is marked
 * already: there is room for all marks. */
static void
clear_together(void)
{
	enum { FRAMES = 60000 }; /* so many that half of the memory is for what is known of each */
	const uint64_t frame_bytes = (uint64_t)FRAME_SECTORS * SECTOR_BYTES;
	const uint64_t bytes = FRAMES * frame_bytes;
	struct streamed_config cfg = { .disk = "disk",
		.table = "table",
		.table_memory_bytes = TABLE_MEMORY_BYTES_MIN,
		.no_fill = true,
		.tell = tell };
	uint8_t data[SECTOR_BYTES] = { 0 };
	struct clearer c[CLEARERS];
	pthread_t t[CLEARERS];
	uint64_t frames = 0;
	struct err e;
	int rc = 0;

	make_full_source(open_zeros(&zeros_image, "image", bytes));
	if (streamed_open_on(&device, source, &cfg,
		open_zeros(&zeros_disk, "disk", bytes),
		open_zeros(&zeros_table, "table", table_bytes(bytes / SECTOR_BYTES)),
		&e) != 0)
		abort();
	for (; rc == 0 && !table_is_crowded(device->table); frames++)
		rc = streamed_write(device, data, sizeof data, frames * frame_bytes, &e);
	T_CHECK(rc == 0 && frames < 100 && streamed_flush_some(device, true, &e) == 0);
	for (uint64_t i = 1; rc == 0 && i < frames; i++)
		rc = streamed_write(device, data, sizeof data, i * frame_bytes + 4096, &e);
	T_CHECK(rc == 0 && !table_is_crowded(device->table));
	pthread_barrier_init(&meeting, NULL, CLEARERS);
	atomic_store(&meet, true);
	for (unsigned i = 0; i < CLEARERS; i++) {
		c[i].at = (UINT64_C(2) << 30) + (uint64_t)i * 4 * CLEAR_BYTES;
		T_CHECK(pthread_create(&t[i], NULL, clear_one, &c[i]) == 0);
	}
	for (unsigned i = 0; i < CLEARERS; i++) {
		pthread_join(t[i], NULL);
		T_CHECK(c[i].rc == 0);
	}
	atomic_store(&meet, false);
	pthread_barrier_destroy(&meeting);
	streamed_close(device, &e);
	export_close(source);
	device = NULL;
}

/* A record is valid that has the last sector of an image of a file, which is not a whole one. */
static void
record_of_part(void)
{
	const uint64_t bytes = (1 << 20) + 100;
	char folder[200], path[220];
	struct streamed_config cfg = {
		.disk = "disk", .table = "memory", .no_fill = true, .record = path, .tell = tell
	};
	uint8_t data[SECTOR_BYTES];
	struct order order;
	struct err e;

	if (!tmp_folder(folder, sizeof folder, "streamed"))
		abort();
	snprintf(path, sizeof path, "%s/record", folder);
	make_full_source(open_zeros(&zeros_image, "image", bytes));
	if (streamed_open_on(&device, source, &cfg,
		open_zeros(&zeros_disk, "disk", 2 << 20), NULL, &e) != 0)
		abort();
	T_CHECK(streamed_start(device, &e) == 0);
	T_CHECK(streamed_read(device, data, sizeof data, 1 << 20, &e) == 0);
	streamed_close(device, &e);
	export_close(source);
	device = NULL;
	if (T_CHECK(order_read(&order, path, &e) == 0)) {
		T_CHECK(order.n == 1 && order.sectors == 1);
		order_free(&order);
	}
	unlink(path);
	rmdir(folder);
}

/* A table for which there is no room is refused before anything is written. */
static void
no_room_for_table(void)
{
	const uint64_t bytes = UINT64_C(5) << 30;
	struct streamed_config cfg = { .disk = "disk",
		.table = "memory",
		.table_memory_bytes = TABLE_MEMORY_BYTES_MIN,
		.no_fill = true,
		.tell = tell };
	struct err e;

	make_full_source(open_zeros(&zeros_image, "image", bytes));
	T_CHECK(streamed_open_on(&device, source, &cfg,
		    open_zeros(&zeros_disk, "disk", bytes), NULL, &e) != 0 &&
		e.kind == ERR_NOMEM && zeros_disk.writes == 0);
	cfg.table = "table";
	vdisk_init(&table_disk, 8 * 4096);
	T_CHECK(streamed_open_on(&device, source, &cfg,
		    open_zeros(&zeros_disk, "disk", bytes),
		    as_disk(&table_disk, "table"), &e) != 0 &&
		e.kind == ERR_USAGE && zeros_disk.writes == 0 && zeros_image.writes == 0);
	export_close(source);
	forget(&table_disk);
	device = NULL;
}

/* Wait a minute at most. */
static bool
wait_until(bool (*is)(uint64_t), uint64_t arg)
{
	for (unsigned i = 0; i < 12000 && !is(arg); i++)
		usleep(5000);
	return is(arg);
}

static bool
has_present(uint64_t bytes)
{
	return streamed_status(device).present_bytes >= bytes;
}

static bool
has_told(uint64_t unused)
{
	(void)unused;
	return atomic_load(&told_failure);
}

/* What cannot be fetched does not keep the rest from being fetched, also if a client has read there. */
static void
bad_source(void)
{
	const uint64_t bytes = 8 << 20, most = bytes - (2 << 20);
	struct streamed_config cfg = { .disk = "disk",
		.table = "memory",
		.idle_ms = UINT64_C(24) * 3600 * 1000,
		.timeout_ms = 1,
		.tell = tell };
	uint8_t data[SECTOR_BYTES];
	struct err e;

	vdisk_init(&image, bytes);
	make_full_source(as_disk(&image, "image"));
	if (streamed_open_on(&device, source, &cfg,
		open_zeros(&zeros_disk, "disk", bytes + (1 << 20)), NULL, &e) != 0)
		abort();
	image.now.bad = (3 << 20) + 5 * SECTOR_BYTES;
	T_CHECK(streamed_start(device, &e) == 0);
	T_CHECK(streamed_read(device, data, sizeof data, image.now.bad, &e) != 0);
	T_CHECK(wait_until(has_present, most));
	streamed_close(device, &e);
	export_close(source);
	forget(&image);
	device = NULL;
}

/* A part of the table cannot be read for a while, when all behind a place where a client has read is
 * present: the disk is filled further. */
static void
bad_table(void)
{
	enum { FRAMES = 300, RUNS = 4 }; /* more frames than fit into memory, also as runs */
	const uint64_t bytes = (uint64_t)FRAMES * FRAME_SECTORS * SECTOR_BYTES;
	struct streamed_config cfg = { .disk = "disk",
		.table = "table",
		.table_memory_bytes = TABLE_MEMORY_BYTES_MIN,
		.idle_ms = UINT64_C(24) * 3600 * 1000,
		.tell = tell };
	uint8_t data[SECTOR_BYTES] = { 0 };
	struct err e;
	int rc = 0;

	vdisk_init(&table_disk, table_bytes(bytes / SECTOR_BYTES));
	make_full_source(open_zeros(&zeros_image, "image", bytes));
	if (streamed_open_on(&device, source, &cfg,
		open_zeros(&zeros_disk, "disk", bytes),
		as_disk(&table_disk, "table"), &e) != 0)
		abort();
	for (uint64_t i = 0; i < FRAMES * RUNS && rc == 0; i++)
		rc = streamed_write(device, data, sizeof data,
		    (i / RUNS * FRAME_SECTORS + 2 * (i % RUNS) + 1) * SECTOR_BYTES, &e);
	T_CHECK(rc == 0 && streamed_flush(device, &e) == 0);
	table_disk.now.bad = 4 * 4096; /* the first frame of sectors */
	atomic_store(&told_failure, false);
	T_CHECK(streamed_start(device, &e) == 0);
	T_CHECK(streamed_read(device, data, sizeof data,
		    ((FRAMES - 1) * FRAME_SECTORS + 1000) * (uint64_t)SECTOR_BYTES, &e) == 0);
	T_CHECK(wait_until(has_told, 0));
	uint64_t present = streamed_status(device).present_bytes;
	table_disk.now.bad = SIZE_MAX;
	T_CHECK(wait_until(has_present, present + 1));
	streamed_close(device, &e);
	export_close(source);
	forget(&table_disk);
	device = NULL;
}

/* The image's partition table cannot be read for a while: nothing is known about where the sector
 * table is, nor which partitions were left out. */
static void
bad_partitions(void)
{
	static const uint8_t extended[16] = { [4] = 5, [8] = 1000 & 0xff, [9] = 1000 >> 8, [12] = 100 };
	const struct range runs[] = { { 0, 1 }, { 1000, 1 }, { 2000, 100 } };
	const uint64_t free_at = 3000 * SECTOR_BYTES;
	struct export_config cfg = { .cache_bytes = 0 };
	struct rangeset set;
	struct err e;

	vdisk_init(&below, (uint64_t)DISK_SECTORS * SECTOR_BYTES);
	vdisk_init(&table_disk, (uint64_t)TABLE_SECTORS * SECTOR_BYTES);
	vdisk_init(&image, (uint64_t)END_OF_IMAGE * SECTOR_BYTES);
	memcpy(image.now.b + 446, extended, sizeof extended);
	memcpy(image.now.b + 510, "\x55\xaa", 2);
	memset(below.now.b + free_at, 0x33, SECTOR_BYTES);
	rangeset_init(&set);
	for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++)
		rangeset_add(&set, runs[i], &e);
	rangeset_seal(&set);
	if (export_open_disk(&source, as_disk(&image, "image"), &set, &cfg, &e) != 0)
		abort();
	image.now.bad = 1000 * SECTOR_BYTES;
	apart = false;
	open_device();
	T_CHECK(problem != NULL && below.now.b[0] == 0);
	problem = NULL;
	apart = zeroes = true;
	open_device();
	T_CHECK(problem != NULL && below.now.b[free_at] == 0x33);
	problem = NULL;
	image.now.bad = SIZE_MAX;
	open_device();
	T_CHECK(problem == NULL && below.now.b[free_at] == 0);
	zeroes = false;
	end();
}

/* A machine that is never idle gets its share, also if the image stores many short runs. */
static void
short_runs(void)
{
	enum { RUNS = 400, RUN_SECTORS = 16 };
	const uint64_t bytes = (uint64_t)RUNS * RUN_SECTORS * SECTOR_BYTES + (1 << 20);
	struct streamed_config cfg = { .disk = "disk",
		.table = "memory",
		.idle_ms = UINT64_C(24) * 3600 * 1000,
		.tell = tell };
	struct export_config export_cfg = { .cache_bytes = 0 };
	struct rangeset set;
	struct err e;

	rangeset_init(&set);
	for (unsigned i = 0; i < RUNS; i++)
		rangeset_add(&set, (struct range){ (uint64_t)i * RUN_SECTORS, 1 }, &e);
	rangeset_seal(&set);
	if (export_open_disk(&source, open_zeros(&zeros_image, "image", bytes), &set,
		&export_cfg, &e) != 0 ||
	    streamed_open_on(&device, source, &cfg,
		open_zeros(&zeros_disk, "disk", bytes), NULL, &e) != 0 ||
	    streamed_start(device, &e) != 0)
		abort();
	/* They have less than one share, and 400 shares last 100 s. */
	for (unsigned i = 0; i < 12000 && !streamed_status(device).finished; i++)
		usleep(5000);
	T_CHECK(streamed_status(device).finished);
	streamed_close(device, &e);
	export_close(source);
	device = NULL;
}

/* After a flush that failed, none succeeds. */
static void
failed_flush(void)
{
	struct err e;

	begin(1);
	T_CHECK(streamed_write(device, "x", 1, 0, &e) == 0);
	below.fails = true;
	T_CHECK(streamed_flush(device, &e) != 0 && e.kind == ERR_IO);
	T_CHECK(streamed_flush(device, &e) != 0 && e.kind == ERR_IO);
	end();
}

/* Two threads wait for a flush while another one runs; one of them flushes for both, and fails. */
static void
shared_flush_fails(void)
{
	pthread_t thread[3];
	sem_t in_sync;
	struct err e;
	int rc[3];

	begin(1);
	T_CHECK(streamed_flush_some(device, true, &e) == 0);
	syncs_left = 1; /* the first thread's: nothing is marked, so a flush is one */
	sem_init(&in_sync, 0, 0);
	below.in_sync = &in_sync;
	for (unsigned i = 0; i < 3; i++) {
		if (pthread_create(&thread[i], NULL, flush_once, &rc[i]) != 0)
			abort();
		if (i == 0)
			sem_wait(&in_sync);
	}
	for (unsigned i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	T_CHECK(rc[0] == 0 && rc[1] != 0 && rc[2] != 0);
	syncs_left = -1;
	sem_destroy(&in_sync);
	end();
}

int
main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 40;
	uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	bool right = true;

	for (uint64_t seed = first; seed < first + n; seed++)
		right &= run(seed);
	T_CHECK(right);
	for (uint64_t seed = first; seed < first + n; seed++)
		right &= first_flush(seed) && written_behind_close(seed) &&
		         all_cuts_amid_the_end(seed);
	T_CHECK(right);
	bad_boot_area();
	end_behind_failing_flush();
	flush_all_behind_others();
	write_amid_clearing();
	long_request();
	clear_together();
	failed_flush();
	shared_flush_fails();
	short_runs();
	record_of_part();
	no_room_for_table();
	bad_partitions();
	bad_source();
	bad_table();
	return t_done();
}
