/* What an order of reads names is fetched first, several pieces at once and none of them twice; a
 * client that waits for something else has the source almost for itself. */
#include "stream/disk/streamed_impl.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/t.h"
#include "tests/unit/memdisk.h"

enum {
	RUNS = 40,
	RUN_SECTORS = 16,
	STEP_SECTORS = 1000, /* from one run to the next */
	DISK_SECTORS = RUNS * STEP_SECTORS,
	OTHER = 100, /* a sector that the order does not name */
	ORDERED_BYTES = RUNS * RUN_SECTORS * SECTOR_BYTES,
	READ_SECTORS = 8,
	READ_BYTES = READ_SECTORS * SECTOR_BYTES,
	LOG_MAX = 4096,
	FEW = 2,
	WHILE_US = 50000, /* in which what must not happen has time to happen */
	LOOK_US = 1000,
	LOOKS_MAX = 30000,
};

/* A source that answers when it is told to. */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the rest */
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
/* What is asked for while the disk is opened is answered. */
static bool open_for_other, open_for_all = true;
static unsigned waiting, nlog;
static struct range wanted[LOG_MAX]; /* what was asked for, in the order of asking */

static bool
is_open(uint64_t sector)
{
	return open_for_all || (open_for_other && sector == OTHER);
}

static int
ask(struct mem *m, enum mem_access what, struct range bytes)
{
	(void)m, (void)what;
	pthread_mutex_lock(&lock);
	if (nlog < LOG_MAX)
		wanted[nlog++] = (struct range){ bytes.off / SECTOR_BYTES,
			bytes.len / SECTOR_BYTES };
	waiting++;
	while (!is_open(bytes.off / SECTOR_BYTES))
		pthread_cond_wait(&opened, &lock);
	waiting--;
	pthread_mutex_unlock(&lock);
	return 0;
}

static void
set_open(bool *which)
{
	pthread_mutex_lock(&lock);
	*which = true;
	pthread_cond_broadcast(&opened);
	pthread_mutex_unlock(&lock);
}

static unsigned
now_waiting(void)
{
	pthread_mutex_lock(&lock);
	unsigned n = waiting;
	pthread_mutex_unlock(&lock);
	return n;
}

/* Wait until the source has this many questions, and see that it gets no more. */
static bool
source_has(unsigned n)
{
	for (unsigned i = 0; i < LOOKS_MAX && now_waiting() != n; i++)
		usleep(LOOK_US);
	usleep(WHILE_US);
	return now_waiting() == n;
}

static uint8_t image_bytes[DISK_SECTORS * SECTOR_BYTES], disk_bytes[sizeof image_bytes];
static struct mem image = { .b = image_bytes, .len = sizeof image_bytes, .bad = SIZE_MAX,
	.before = ask };
static struct mem disk = { .b = disk_bytes, .len = sizeof disk_bytes, .bad = SIZE_MAX };
static struct export *source;
static struct streamed *device;
static struct order order;

static void
tell(void *arg, const char *sentence)
{
	(void)arg;
	printf("# %s\n", sentence);
}

static uint64_t
run_at(unsigned i)
{
	return (uint64_t)(RUNS - 1 - i) * STEP_SECTORS + STEP_SECTORS / 2;
}

static void
open_device(void)
{
	/* It is never idle, so that what the order does not name has its share alone. */
	const struct streamed_config cfg = { .disk = "disk",
		.table = "memory",
		.idle_ms = UINT64_C(24) * 3600 * 1000,
		.order = &order,
		.tell = tell };
	const struct export_config export_cfg = { .cache_bytes = 0 };
	struct rangeset set;
	struct err e;

	order_init(&order, DISK_SECTORS, 1);
	for (unsigned i = 0; i < RUNS; i++)
		order_add(&order,
		    (struct order_run){
			.first_sector = run_at(i), .sectors = RUN_SECTORS, .machines = 1 },
		    &e);
	rangeset_init(&set);
	rangeset_add(&set, (struct range){ 16, DISK_SECTORS - 16 }, &e);
	rangeset_seal(&set);
	for (size_t i = 0; i < sizeof image_bytes; i++)
		image_bytes[i] = (uint8_t)(i / SECTOR_BYTES % 251);
	if (export_open_disk(&source, mem_open(&image, "image", DISK_BLOCK), &set,
		&export_cfg, &e) != 0 ||
	    streamed_open_on(&device, source, &cfg, mem_open(&disk, "disk", DISK_BLOCK),
		NULL, &e) != 0)
		abort();
	pthread_mutex_lock(&lock);
	open_for_all = false;
	nlog = 0;
	pthread_mutex_unlock(&lock);
}

/* A client that reads READ_BYTES. */
struct client {
	pthread_t thread;
	uint64_t sector;
	bool right;
};

static bool
reads_right(uint64_t sector)
{
	uint8_t buf[READ_BYTES];
	struct err e;

	if (streamed_read(device, buf, sizeof buf, sector * SECTOR_BYTES, &e) != 0)
		return false;
	for (size_t i = 0; i < sizeof buf; i++)
		if (buf[i] != (sector + i / SECTOR_BYTES) % 251)
			return false;
	return true;
}

static void *
read_one(void *arg)
{
	struct client *c = arg;

	c->right = reads_right(c->sector);
	return NULL;
}

static void
start_reading(struct client *c, uint64_t sector)
{
	*c = (struct client){ .sector = sector };
	if (pthread_create(&c->thread, NULL, read_one, c) != 0)
		abort();
}

static bool
has_read(struct client *c)
{
	pthread_join(c->thread, NULL);
	return c->right;
}

static bool
is_ordered(struct range r)
{
	for (unsigned i = 0; i < RUNS; i++)
		if (r.off == run_at(i) && r.len == RUN_SECTORS)
			return true;
	return false;
}

/* How often was this sector asked for? */
static unsigned
times(uint64_t sector)
{
	unsigned n = 0;

	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < nlog; i++)
		n += range_clip(wanted[i], sector, sector + 1).len > 0;
	pthread_mutex_unlock(&lock);
	return n;
}

/* A client waits for a sector that the order does not name: few pieces are fetched meanwhile. */
static void
few_while_a_client_waits(void)
{
	struct client other;
	struct err e;

	start_reading(&other, OTHER);
	T_CHECK(source_has(1));
	if (streamed_start(device, &e) != 0)
		abort();
	T_CHECK(source_has(1 + FEW));
	set_open(&open_for_other);
	T_CHECK(has_read(&other));
	T_CHECK(source_has(FILL_AHEAD_THREADS));
}

/* A client wants what is being fetched. */
static void
none_is_fetched_twice(void)
{
	struct client same;

	start_reading(&same, run_at(0) + 4);
	for (unsigned i = 0; i < LOOKS_MAX && atomic_load(&device->fetching) == 0; i++)
		usleep(LOOK_US);
	T_CHECK(source_has(FILL_AHEAD_THREADS));
	set_open(&open_for_all);
	T_CHECK(has_read(&same));
	T_CHECK(times(run_at(0) + 4) == 1);
	T_CHECK(streamed_status(device).awaited_bytes == READ_BYTES);
}

/* All that the order names comes before what is behind the place where the client has read, and is
 * there when it is read. */
static void
order_comes_first(void)
{
	for (unsigned i = 0; i < LOOKS_MAX; i++) {
		if (streamed_status(device).ordered_bytes == ORDERED_BYTES)
			break;
		usleep(LOOK_US);
	}
	T_CHECK(streamed_status(device).ordered_bytes == ORDERED_BYTES);
	T_CHECK(wanted[0].off == OTHER);
	for (unsigned i = 1; i <= RUNS; i++)
		T_CHECK(is_ordered(wanted[i]));
	for (unsigned i = 0; i < RUNS; i++)
		T_CHECK(reads_right(run_at(i)));
	T_CHECK(streamed_status(device).fetched_bytes == READ_BYTES);
}

int
main(void)
{
	struct err e;

	open_device();
	few_while_a_client_waits();
	none_is_fetched_twice();
	order_comes_first();
	T_CHECK(streamed_close(device, &e) == 0);
	export_close(source);
	order_free(&order);
	return t_done();
}
