/* Windows that follow the content: they end where the rule says so and nowhere else, as
 * a second reading of the rule finds it; they have all data and relocations, once and
 * in order; and what was moved is found again. */
#include "common/image/write/recut.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/sha256.h"
#include "common/base/zero.h"
#include "common/image/read/walk.h"
#include "tests/t.h"
#include "tests/unit/sample.h"

enum {
	SECTORS = 32000,
	WINDOWS_MAX = 4000,
	ODD_ZONE = 16003, /* a zone whose grid is not that of the disk */
};

struct model {
	uint8_t *data;
	bool stored[SECTORS], filler[SECTORS];
	struct cut_zones zones;
	struct rangeset store, fill;
	bool files; /* windows end where files do, too */
	struct ndz_reloc relocs[600];
	size_t nrelocs, reloc;
	uint64_t fresh_at; /* 0: nothing is fresh */
	struct walk walk;
};

static void
free_model(struct model *m)
{
	free(m->data);
	rangeset_free(&m->store);
	rangeset_free(&m->fill);
	cut_zones_free(&m->zones);
	free(m);
}

static struct model *
new_model(void)
{
	struct model *m = calloc(1, sizeof *m);

	m->data = malloc((size_t)SECTORS * SECTOR_BYTES);
	rangeset_init(&m->store);
	rangeset_init(&m->fill);
	return m;
}

static void
fill_data(struct model *m, unsigned kinds)
{
	for (uint64_t s = 0; s < SECTORS; s += 100)
		sample_fill(m->data + s * SECTOR_BYTES, 100 * SECTOR_BYTES, draw(kinds));
	/* Files that end here, nearly fill their last block, or have zeros in front of it. */
	for (uint64_t s = 0; s < SECTORS; s += 1 + draw(40)) {
		size_t behind = draw(100), n = 1 + draw(100);
		memset(m->data + (s + 1) * SECTOR_BYTES - behind - n, 0, n);
	}
}

/* Runs of sectors that are stored, filler or free. */
static void
choose_sectors(struct model *m, unsigned longest)
{
	for (uint64_t s = 0; s < SECTORS;) {
		uint64_t n = 1 + draw(longest);
		unsigned what = draw(8);
		for (; n > 0 && s < SECTORS; n--, s++) {
			m->stored[s] = what != 0;
			m->filler[s] = what == 1;
		}
	}
}

static void
settle(struct model *m)
{
	struct err e;

	rangeset_free(&m->store);
	rangeset_free(&m->fill);
	for (uint64_t s = 0; s < SECTORS; s++) {
		if (m->stored[s])
			rangeset_add(&m->store, (struct range){ s, 1 }, &e);
		if (m->filler[s])
			rangeset_add(&m->fill, (struct range){ s, 1 }, &e);
	}
	rangeset_seal(&m->store);
	rangeset_seal(&m->fill);
	m->walk = (struct walk){ .set = &m->store };
	m->reloc = 0;
}

/* As a disk gives them out: aligned. */
static ssize_t
next(void *arg, struct window *w, void *buf, struct err *e)
{
	struct model *m = arg;
	uint8_t *to = buf;

	(void)e;
	w->nregions = walk_next(&m->walk, w->regions);
	w->relocs = m->relocs + m->reloc;
	for (unsigned i = 0; i < w->nregions; i++) {
		struct range r = w->regions[i];
		memcpy(to, m->data + r.off * SECTOR_BYTES, r.len * SECTOR_BYTES);
		to += r.len * SECTOR_BYTES;
		w->fresh |= m->fresh_at != 0 && m->fresh_at >= r.off &&
		            m->fresh_at < range_end(r);
		w->fresh_at = m->fresh_at;
		for (;
		     m->reloc < m->nrelocs && m->relocs[m->reloc].sector < range_end(r);
		     m->reloc++)
			w->nrelocs++;
	}
	return to - (uint8_t *)buf;
}

/* What came out: of each window its first sector, and what is known of it. */
struct cuts {
	unsigned n, nrelocs;
	uint64_t first[WINDOWS_MAX];
	bool apart[WINDOWS_MAX], fresh[WINDOWS_MAX], full[WINDOWS_MAX];
	uint8_t digest[WINDOWS_MAX][SHA256_BYTES];
	bool good; /* all of the model's data, in order, and no window too large */
};

/* Is the window's data what the model has next, from sector *at on? */
static bool
follows(const struct model *m, const struct window *w, const uint8_t *raw, uint64_t *at)
{
	bool good = true;

	for (unsigned i = 0; i < w->nregions; i++)
		for (uint64_t s = w->regions[i].off; s < range_end(w->regions[i]);
		     s++) {
			while (*at < SECTORS && !m->stored[*at])
				++*at;
			good &= s == (*at)++ && memcmp(raw, m->data + s * SECTOR_BYTES,
						    SECTOR_BYTES) == 0;
			raw += SECTOR_BYTES;
		}
	return good;
}

/* Each relocation is in the window that has its sector. */
static bool
relocs_right(const struct model *m, const struct window *w, unsigned from)
{
	uint64_t end = range_end(w->regions[w->nregions - 1]);

	for (unsigned i = 0; i < w->nrelocs; i++)
		if (w->relocs[i].sector != m->relocs[from + i].sector ||
		    w->relocs[i].sector < w->regions[0].off ||
		    w->relocs[i].sector >= end)
			return false;
	return true;
}

static struct cuts *
run(struct model *m)
{
	static uint8_t raw[CUT_WINDOW_BYTES_MAX];
	struct cuts *c = calloc(1, sizeof *c);
	const struct recut_config cfg = { .next = next,
		.arg = m,
		.zones = &m->zones,
		.filler = &m->fill,
		.files = m->files };
	struct recut *r;
	struct window w;
	struct err e;
	uint64_t at = 0;
	ssize_t n = -1;

	settle(m);
	c->good = recut_new(&r, &cfg, &e) == 0;
	while (c->n < WINDOWS_MAX && (n = recut_next(r, &w, raw, &e)) > 0) {
		c->good &= (uint64_t)n == window_bytes(&w) &&
		           n <= CUT_WINDOW_BYTES_MAX &&
		           w.nregions <= WINDOW_REGIONS_MAX &&
		           w.nrelocs <= WINDOW_RELOCS_MAX && follows(m, &w, raw, &at) &&
		           relocs_right(m, &w, c->nrelocs);
		c->nrelocs += w.nrelocs;
		c->first[c->n] = w.regions[0].off;
		c->apart[c->n] = w.apart;
		c->fresh[c->n] = w.fresh;
		c->full[c->n] = n + CUT_BLOCK_SECTORS * SECTOR_BYTES >
		                    CUT_WINDOW_BYTES_MAX ||
		                w.nregions == WINDOW_REGIONS_MAX ||
		                w.nrelocs + 8 > WINDOW_RELOCS_MAX;
		sha256(raw, (size_t)n, c->digest[c->n++]);
	}
	c->good &= n == 0 && recut_next(r, &w, raw, &e) == 0;
	for (; at < SECTORS; at++)
		c->good &= !m->stored[at];
	recut_free(r);
	return c;
}

/* The remainder of a polynomial, bit by bit for each value of a byte. */
static uint32_t
crc(uint32_t c, const uint8_t *p, size_t n)
{
	static uint32_t of_byte[256];

	for (uint32_t i = of_byte[1] == 0 ? 0 : 256; i < 256; i++) {
		of_byte[i] = i;
		for (int bit = 0; bit < 8; bit++)
			of_byte[i] = of_byte[i] >> 1 ^
			             (of_byte[i] & 1 ? 0x82f63b78u : 0);
	}
	for (; n > 0; n--)
		c = c >> 8 ^ of_byte[(c ^ *p++) & 255];
	return c;
}

/* The rule read again: what ends in front of each sector. */
static enum cut_kind *
read_rule(const struct model *m)
{
	enum cut_kind *kinds = calloc(SECTORS, sizeof *kinds);
	uint64_t zone = 0, last_block = UINT64_MAX, last_zone = 0;
	unsigned blocks = 0;
	bool any = false, begun = false, slack = false;
	uint32_t hash = 0;

	for (uint64_t s = 0; s < SECTORS; s++) {
		for (size_t i = 0; i < m->zones.n; i++)
			zone = m->zones.starts[i] == s ? s : zone;
		if (!m->stored[s])
			continue;
		uint64_t block = (s - zone) / 8;
		if (begun && zone != last_zone) {
			kinds[s] = CUT_LONG;
			blocks = 0;
			any = false;
		} else if (begun && block != last_block && any) {
			blocks++;
			any = false;
			if ((blocks >= 4 && ((m->files && slack) || hash % 16 == 0)) || blocks == 32) {
				kinds[s] = hash % 64 == 0 && hash != 0 ? CUT_LONG
				                                       : CUT_WINDOW;
				blocks = 0;
			}
		}
		if (!m->filler[s]) {
			hash = crc(
			    any ? hash : 0, m->data + s * SECTOR_BYTES, SECTOR_BYTES);
			any = true;
			slack = is_zero(m->data + (s + 1) * SECTOR_BYTES - 64, 64);
		}
		begun = true;
		last_zone = zone;
		last_block = block;
	}
	return kinds;
}

/* Windows begin where the rule says so, and else only behind one that was full. */
static void
compare_with_rule(struct model *m)
{
	enum cut_kind *kinds = read_rule(m);
	struct cuts *c = run(m);
	unsigned ruled = 0, other = 0, k = 0;
	bool all = true, apart = true;

	T_CHECK(c->good);
	T_CHECK(c->n > 10);
	for (uint64_t s = 0; s < SECTORS; s++) {
		bool begins = k < c->n && c->first[k] == s;
		all &= kinds[s] == CUT_NONE || begins;
		if (!begins)
			continue;
		apart &= c->apart[k] == (k == 0 || kinds[s] == CUT_LONG);
		ruled += kinds[s] != CUT_NONE;
		other += k > 0 && kinds[s] == CUT_NONE && !c->full[k - 1];
		k++;
	}
	printf("# %u windows, %u of them as the rule says\n", c->n, ruled);
	T_CHECK(all);
	T_CHECK(apart);
	T_CHECK(k == c->n);
	T_CHECK(other == 0);
	free(c);
	free(kinds);
}

static void
add_zone(struct model *m, uint64_t from, uint64_t len)
{
	struct err e;

	T_CHECK(cut_zones_add(&m->zones, (struct range){ from, len }, &e) == 0);
	cut_zones_settle(&m->zones);
}

static void
test_rule(void)
{
	for (unsigned longest = 5; longest < 3000; longest *= 6) {
		struct model *m = new_model();
		fill_data(m, SAMPLE_KINDS);
		choose_sectors(m, longest);
		compare_with_rule(m);
		m->files = true;
		compare_with_rule(m);
		add_zone(m, ODD_ZONE, 7001);
		add_zone(m, 63, 5000);
		compare_with_rule(m);
		free_model(m);
	}
}

/* The first sectors of windows, of those that are no filler. */
static void
mark_cuts(const struct model *m, const struct cuts *c, bool marks[SECTORS])
{
	memset(marks, 0, SECTORS);
	for (unsigned i = 0; i < c->n; i++) {
		uint64_t s = c->first[i];
		while (s < SECTORS && (!m->stored[s] || m->filler[s]))
			s++;
		if (s < SECTORS)
			marks[s] = true;
	}
}

/* Filler, which comes and goes with options, moves no cut of what is allocated. */
static void
test_filler(void)
{
	static bool with[SECTORS], without[SECTORS];
	struct model *m = new_model();
	unsigned lost = 0, kept = 0;

	fill_data(m, 4);
	choose_sectors(m, 60);
	struct cuts *c = run(m);
	mark_cuts(m, c, with);
	T_CHECK(c->good);
	free(c);
	for (uint64_t s = 0; s < SECTORS; s++)
		m->stored[s] &= !m->filler[s];
	c = run(m);
	mark_cuts(m, c, without);
	T_CHECK(c->good);
	free(c);
	for (uint64_t s = 0; s < SECTORS; s++) {
		kept += without[s] && with[s];
		lost += without[s] && !with[s];
	}
	printf("# %u cuts stayed, %u moved\n", kept, lost);
	T_CHECK(kept > 100);
	T_CHECK(lost == 0);
	free_model(m);
}

static unsigned
count_shared(const struct cuts *a, const struct cuts *b)
{
	unsigned n = 0;

	for (unsigned i = 0; i < a->n; i++)
		for (unsigned k = 0; k < b->n; k++)
			if (memcmp(a->digest[i], b->digest[k], SHA256_BYTES) == 0) {
				n++;
				break;
			}
	return n;
}

/* Files that were moved by some blocks, and into a partition elsewhere. */
static void
test_moved(void)
{
	struct model *m = new_model();

	sample_fill(m->data, (size_t)SECTORS * SECTOR_BYTES, 0);
	for (uint64_t s = 1000; s < 19000; s++)
		m->stored[s] = true;
	struct cuts *before = run(m);
	memmove(m->data + 11048 * SECTOR_BYTES, m->data + 1000 * SECTOR_BYTES,
	    18000 * SECTOR_BYTES);
	memset(m->stored, 0, sizeof m->stored);
	for (uint64_t s = 11048; s < 29048; s++)
		m->stored[s] = true;
	struct cuts *after = run(m);
	unsigned shared = count_shared(before, after);
	printf("# moved by blocks: %u of %u windows\n", shared, before->n);
	T_CHECK(shared + 2 >= before->n);
	free(after);
	/* Off the grid by a sector there is nothing; in a zone of its own there is. */
	memmove(m->data + 11049 * SECTOR_BYTES, m->data + 11048 * SECTOR_BYTES,
	    18000 * SECTOR_BYTES);
	memset(m->stored, 0, sizeof m->stored);
	for (uint64_t s = 11049; s < 29049; s++)
		m->stored[s] = true;
	after = run(m);
	T_CHECK(count_shared(before, after) == 0);
	free(after);
	add_zone(m, 1001, 30000);
	after = run(m);
	shared = count_shared(before, after);
	printf("# in a partition: %u of %u windows\n", shared, before->n);
	T_CHECK(shared + 2 >= before->n);
	free(after);
	free(before);
	free_model(m);
}

static void
test_zeros(void)
{
	struct model *m = new_model();

	memset(m->data, 0, (size_t)SECTORS * SECTOR_BYTES);
	memset(m->stored, true, sizeof m->stored);
	struct cuts *c = run(m);
	T_CHECK(c->good);
	T_CHECK(c->n == SECTORS / 32);
	unsigned apart = 0;
	for (unsigned i = 1; i < c->n; i++)
		apart += c->apart[i];
	T_CHECK(apart == 0);
	free(c);
	free_model(m);
}

/* Relocations stay with their sectors, and no window has too many. */
static void
test_relocs(void)
{
	struct model *m = new_model();

	fill_data(m, 3);
	memset(m->stored, true, sizeof m->stored);
	for (unsigned i = 0; i < 600; i++)
		m->relocs[m->nrelocs++] = (struct ndz_reloc){
			.type = NDZ_RELOC_LILO_MAP,
			.sector = 5000 + i * (i < 300 ? 1 : 31)
		};
	m->nrelocs = 600;
	for (unsigned i = 1; i < 600; i++)
		if (m->relocs[i].sector <= m->relocs[i - 1].sector)
			m->relocs[i].sector = m->relocs[i - 1].sector + 1;
	struct cuts *c = run(m);
	T_CHECK(c->good);
	T_CHECK(c->nrelocs == 600);
	free(c);
	free_model(m);
}

/* What must be in one piece of a chunk is at the beginning of a window that begins one.
 */
static void
test_fresh(void)
{
	for (uint64_t at = 4100; at < 4300; at += 31) {
		struct model *m = new_model();
		fill_data(m, 3);
		memset(m->stored, true, sizeof m->stored);
		m->fresh_at = at;
		struct cuts *c = run(m);
		unsigned n = 0, found = 0;
		for (unsigned i = 0; i < c->n; i++) {
			n += c->fresh[i];
			found += c->fresh[i] && c->apart[i] &&
			         c->first[i] == at / 8 * 8;
		}
		bool right = c->good && n == 1 && found == 1;
		T_CHECK(right);
		free(c);
		free_model(m);
	}
}

static ssize_t
fail_late(void *arg, struct window *w, void *buf, struct err *e)
{
	unsigned *left = arg;

	if ((*left)-- == 0)
		return err_set(e, ERR_IO, "the source fails");
	w->nregions = 1;
	w->regions[0] = (struct range){ (9 - *left) * WINDOW_SECTORS, WINDOW_SECTORS };
	sample_fill(buf, FRAGMENT_WINDOW_BYTES, 0);
	return FRAGMENT_WINDOW_BYTES;
}

static void
test_failure(void)
{
	static uint8_t raw[CUT_WINDOW_BYTES_MAX];
	unsigned left = 9;
	const struct recut_config cfg = { .next = fail_late, .arg = &left };
	struct recut *r;
	struct window w;
	struct err e;
	ssize_t n;

	T_CHECK(recut_new(&r, &cfg, &e) == 0);
	while ((n = recut_next(r, &w, raw, &e)) > 0)
		;
	T_CHECK(n == -1);
	T_CHECK(e.kind == ERR_IO);
	recut_free(r);
	recut_free(NULL);
}

int
main(void)
{
	test_rule();
	test_filler();
	test_moved();
	test_zeros();
	test_relocs();
	test_fresh();
	test_failure();
	return t_done();
}
