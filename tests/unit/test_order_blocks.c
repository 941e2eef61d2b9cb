/* What an order of reads names, as a list of the image's blocks: each block once, in the order of
 * the reads, and enough for all of them; orders that cannot be used; and the thread that makes the
 * list. */
#include "frisbeed/serve/order_finder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/image/format/order.h"
#include "tests/unit/known_file.h"

enum { READS = 12, WAITS_MOST = 120000 };

static struct order order;

/* The file in the temporary directory. */
static const char *
order_file(void)
{
	static char path[300];

	snprintf(path, sizeof path, "%s", in_scratch("a.ndz.order"));
	return path;
}

static struct order_config
config(void)
{
	static char image[300];

	snprintf(image, sizeof image, "%s", in_scratch("a.ndz"));
	return (struct order_config){ .order = order_file(),
		.image = image,
		.chunks = (uint32_t)(file.mem.len / NDZ_CHUNK_BYTES),
		.blocks_most = ORDER_BLOCKS_MAX };
}

/* Draws an order whose reads may overlap, and name what is not stored. */
static void
draw_order(const struct model *m, uint64_t disk_sectors)
{
	struct err e;

	order_free(&order);
	order_init(&order, disk_sectors, 3);
	for (unsigned i = 0; i < READS; i++) {
		struct order_run r = { .first_sector = draw(m->total - READ_MOST),
			.sectors = (uint32_t)(1 + draw(READ_MOST)),
			.machines = 1 };
		T_CHECK(order_add(&order, r, &e) == 1);
	}
	T_CHECK(order_write(&order, order_file(), &e) == 0);
}

static struct range
read_of(size_t i)
{
	return (struct range){ order.runs[i].first_sector, order.runs[i].sectors };
}

/* The blocks of the list, in their order, as chunk * 1024 + block; no others can be read from now
 * on.  False: a block is there twice, or they are not as many as the list says. */
static bool
takes_blocks(const struct order_blocks *l, uint32_t *blocks)
{
	uint32_t n = 0;
	bool once = true;

	memset(file.known, 0, sizeof file.known);
	for (uint32_t i = 0; i < l->n; i++)
		for (uint32_t k = 0; k < l->runs[i].count; k++) {
			blocks[n++] = l->runs[i].chunk * WIRE_CHUNK_BLOCKS + l->runs[i].first + k;
			once &= know(l->runs[i].chunk, l->runs[i].first + k);
		}
	return once && n == l->blocks;
}

static bool
suffices_for(size_t reads, const struct model *m)
{
	bool all = true;

	for (size_t i = 0; i < reads; i++)
		all &= suffices(read_of(i), m);
	return all;
}

/* The list of the first reads of an order suffices for these, and the list of more reads begins
 * with it. */
static void
test_list(const struct model *m)
{
	static uint32_t blocks[2][BLOCKS_MOST];
	const struct order_config c = config();
	struct order_blocks l;
	uint32_t before = 0;
	struct err e;

	draw_order(m, m->total);
	for (size_t reads = 1; reads <= READS; reads++) {
		order.n = reads;
		T_CHECK(order_write(&order, order_file(), &e) == 0);
		if (!T_CHECK(order_blocks_make(&l, &c, &e) == 0)) {
			printf("# %s\n", e.text);
			return;
		}
		T_CHECK(l.machines == 3);
		T_CHECK(takes_blocks(&l, blocks[reads % 2]));
		T_CHECK(l.blocks >= before);
		T_CHECK(memcmp(blocks[0], blocks[1], before * sizeof blocks[0][0]) == 0);
		T_CHECK(suffices_for(reads, m));
		before = l.blocks;
		order_blocks_free(&l);
	}
	T_CHECK(before > 0 && l.runs == NULL);
}

/* The file has more chunks than the image that is served. */
static void
test_fewer_chunks(const struct model *m)
{
	struct order_config c = config();
	struct order_blocks l;
	struct err e;
	bool within = true;

	draw_order(m, m->total);
	c.chunks = 2;
	T_CHECK(order_blocks_make(&l, &c, &e) == 0);
	for (uint32_t i = 0; i < l.n; i++)
		within &= l.runs[i].chunk < 2;
	T_CHECK(within);
	order_blocks_free(&l);
}

/* A list that may not have all blocks has the first ones, and exactly as many as it may. */
static void
test_most(const struct model *m)
{
	static uint32_t blocks[2][BLOCKS_MOST];
	struct order_config c = config();
	struct order_blocks all, some;
	struct err e;

	draw_order(m, m->total);
	T_CHECK(order_blocks_make(&all, &c, &e) == 0);
	T_CHECK(takes_blocks(&all, blocks[0]));
	/* In the middle of the third run. */
	if (T_CHECK(all.n > 3 && all.runs[2].count > 1)) {
		c.blocks_most = all.runs[0].count + all.runs[1].count + 1;
		T_CHECK(order_blocks_make(&some, &c, &e) == 0);
		T_CHECK(some.blocks == c.blocks_most && some.n == 3);
		T_CHECK(takes_blocks(&some, blocks[1]));
		T_CHECK(memcmp(blocks[0], blocks[1], some.blocks * sizeof blocks[0][0]) == 0);
		order_blocks_free(&some);
	}
	order_blocks_free(&all);
}

static bool
fails(const struct order_config *c, enum err_kind kind)
{
	struct order_blocks l;
	struct err e;

	return order_blocks_make(&l, c, &e) != 0 && e.kind == kind && l.runs == NULL;
}

static void
test_unusable(const struct model *m)
{
	struct order_config c = config();

	draw_order(m, m->total + 1);
	T_CHECK(fails(&c, ERR_REFUSED));
	draw_order(m, m->total);
	c.image = in_scratch("nothing");
	T_CHECK(fails(&c, ERR_IO) || fails(&c, ERR_ABSENT));
	c = config();
	T_CHECK(truncate(order_file(), 100) == 0);
	T_CHECK(fails(&c, ERR_FORMAT));
	unlink(order_file());
	T_CHECK(fails(&c, ERR_ABSENT));
	/* Nobody may be made to wait for a pipe: not by one that has no writer, nor by one whose
	 * writer says nothing. */
	T_CHECK(mkfifo(order_file(), 0600) == 0);
	alarm(120);
	T_CHECK(fails(&c, ERR_REFUSED));
	int quiet = open(order_file(), O_RDWR);
	T_CHECK(quiet >= 0 && fails(&c, ERR_REFUSED));
	alarm(0);
	close(quiet);
	unlink(order_file());
	T_CHECK(mkdir(order_file(), 0700) == 0 && fails(&c, ERR_REFUSED));
	rmdir(order_file());
}

static bool
takes_soon(struct order_finder *o, struct order_blocks *l)
{
	for (unsigned i = 0; i < WAITS_MOST; i++) {
		if (order_finder_take(o, l))
			return true;
		usleep(1000);
	}
	return false;
}

/* The list is given out once; a thread that nobody asks, or that finds nothing, ends, too. */
static void
test_thread(const struct model *m)
{
	static uint32_t blocks[BLOCKS_MOST];
	const struct order_config c = config();
	struct order_blocks l;
	struct order_finder *o;
	struct err e;

	draw_order(m, m->total);
	T_CHECK(order_finder_start(&o, &c, &e) == 0);
	if (T_CHECK(takes_soon(o, &l))) {
		T_CHECK(takes_blocks(&l, blocks));
		T_CHECK(suffices_for(order.n, m));
		order_blocks_free(&l);
	}
	T_CHECK(!order_finder_take(o, &l));
	order_finder_end(o);
	T_CHECK(order_finder_start(&o, &c, &e) == 0);
	order_finder_end(o);
	unlink(order_file());
	T_CHECK(order_finder_start(&o, &c, &e) == 0);
	order_finder_end(o);
	order_finder_end(NULL);
	T_CHECK(cancel_signal() == 0);
}

int
main(void)
{
	struct model *m = malloc(sizeof *m);
	struct err e;

	scratch_init();
	file.mem.b = malloc(IMAGE_MOST);
	if (m == NULL || file.mem.b == NULL || codec_parse(&codec, "deflate:1", &e) != 0)
		abort();
	make_model(m, 40);
	write_image("a.ndz", m, false, NULL);
	load_file(in_scratch("a.ndz"));
	test_list(m);
	test_fewer_chunks(m);
	test_most(m);
	test_unusable(m);
	test_thread(m);
	order_free(&order);
	free(file.mem.b);
	free(m);
	return t_done();
}
