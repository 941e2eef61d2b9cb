/* merge.c: merges records of reads.  streamdisk calls this, in its one thread.
 *
 * Each record becomes a list of pieces, each with its rank: how many sectors the
 * machine had read before it.  A rank depends on neither how fast a machine is nor how
 * fast its network is, as a time does.  Of each piece the median of its ranks counts,
 * so that one machine which reads it much earlier or later than others does not move
 * it. */
#include "stream/record/merge.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/base/grow.h"

/* A piece that a machine has read. */
struct touch {
	uint64_t piece; /* number on the disk */
	uint64_t rank;
	uint32_t machine, after_ms;
};

/* A piece that some machines have read. */
struct piece {
	uint64_t number, rank; /* rank: median */
	uint32_t machines, after_ms;
	unsigned class; /* 0: most have; 1: several, or there are two machines at most
	                 */
};

struct merging {
	struct touch *touches;
	size_t ntouches, touches_cap;
	struct piece *pieces;
	size_t npieces, pieces_cap;
	size_t machines;
};

static int
compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* By piece, then machine, then rank. */
static int
compare_touches(const void *a, const void *b)
{
	const struct touch *x = a, *y = b;
	int c = compare(x->piece, y->piece);

	c = c != 0 ? c : compare(x->machine, y->machine);
	return c != 0 ? c : compare(x->rank, y->rank);
}

/* Touches of one piece, by rank. */
static int
compare_ranks(const void *a, const void *b)
{
	const struct touch *x = a, *y = b;

	return compare(x->rank, y->rank);
}

/* The order of what is made: what most have read first, and then what was read early.
 */
static int
compare_pieces(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;
	int c = compare(x->class, y->class);

	c = c != 0 ? c : compare(x->rank, y->rank);
	return c != 0 ? c : compare(x->number, y->number);
}

static int
add_run(struct merging *m, const struct order_run *run, uint32_t machine, uint64_t rank,
    struct err *e)
{
	uint64_t last = (run->first_sector + run->sectors - 1) / MERGE_PIECE_SECTORS;

	for (uint64_t p = run->first_sector / MERGE_PIECE_SECTORS; p <= last; p++) {
		if (grow_array(&m->touches, &m->touches_cap, m->ntouches, sizeof *m->touches,
			"records of reads", e) != 0)
			return -1;
		m->touches[m->ntouches++] = (struct touch){ p, rank, machine,
			run->after_ms };
	}
	return 0;
}

static int
add_record(
    struct merging *m, const struct order *record, uint32_t machine, struct err *e)
{
	uint64_t rank = 0;

	for (size_t i = 0; i < record->n; i++) {
		if (add_run(m, &record->runs[i], machine, rank, e) != 0)
			return -1;
		rank += record->runs[i].sectors;
	}
	return 0;
}

/* Keep the first touch of each piece by each machine. */
static void
drop_repeated(struct merging *m)
{
	size_t n = 0;

	if (m->ntouches > 0) /* qsort() takes no NULL */
		qsort(m->touches, m->ntouches, sizeof *m->touches, compare_touches);
	for (size_t i = 0; i < m->ntouches; i++) {
		const struct touch *t = &m->touches[i];
		if (n == 0 || m->touches[n - 1].piece != t->piece ||
		    m->touches[n - 1].machine != t->machine)
			m->touches[n++] = *t;
	}
	m->ntouches = n;
}

/* Add a piece that these n machines have read, or leave it out. */
static int
add_piece(struct merging *m, struct touch *of, size_t n, struct err *e)
{
	if (n == 1 && m->machines > 2)
		return 0;
	if (grow_array(&m->pieces, &m->pieces_cap, m->npieces, sizeof *m->pieces,
		"an order of reads", e) != 0)
		return -1;
	qsort(of, n, sizeof *of, compare_ranks);
	const struct touch *median = &of[(n - 1) / 2];
	m->pieces[m->npieces++] = (struct piece){ .number = of->piece,
		.rank = median->rank,
		.machines = (uint32_t)n,
		.after_ms = median->after_ms,
		.class = n > m->machines / 2 ? 0 : 1 };
	return 0;
}

static int
make_pieces(struct merging *m, struct err *e)
{
	size_t n;

	drop_repeated(m);
	for (size_t i = 0; i < m->ntouches; i += n) {
		for (n = 1; i + n < m->ntouches; n++)
			if (m->touches[i + n].piece != m->touches[i].piece)
				break;
		if (add_piece(m, &m->touches[i], n, e) != 0)
			return -1;
	}
	if (m->npieces > 0)
		qsort(m->pieces, m->npieces, sizeof *m->pieces, compare_pieces);
	return 0;
}

/* The run of a piece, within the disk. */
static struct order_run
run_of(const struct piece *p, uint64_t disk_sectors)
{
	uint64_t first = p->number * MERGE_PIECE_SECTORS, left = disk_sectors - first;

	return (struct order_run){ first,
		left < MERGE_PIECE_SECTORS ? (uint32_t)left : MERGE_PIECE_SECTORS,
		p->after_ms, p->machines };
}

static int
write_pieces(const struct merging *m, struct order *out, struct err *e)
{
	int added = 1;

	for (size_t i = 0; added == 1 && i < m->npieces; i++)
		added = order_add(out, run_of(&m->pieces[i], out->disk_sectors), e);
	return added < 0 ? -1 : 0;
}

static int
check(const struct order *records, const char *const *names, size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		if (records[i].machines != 1)
			return err_set(e, ERR_USAGE,
			    "%s: is an order of %" PRIu32
			    " machines already; records of single "
			    "machines are merged",
			    names[i], records[i].machines);
		if (records[i].disk_sectors != records[0].disk_sectors)
			return err_set(e, ERR_REFUSED,
			    "%s: is of a disk of %" PRIu64
			    " sectors, and %s of one of %" PRIu64
			    ", so they are of different images",
			    names[i], records[i].disk_sectors, names[0],
			    records[0].disk_sectors);
	}
	return 0;
}

int
merge_records(struct order *out, const struct order *records, const char *const *names,
    size_t n, struct err *e)
{
	struct merging m = { .machines = n };
	int rc = check(records, names, n, e);

	order_init(out, records[0].disk_sectors, (uint32_t)n);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = add_record(&m, &records[i], (uint32_t)i, e);
	if (rc == 0)
		rc = make_pieces(&m, e);
	if (rc == 0)
		rc = write_pieces(&m, out, e);
	if (rc != 0)
		order_free(out);
	free(m.touches);
	free(m.pieces);
	return rc;
}
