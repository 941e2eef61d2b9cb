/* The stream of changed blocks: round trip, every truncation, every changed byte, lies. */
#include "dsync/stream/impl.h"
#include "tests/t.h"
#include "tests/unit/memdisk.h"

enum { DEVICE_BYTES = 1 << 20, DATA_BYTES = 4096, ROOM = 1 << 16 };

static uint8_t stream[ROOM];
static size_t stream_bytes;

static struct stream_head
head(void)
{
	struct stream_head h = { .device_bytes = DEVICE_BYTES, .block_bytes = 4096,
		.flags = STREAM_CUMULATIVE, .nbases = 2, .made_at = 1234567,
		.kind = "scan" };

	memset(&h.id, 1, sizeof h.id);
	memset(&h.lineage, 2, sizeof h.lineage);
	memset(&h.bases[0], 3, sizeof h.bases[0]);
	memset(&h.bases[1], 4, sizeof h.bases[1]);
	return h;
}

static void
put(struct stream_totals *t, enum stream_type type, uint64_t off, uint64_t len)
{
	uint8_t *at = stream + stream_bytes;
	size_t stored = type == STREAM_DATA ? (size_t)len : 0;

	for (size_t i = 0; i < stored; i++)
		at[STREAM_RECORD_HEAD + i] = (uint8_t)(off / 4096 + i);
	size_t n = stream_put_record(
	    at, type, STREAM_RAW, (struct range){ off, len }, stored);
	stream_count(t, at, n);
	stream_bytes += n;
}

/* Two records of data and one of zeros; a full one covers the device. */
static void
make(struct stream_head h, bool fuzzy)
{
	struct stream_end end = { .fuzzy = fuzzy };

	stream_put_head(&h, stream, &end.totals);
	stream_bytes = STREAM_TOP_BYTES;
	put(&end.totals, STREAM_DATA, 8192, DATA_BYTES);
	put(&end.totals, STREAM_ZEROS, 65536, 500000);
	put(&end.totals, STREAM_DATA, DEVICE_BYTES - 512, 512);
	stream_put_end(&end, stream + stream_bytes);
	stream_bytes += STREAM_END_BYTES;
}

/* Read it all: how many records; -1 with the kind of the error. */
static int
read_all(const uint8_t *bytes, size_t len, struct stream_end *end, enum err_kind *kind)
{
	uint8_t *exact = malloc(len + 1); /* for the address sanitizer */
	struct stream_record r;
	struct stream_in *in = NULL;
	struct err e, late;
	int rc, n = 0;

	if (len > 0)
		exact = realloc(exact, len);
	memcpy(exact, bytes, len);
	struct mem m = mem_of(exact, len);
	struct disk *d = mem_disk(&m, DISK_FILE, SECTOR_BYTES);
	rc = stream_in_open(&in, d, 0, UINT64_MAX, &e);
	if (rc == 0)
		while ((rc = stream_in_next(in, &r, &e)) == 1)
			n++;
	if (rc == 0 && end != NULL)
		*end = *stream_in_end(in);
	*kind = rc == 0 ? ERR_NONE : e.kind;
	stream_in_close(in);
	disk_close(d, &late);
	free(exact);
	return rc == 0 ? n : -1;
}

static void
test_round_trip(void)
{
	struct stream_head h = head(), got;
	struct stream_end end;
	enum err_kind kind;
	struct err e;

	make(h, true);
	T_CHECK(stream_get_head(&got, stream, &e) == 0);
	T_CHECK(memcmp(&got, &h, sizeof h) == 0);
	T_CHECK(read_all(stream, stream_bytes, &end, &kind) == 3);
	T_CHECK(end.fuzzy);
	T_CHECK(end.totals.data_records == 2 && end.totals.zero_records == 1);
	T_CHECK(end.totals.data_bytes == DATA_BYTES + 512);
	T_CHECK(end.totals.zero_bytes == 500000);
	make(h, false);
	T_CHECK(read_all(stream, stream_bytes, &end, &kind) == 3 && !end.fuzzy);
}

static void
test_truncation(void)
{
	enum err_kind kind;
	bool any = false;

	for (size_t n = 0; n < stream_bytes; n++)
		any |= read_all(stream, n, NULL, &kind) >= 0 || kind != ERR_FORMAT;
	T_CHECK(!any);
	stream[stream_bytes] = 0;
	T_CHECK(read_all(stream, stream_bytes + 1, NULL, &kind) < 0 && kind == ERR_FORMAT);
}

/* No byte is without a digest. */
static void
test_flips(void)
{
	enum err_kind kind;
	bool any = false;

	for (size_t i = 0; i < stream_bytes; i++) {
		stream[i] ^= 1;
		any |= read_all(stream, stream_bytes, NULL, &kind) >= 0;
		stream[i] ^= 1;
	}
	T_CHECK(!any);
}

/* Whole records, each with a right digest, that are not what the end has counted. */
static void
test_other_records(void)
{
	size_t one = STREAM_RECORD_EXTRA + DATA_BYTES, at = STREAM_TOP_BYTES;
	uint8_t other[ROOM];
	enum err_kind kind;

	/* The first record is left out. */
	memcpy(other, stream, at);
	memcpy(other + at, stream + at + one, stream_bytes - at - one);
	T_CHECK(read_all(other, stream_bytes - one, NULL, &kind) < 0 && kind == ERR_FORMAT);
	/* Records come twice. */
	memcpy(other, stream, at + one);
	memcpy(other + at + one, stream + at, stream_bytes - at);
	T_CHECK(read_all(other, stream_bytes + one, NULL, &kind) < 0 && kind == ERR_FORMAT);
}

/* Heads with a right digest that say what cannot be. */
static void
test_lies(void)
{
	struct stream_head h = head();
	enum err_kind kind;

	h.flags = STREAM_FULL; /* and the records do not cover the device */
	make(h, false);
	T_CHECK(read_all(stream, stream_bytes, NULL, &kind) < 0 && kind == ERR_FORMAT);
	h = head(), h.block_bytes = 4095;
	make(h, false);
	T_CHECK(read_all(stream, stream_bytes, NULL, &kind) < 0 && kind == ERR_FORMAT);
	h = head(), h.device_bytes = DEVICE_BYTES - 1;
	make(h, false);
	T_CHECK(read_all(stream, stream_bytes, NULL, &kind) < 0 && kind == ERR_FORMAT);
	h = head(), h.flags = 4;
	make(h, false);
	T_CHECK(read_all(stream, stream_bytes, NULL, &kind) < 0 && kind == ERR_UNSUPPORTED);
	h = head(), memset(&h.id, 0, sizeof h.id);
	make(h, false);
	T_CHECK(read_all(stream, stream_bytes, NULL, &kind) < 0 && kind == ERR_FORMAT);
}

static void
test_ids(void)
{
	struct stream_id a, b;
	char text[STREAM_ID_TEXT];
	struct err e;

	stream_id_make(&a);
	T_CHECK(stream_id_set(&a));
	T_CHECK(stream_id_get(&b, stream_id_text(&a, text), &e) == 0);
	T_CHECK(stream_id_same(&a, &b));
	T_CHECK(stream_id_get(&b, "xyz", &e) != 0 && e.kind == ERR_USAGE);
}

int
main(void)
{
	test_round_trip();
	test_truncation();
	test_flips();
	test_other_records();
	test_lies();
	test_ids();
	return t_done();
}
