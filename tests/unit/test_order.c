/* Orders of reads: the file, every truncation and flipped bit of it; recording;
 * merging, also with a record that is unlike all others. */
#include "common/image/format/order.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "stream/record/merge.h"
#include "stream/record/recorder.h"
#include "tests/random.h"
#include "tests/t.h"
#include "tests/tmp.h"

enum { DISK_SECTORS = 1 << 22, MACHINES = 5, BOOT_PIECES = 400 };

static char folder[200], path[256];

static void
add(struct order *o, uint64_t first, uint32_t sectors)
{
	struct order_run run = { first, sectors, (uint32_t)o->n * 3, 1 };
	struct err e;

	if (order_add(o, run, &e) != 1)
		abort();
}

static bool
same(const struct order *a, const struct order *b)
{
	bool right = a->disk_sectors == b->disk_sectors && a->machines == b->machines &&
	             a->n == b->n && a->sectors == b->sectors;

	for (size_t i = 0; right && i < a->n; i++)
		right = a->runs[i].first_sector == b->runs[i].first_sector &&
		        a->runs[i].sectors == b->runs[i].sectors &&
		        a->runs[i].after_ms == b->runs[i].after_ms &&
		        a->runs[i].machines == b->runs[i].machines;
	return right;
}

/* The file. */

static bool
refused(const uint8_t *data, size_t n)
{
	struct order got;
	struct err e;

	if (order_get(&got, data, n, "it", &e) != 0)
		return e.kind == ERR_FORMAT && got.runs == NULL;
	order_free(&got);
	return false;
}

static void
format(void)
{
	struct order o, got;
	struct buf b = { 0 };
	bool right = true;
	struct err e;

	order_init(&o, DISK_SECTORS, 3);
	for (uint32_t i = 0; i < 20; i++)
		add(&o, draw(DISK_SECTORS - 100), 1 + i);
	o.runs[7].machines = 3;
	order_put(&o, &b);
	T_CHECK(buf_ok(&b) && b.len == ORDER_HEADER_BYTES + 20 * ORDER_RUN_BYTES);
	T_CHECK(order_get(&got, b.base, b.len, "it", &e) == 0 && same(&o, &got));
	order_free(&got);
	for (size_t n = 0; n < b.len; n++)
		right &= refused(b.base, n);
	T_CHECK(right); /* every truncation */
	for (size_t i = 0; i < b.len * 8; i++) {
		b.base[i / 8] ^= (uint8_t)(1 << i % 8);
		right &= refused(b.base, b.len);
		b.base[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	T_CHECK(right); /* every flipped bit */
	buf_free(&b);
	order_free(&o);
}

/* One run that an order cannot have. */
static bool
refuses_run(struct order_run run)
{
	struct order o;
	struct buf b = { 0 };

	order_init(&o, DISK_SECTORS, 2);
	add(&o, 0, 8);
	o.runs[0] = run;
	order_put(&o, &b);
	bool is = refused(b.base, b.len);
	buf_free(&b);
	order_free(&o);
	return is;
}

static void
limits(void)
{
	struct order o;
	struct err e;

	T_CHECK(!refuses_run((struct order_run){ DISK_SECTORS - 1, 1, 0, 2 }));
	T_CHECK(refuses_run((struct order_run){ DISK_SECTORS, 1, 0, 1 }));
	T_CHECK(refuses_run((struct order_run){ UINT64_MAX, 2, 0, 1 }));
	T_CHECK(refuses_run((struct order_run){ 0, 0, 0, 1 }));
	T_CHECK(refuses_run((struct order_run){ 0, 1, 0, 0 }));
	T_CHECK(refuses_run((struct order_run){ 0, 1, 0, 3 }));
	order_init(&o, UINT64_C(1) << 40, 1);
	add(&o, 0, ORDER_SECTORS_MAX - 1);
	T_CHECK(order_add(&o, (struct order_run){ 0, 2, 0, 1 }, &e) == 0);
	T_CHECK(order_add(&o, (struct order_run){ 0, 1, 0, 1 }, &e) == 1);
	order_free(&o);
	T_CHECK(order_read(&o, "/nonexistent/order", &e) != 0 && e.kind == ERR_ABSENT);
}

/* Recording. */

static void
tell(void *arg, const char *sentence)
{
	(void)arg;
	printf("# %s\n", sentence);
	T_CHECK(false);
}

static void
recording(void)
{
	struct recorder *r;
	struct order got;
	struct err e;

	T_CHECK(recorder_start(&r, path, DISK_SECTORS, tell, NULL, &e) == 0);
	recorder_read(
	    r, (struct range){ 32768 - 8, 16 }); /* across a border of areas */
	recorder_read(r, (struct range){ 100, 8 });
	recorder_written(r, (struct range){ 200, 8 });
	recorder_read(r, (struct range){ 96, 8 });   /* 96 to 99 are new */
	recorder_read(r, (struct range){ 196, 16 }); /* 200 to 207 were written */
	recorder_read(r, (struct range){ 32768 - 8, 16 });
	recorder_read(r, (struct range){ DISK_SECTORS - 1, 1 });
	recorder_end(r);
	T_CHECK(order_read(&got, path, &e) == 0 && got.machines == 1 &&
		got.disk_sectors == DISK_SECTORS);
	static const struct range want[] = { { 32760, 16 }, { 100, 8 }, { 96, 4 },
		{ 196, 4 }, { 208, 4 }, { DISK_SECTORS - 1, 1 } };
	bool right = got.n == sizeof want / sizeof *want;
	for (size_t i = 0; right && i < got.n; i++)
		right = got.runs[i].first_sector == want[i].off &&
		        got.runs[i].sectors == want[i].len;
	T_CHECK(right);
	order_free(&got);
	/* A record is as large as an order may be, and no larger. */
	T_CHECK(recorder_start(&r, path, UINT64_C(1) << 40, tell, NULL, &e) == 0);
	for (uint64_t i = 0; i < 6000; i++)
		recorder_read(r, (struct range){ i * 32768, 8 });
	recorder_end(r);
	T_CHECK(order_read(&got, path, &e) == 0 && got.n == 4096);
	order_free(&got);
}

/* The recorder's thread puts the number of failures here. */
static atomic_uint failures;

static void
count_failure(void *arg, const char *sentence)
{
	(void)arg, (void)sentence;
	atomic_fetch_add(&failures, 1);
}

/* The file cannot be written at first, and nothing new is read afterwards: the end writes it. */
static void
written_after_a_failure(void)
{
	char absent[300], file[310];
	struct recorder *r;
	struct order got;
	struct err e;

	snprintf(absent, sizeof absent, "%s/absent", folder);
	snprintf(file, sizeof file, "%s/record", absent);
	T_CHECK(recorder_start(&r, file, DISK_SECTORS, count_failure, NULL, &e) == 0);
	recorder_read(r, (struct range){ 100, 8 });
	while (atomic_load(&failures) == 0)
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	T_CHECK(mkdir(absent, 0777) == 0);
	recorder_end(r);
	order_init(&got, 0, 0);
	T_CHECK(order_read(&got, file, &e) == 0);
	T_CHECK(got.n == 1 && got.runs[0].first_sector == 100 && got.runs[0].sectors == 8);
	order_free(&got);
	unlink(file);
	rmdir(absent);
}

/* Merging. */

/* The i-th piece of 64 KiB that a machine reads when it starts. */
static uint64_t
boot_piece(unsigned i)
{
	return (i * UINT64_C(7919) + 13) % (DISK_SECTORS / MERGE_PIECE_SECTORS / 2);
}

/* What one machine reads: it has begun the things that systems do at once in another
 * order, does not read some, and reads some that others do not. */
static void
make_record(struct order *o)
{
	unsigned at[BOOT_PIECES];

	for (unsigned i = 0; i < BOOT_PIECES; i++)
		at[i] = i;
	for (unsigned i = 0; i + 8 < BOOT_PIECES; i++) {
		unsigned k = i + (unsigned)draw(8), was = at[i];
		at[i] = at[k];
		at[k] = was;
	}
	order_init(o, DISK_SECTORS, 1);
	for (unsigned i = 0; i < BOOT_PIECES; i++) {
		if (draw(20) != 0)
			add(o, boot_piece(at[i]) * MERGE_PIECE_SECTORS + draw(120), 8);
		if (draw(30) == 0) /* its own */
			add(o, DISK_SECTORS / 2 + draw(DISK_SECTORS / 2 - 8), 8);
	}
}

static int
compare_piece(const struct order *o, size_t i, unsigned first, unsigned end)
{
	for (unsigned k = first; k < end; k++)
		if (o->runs[i].first_sector == boot_piece(k) * MERGE_PIECE_SECTORS)
			return 1;
	return 0;
}

/* How many of the machines' common pieces does the order have? */
static unsigned
common(const struct order *o)
{
	unsigned n = 0;

	for (size_t i = 0; i < o->n; i++)
		n += compare_piece(o, i, 0, BOOT_PIECES) != 0;
	return n;
}

/* What is read in the first quarter of a start is in the first third of the order. */
static bool
is_in_order(const struct order *o)
{
	unsigned early = 0, late = 0;

	for (size_t i = 0; i < o->n; i++)
		if (compare_piece(o, i, 0, BOOT_PIECES / 4))
			*(i < o->n / 3 ? &early : &late) += 1;
	printf("# %u early, %u late\n", early, late);
	return early > BOOT_PIECES / 4 * 9 / 10 && late <= 2;
}

static void
merging(void)
{
	static const char *const names[] = { "a", "b", "c", "d", "e", "f" };
	struct order records[MACHINES + 1], made, with, two;
	struct err e;

	for (int i = 0; i < MACHINES; i++)
		make_record(&records[i]);
	T_CHECK(merge_records(&made, records, names, MACHINES, &e) == 0);
	T_CHECK(made.machines == MACHINES && made.disk_sectors == DISK_SECTORS);
	T_CHECK(common(&made) == BOOT_PIECES);
	T_CHECK(made.n < BOOT_PIECES +
			     5); /* two may have read the same of their own by chance */
	T_CHECK(is_in_order(&made));
	/* A machine that is unlike the others: it reads all from the end, and much else
	 * before. */
	struct order *odd = &records[MACHINES];
	order_init(odd, DISK_SECTORS, 1);
	for (unsigned i = 0; i < 20000; i++)
		add(odd, DISK_SECTORS / 2 + i * 100, 8);
	for (unsigned i = BOOT_PIECES; i-- > 0;)
		add(odd, boot_piece(i) * MERGE_PIECE_SECTORS, 128);
	T_CHECK(merge_records(&with, records, names, MACHINES + 1, &e) == 0);
	T_CHECK(common(&with) == BOOT_PIECES && with.n < BOOT_PIECES + 120);
	T_CHECK(is_in_order(&with));
	for (size_t i = 0; i < 3; i++) /* wherever it is in the list */
		order_free(&records[i]), make_record(&records[i]);
	struct order swap = records[0];
	records[0] = *odd;
	*odd = swap;
	order_free(&with);
	T_CHECK(merge_records(&with, records, names, MACHINES + 1, &e) == 0 &&
		is_in_order(&with));
	/* Of two machines neither is unlike the other. */
	T_CHECK(
	    merge_records(&two, records + 1, names, 2, &e) == 0 && two.n > BOOT_PIECES);
	order_free(&two);
	records[1].disk_sectors++;
	T_CHECK(
	    merge_records(&two, records, names, 2, &e) != 0 && e.kind == ERR_REFUSED);
	records[1].disk_sectors--;
	records[1].machines = 2;
	T_CHECK(merge_records(&two, records, names, 2, &e) != 0 && e.kind == ERR_USAGE);
	for (int i = 0; i <= MACHINES; i++)
		order_free(&records[i]);
	order_free(&made);
	order_free(&with);
}

int
main(void)
{
	if (!tmp_folder(folder, sizeof folder, "order"))
		return 1;
	snprintf(path, sizeof path, "%s/record", folder);
	format();
	limits();
	recording();
	written_after_a_failure();
	merging();
	unlink(path);
	rmdir(folder);
	return t_done();
}
