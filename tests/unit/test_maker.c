/* Images made by the library alone, and read back: what they store, what they say of
 * themselves, and what becomes of them when something fails. */
#include "common/image/write/maker.h"

#include <signal.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/image/format/crypt.h"
#include "common/image/format/kind.h"
#include "common/image/format/sign.h"
#include "common/image/read/sectors.h"
#include "tests/random.h"
#include "tests/unit/scratch.h"

enum {
	WINDOWS = 100,
	SECTORS = WINDOWS * WINDOW_SECTORS,
	HOLE = 16, /* sectors at the end of every window that are not stored */
	STORED = WINDOW_SECTORS - HOLE,
	TOTAL = SECTORS - HOLE,
	DATA_BYTES = WINDOWS * STORED * SECTOR_BYTES,
};

static uint8_t disk[SECTORS * SECTOR_BYTES];
static const uint8_t user_uuid[NDZ_UUID_BYTES] = "of the user";
static const uint8_t old_uuid[NDZ_UUID_BYTES] = "of before";

/* Every third window is zeros, and the others are noise. */
static void
fill_disk(void)
{
	draw_bytes(disk, sizeof disk);
	for (size_t i = 0; i < sizeof disk; i++)
		if (i / FRAGMENT_WINDOW_BYTES % 3 == 0)
			disk[i] = 0;
}

/* One image on its way, and what was told of it. */
struct making {
	uint64_t windows;     /* so many next() gives */
	uint64_t next_fails;  /* with this one; 0: never */
	uint64_t packed_fails;
	struct cancel *cancel; /* set with the first window that is packed */
	uint64_t given, packed, data_bytes;
	uint64_t sector; /* the next one that packed() is to have */
	uint32_t chunks;
	bool in_order, same_data;
};

static ssize_t
next(void *arg, struct window *w, void *buf, struct err *e)
{
	struct making *m = arg;
	uint64_t at = m->given * WINDOW_SECTORS;

	if (m->given == m->windows)
		return 0;
	if (++m->given == m->next_fails)
		return err_set(e, ERR_IO, "next() fails");
	w->nregions = 1;
	w->regions[0] = (struct range){ at, STORED };
	memcpy(buf, disk + at * SECTOR_BYTES, STORED * SECTOR_BYTES);
	return STORED * SECTOR_BYTES;
}

static int
packed(void *arg, const struct maker_packed *x, struct err *e)
{
	struct making *m = arg;
	const uint8_t *raw = x->raw;

	for (unsigned i = 0; i < x->window->nregions; i++) {
		struct range r = x->window->regions[i];
		m->in_order &= r.off == m->sector && range_end(r) <= SECTORS;
		if (!m->in_order)
			return err_set(e, ERR_FORMAT, "not in order");
		m->same_data &= memcmp(raw, disk + r.off * SECTOR_BYTES,
				    r.len * SECTOR_BYTES) == 0;
		raw += r.len * SECTOR_BYTES;
		m->sector = range_end(r);
		if (m->sector % WINDOW_SECTORS == STORED)
			m->sector += HOLE;
	}
	m->data_bytes = x->data_bytes;
	if (m->cancel != NULL)
		m->cancel->signal = SIGINT;
	if (++m->packed == m->packed_fails)
		return err_set(e, ERR_REFUSED, "packed() fails");
	return 0;
}

static void
chunk(void *arg)
{
	struct making *m = arg;

	m->chunks++;
}

static const struct maker_choice plain = { .codec = CODEC_DEFAULT, .jobs = 2 };

static struct maker_config
config(struct making *m, const struct maker_choice *how)
{
	*m = (struct making){ .windows = WINDOWS, .in_order = true, .same_data = true };
	return (struct maker_config){ .how = how,
		.program = "test_maker",
		.source = "the source",
		.total = TOTAL,
		.image = { .kind = EXT_KIND_DISK,
		    .source_bytes = sizeof disk,
		    .sector_bytes = SECTOR_BYTES,
		    .filesystems = "1:none" },
		.next = next,
		.packed = packed,
		.chunk = chunk,
		.arg = m };
}

/* Make the image into an open output, and say how much it was. */
static int
fill_output(struct output *out, const struct maker_config *cfg, uint32_t short_bytes,
    struct maker_totals *totals, struct err *e)
{
	struct maker_ending end = { .total = TOTAL, .short_bytes = short_bytes };
	struct lostset lost;
	struct maker *m;

	lostset_init(&lost);
	if (rangeset_add(&lost.set, (struct range){ 3, 2 }, e) != 0)
		abort();
	rangeset_seal(&lost.set);
	lost.sectors = 2;
	end.lost = &lost;
	int rc = maker_new(&m, cfg, e);
	if (rc == 0) {
		rc = maker_run(m, out, e);
		if (rc == 0)
			rc = maker_end(m, &end, e);
		*totals = maker_totals(m);
		maker_free(m);
	}
	lostset_free(&lost);
	return rc;
}

static int
make(const char *name, const struct maker_config *cfg, uint32_t short_bytes,
    struct maker_totals *totals, struct err *e)
{
	struct output out;

	if (output_open(&out, in_scratch(name), &kind_image, false, e) != 0)
		return -1;
	if (fill_output(&out, cfg, short_bytes, totals, e) != 0) {
		output_abort(&out);
		return -1;
	}
	return output_commit(&out, true, e);
}

/* The image that is made so, opened; NULL when that fails. */
static struct sectors *
made(const char *name, const struct maker_config *cfg, struct opener *opener)
{
	struct maker_totals totals;
	struct sectors *s;
	struct err e;

	if (make(name, cfg, 0, &totals, &e) != 0 ||
	    sectors_open_proved(&s, in_scratch(name), opener, &e) != 0) {
		printf("# %s\n", e.text);
		return NULL;
	}
	return s;
}

static bool
stores_disk(struct sectors *s)
{
	static uint8_t buf[STORED * SECTOR_BYTES];
	struct err e;

	for (uint64_t i = 0; i < WINDOWS; i++) {
		struct range r = { i * WINDOW_SECTORS, STORED };
		if (sectors_read(s, r, buf, &e) != 0 ||
		    memcmp(buf, disk + r.off * SECTOR_BYTES, sizeof buf) != 0)
			return false;
	}
	return sectors_done(s, &e) == 0;
}

/* What the image stores, and what it says of itself. */
static void
test_contents(struct codec_choice codec)
{
	const struct maker_choice how = { .codec = codec, .jobs = 2 };
	struct making m;
	struct maker_config cfg = config(&m, &how);
	struct sectors *s = made("a.ndz", &cfg, NULL);

	if (!T_CHECK(s != NULL))
		return;
	T_CHECK(rangeset_count(sectors_stored(s)) == WINDOWS);
	T_CHECK(rangeset_total(sectors_stored(s)) == WINDOWS * STORED);
	T_CHECK(stores_disk(s));
	T_CHECK(sectors_total(s) == TOTAL);
	T_CHECK(sectors_chunks(s) > 2);
	unsigned version = codec.codec->id == CODEC_DEFLATE ? 3 : 5;
	T_CHECK(sectors_header(s)->version == version);
	const struct ext *x = sectors_ext(s);
	T_CHECK(strcmp(x->image.tool, "test_maker " SUITE_VERSION) == 0);
	T_CHECK(strcmp(x->image.filesystems, "1:none") == 0);
	T_CHECK(x->image.made_at == 1234567890);
	T_CHECK(sectors_lost(s)->sectors == 2);
	sectors_close(s);
}

/* What is told meanwhile, and at the end. */
static void
test_told(void)
{
	struct maker_totals totals = { 0 };
	struct making m;
	const struct maker_choice aligned = { .codec = CODEC_DEFAULT,
		.windows = MAKER_ALIGNED };
	struct maker_config cfg = config(&m, &aligned);
	struct err e;

	T_CHECK(make("a.ndz", &cfg, 0, &totals, &e) == 0);
	T_CHECK(m.packed == WINDOWS);
	T_CHECK(m.sector == SECTORS);
	cfg = config(&m, &plain);
	T_CHECK(make("a.ndz", &cfg, 0, &totals, &e) == 0);
	T_CHECK(m.sector == SECTORS);
	T_CHECK(m.in_order);
	T_CHECK(m.same_data);
	T_CHECK(m.data_bytes == DATA_BYTES);
	T_CHECK(totals.data_bytes == DATA_BYTES);
	T_CHECK(totals.chunks == m.chunks);
	T_CHECK(maker_totals(NULL).chunks == 0);
	cfg = config(&m, &plain);
	cfg.packed = NULL;
	cfg.chunk = NULL;
	T_CHECK(make("b.ndz", &cfg, 0, &totals, &e) == 0);
	T_CHECK(totals.data_bytes == DATA_BYTES);
}

static void
test_short_sector(void)
{
	struct maker_totals totals;
	struct making m;
	struct maker_config cfg = config(&m, &plain);
	struct sectors *s;
	struct err e;
	size_t n;

	T_CHECK(make("a.ndz", &cfg, 77, &totals, &e) == 0);
	if (!T_CHECK(sectors_open(&s, in_scratch("a.ndz"), &e) == 0))
		return;
	const struct ndz_reloc *r = sectors_relocs(s, &n);
	T_CHECK(n == 1);
	T_CHECK(r[0].type == NDZ_RELOC_SHORT_SECTOR);
	T_CHECK(r[0].sector == TOTAL - 1);
	T_CHECK(r[0].size == 77);
	sectors_close(s);
}

/* The version that an image has, or 0 when it is refused. */
static unsigned
version_of(const struct maker_choice *how, uint64_t total, bool prefer_v5)
{
	struct making m;
	struct maker_config cfg = config(&m, how);

	cfg.total = total;
	cfg.prefer_v5 = prefer_v5;
	struct sectors *s = made("v.ndz", &cfg, NULL);
	unsigned version = s != NULL ? sectors_header(s)->version : 0;
	sectors_close(s);
	return version;
}

static void
test_versions(void)
{
	const uint64_t large = (uint64_t)UINT32_MAX + 1;
	const struct maker_choice v3 = { .codec = CODEC_DEFAULT, .v3 = true },
				  v5 = { .codec = CODEC_DEFAULT, .v5 = true };

	T_CHECK(version_of(&plain, TOTAL, false) == 3);
	T_CHECK(version_of(&plain, TOTAL, true) == 5);
	T_CHECK(version_of(&plain, UINT64_MAX, false) == 3);
	T_CHECK(version_of(&plain, large - 1, false) == 3);
	T_CHECK(version_of(&plain, large, false) == 5);
	T_CHECK(version_of(&v5, TOTAL, false) == 5);
	T_CHECK(version_of(&v3, TOTAL, true) == 3);
	T_CHECK(version_of(&v3, large, false) == 0);
}

static bool
is_zero(const uint8_t uuid[NDZ_UUID_BYTES])
{
	static const uint8_t none[NDZ_UUID_BYTES];

	return memcmp(uuid, none, sizeof none) == 0;
}

/* The UUID of every chunk's extension, and that of the header. */
static void
uuids_of(const struct maker_choice *how, const uint8_t *keep,
    uint8_t all[NDZ_UUID_BYTES], uint8_t header[NDZ_UUID_BYTES])
{
	struct making m;
	struct maker_config cfg = config(&m, how);

	cfg.keep_uuid = keep;
	cfg.prefer_v5 = true;
	struct sectors *s = made("u.ndz", &cfg, NULL);
	if (!T_CHECK(s != NULL))
		return;
	memcpy(all, sectors_ext(s)->uuid, NDZ_UUID_BYTES);
	memcpy(header, sectors_header(s)->uuid, NDZ_UUID_BYTES);
	sectors_close(s);
}

static void
test_uuids(void)
{
	struct maker_choice has = { .codec = CODEC_DEFAULT, .has_uuid = true };
	const struct maker_choice sealed = { .codec = CODEC_DEFAULT,
		.sealer.sign = "k.key" };
	uint8_t all[NDZ_UUID_BYTES] = { 0 }, header[NDZ_UUID_BYTES] = { 0 },
		other[NDZ_UUID_BYTES] = { 0 };

	uuids_of(&plain, NULL, all, header);
	T_CHECK(!is_zero(all));
	T_CHECK(is_zero(header));
	uuids_of(&plain, NULL, other, header);
	T_CHECK(memcmp(all, other, sizeof all) != 0);

	uuids_of(&plain, old_uuid, all, header);
	T_CHECK(memcmp(all, old_uuid, sizeof all) == 0);
	T_CHECK(memcmp(header, old_uuid, sizeof header) == 0);

	memcpy(has.uuid, user_uuid, sizeof has.uuid);
	uuids_of(&has, old_uuid, all, header);
	T_CHECK(memcmp(all, user_uuid, sizeof all) == 0);
	T_CHECK(memcmp(header, user_uuid, sizeof header) == 0);

	uuids_of(&sealed, old_uuid, all, header);
	T_CHECK(memcmp(all, old_uuid, sizeof all) != 0);
	T_CHECK(is_zero(header));
}

static void
test_sealed(void)
{
	const struct maker_choice how = { .codec = CODEC_DEFAULT,
		.sealer = { .sign = "k.key", .encrypt = "k.enc" } };
	const struct opener_config demand = { "k.pub", "k.enc" };
	struct opener *opener;
	struct making m;
	struct maker_config cfg = config(&m, &how);
	struct sectors *s;
	struct err e;

	T_CHECK(opener_new(&opener, &demand, &e) == 0);
	s = made("s.ndz", &cfg, opener);
	if (T_CHECK(s != NULL))
		T_CHECK(stores_disk(s));
	sectors_close(s);
	opener_free(opener);
	T_CHECK(sectors_open(&s, in_scratch("s.ndz"), &e) == -1);
}

/* Neither the image nor a part of it is left. */
static bool
nothing_is_left(void)
{
	return access(in_scratch("f.ndz"), F_OK) != 0 &&
	       access(in_scratch("f.ndz.partial"), F_OK) != 0;
}

static void
fails(const struct maker_config *cfg, const char *with)
{
	struct maker_totals totals;
	struct err e = { .text = "" };

	T_CHECK(make("f.ndz", cfg, 0, &totals, &e) == -1);
	if (!T_CHECK(strstr(e.text, with) != NULL))
		printf("# %s\n", e.text);
	T_CHECK(nothing_is_left());
}

static void
test_failures(void)
{
	const struct maker_choice v3 = { .codec = CODEC_DEFAULT, .v3 = true },
				  no_key = { .codec = CODEC_DEFAULT,
					  .sealer.sign = "none.key" };
	struct making m;
	struct maker_config cfg = config(&m, &plain);

	m.next_fails = WINDOWS / 2;
	fails(&cfg, "next() fails");
	cfg = config(&m, &plain);
	m.packed_fails = WINDOWS / 2;
	fails(&cfg, "packed() fails");
	cfg = config(&m, &plain);
	m.windows = 0;
	fails(&cfg, "nothing to store");
	cfg = config(&m, &no_key);
	fails(&cfg, "none.key");
	cfg = config(&m, &v3);
	cfg.total = (uint64_t)UINT32_MAX + 1;
	fails(&cfg, "-3: the source is too large for version 3");
}

static void
test_cancelled(void)
{
	struct cancel owner = { 0 };
	struct making m;
	struct maker_config cfg = config(&m, &plain);

	m.cancel = &owner;
	cancel_work_for(&owner);
	fails(&cfg, "interrupted by SIGINT");
	cancel_work_for(NULL);
}

static enum err_kind
checked(const struct maker_choice *c)
{
	struct err e;

	return maker_check(c, &e) == 0 ? ERR_NONE : e.kind;
}

static void
test_check(void)
{
	struct maker_choice c = { .codec = { &codec_deflate, 6 }, .v3 = true };

	T_CHECK(checked(&c) == ERR_NONE);
	c.v5 = true;
	T_CHECK(checked(&c) == ERR_USAGE);
	c.v5 = false;
	c.has_uuid = true;
	T_CHECK(checked(&c) == ERR_USAGE);
	c.has_uuid = false;
	c.sealer.encrypt = "k.enc";
	T_CHECK(checked(&c) == ERR_USAGE);
	c.v3 = false;
	T_CHECK(checked(&c) == ERR_NONE);
	c.has_uuid = true;
	T_CHECK(checked(&c) == ERR_USAGE);
}

/* What is left when a signal ends a program: a file is removed; a device or a pipe stays. */
static void
test_left(void)
{
	static const char nothing[] = "no image was made", some[] = "the image is incomplete";
	char source[] = "disk", none[] = "none", file[] = "file", out[] = "-", null[] = "/dev/null";
	char *operands[] = { source, none };

	T_CHECK(sh("touch file") == 0);
	T_CHECK(strcmp(output_image_left(NULL, operands, 2), nothing) == 0);
	operands[1] = file;
	T_CHECK(strcmp(output_image_left(NULL, operands, 2), nothing) == 0);
	operands[1] = out;
	T_CHECK(strcmp(output_image_left(NULL, operands, 2), some) == 0);
	operands[1] = null;
	T_CHECK(strcmp(output_image_left(NULL, operands, 2), some) == 0);
	T_CHECK(strcmp(output_image_left(NULL, operands, 0), nothing) == 0);
}

int
main(void)
{
	static const char *const codecs[] = { "deflate:1", "igzip", "zstd:1" };
	struct codec_choice codec;
	struct err e;

	setenv("SOURCE_DATE_EPOCH", "1234567890", 1);
	scratch_init();
	if (chdir(scratch_dir) != 0)
		return 1;
	T_CHECK(sign_make_keys("k", &e) == 0);
	T_CHECK(crypt_make_key("k.enc", &e) == 0);
	fill_disk();
	for (size_t i = 0; i < sizeof codecs / sizeof codecs[0]; i++) {
		if (codec_parse(&codec, codecs[i], &e) == 0)
			test_contents(codec);
		else
			T_CHECK(e.kind == ERR_UNSUPPORTED);
	}
	test_told();
	test_short_sector();
	test_versions();
	test_uuids();
	test_sealed();
	test_failures();
	test_cancelled();
	test_check();
	test_left();
	return t_done();
}
