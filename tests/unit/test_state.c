/* The state of an installation: what was flushed is found again, whatever the
 * last write did; and the marker. */
#include "imageunzip/install/state.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/t.h"
#include "tests/unit/memdisk.h"
#include "tests/unit/scratch.h"

static const struct state_of of = { { 1, 2, 3 }, 1000, 77 << 20, { 5, 6 } };
static const uint8_t id[BOOT_AREA_ID_BYTES] = { 9, 8, 7 };

static struct state_sums
sums(void *arg)
{
	return *(struct state_sums *)arg;
}

static struct disk *
nothing(void)
{
	static struct mem m;

	m.bad = SIZE_MAX;
	return mem_disk(&m, DISK_FILE, 512);
}

static void
test_round_trip(void)
{
	struct state_sums want = { 1, 2, 3, 4 };
	struct disk *d = nothing();
	struct state *s;
	struct err e;

	unlink("state");
	T_CHECK(state_open(&s, "state", &e) == 0);
	T_CHECK(state_chunks(s) == 0);
	T_CHECK(state_check(s, &of, &e) == 0);
	T_CHECK(state_begin(s, &of, id, &e) == 0);
	T_CHECK(!state_due(s, 0));
	for (uint32_t i = 1; i < 1000; i += 3)
		state_note(s, i, 512);
	state_note(s, 1000, 512); /* of no chunk */
	T_CHECK(state_due(s, 0));
	T_CHECK(!state_has(s, 1));
	T_CHECK(state_flush(s, d, sums, &want, &e) == 0);
	T_CHECK(state_has(s, 1));
	state_note(s, 2, 512); /* not flushed */
	state_close(s);

	T_CHECK(state_open(&s, "state", &e) == 0);
	T_CHECK(state_chunks(s) == 333);
	T_CHECK(state_has(s, 1));
	T_CHECK(!state_has(s, 2));
	T_CHECK(state_has(s, 997));
	T_CHECK(!state_has(s, 1000));
	struct state_sums got = state_sums(s);
	want.bytes_covered = UINT64_C(333) * 512; /* the chunks that it names */
	T_CHECK(memcmp(&got, &want, sizeof got) == 0);
	T_CHECK(memcmp(state_install_id(s), id, sizeof id) == 0);
	struct state_of other = of;
	T_CHECK(state_check(s, &of, &e) == 0);
	other.uuid[15] = 1;
	T_CHECK(state_check(s, &other, &e) != 0);
	T_CHECK(e.kind == ERR_REFUSED);
	other = of;
	other.nchunks++;
	T_CHECK(state_check(s, &other, &e) != 0);
	T_CHECK(e.kind == ERR_REFUSED);
	other = of;
	other.target_bytes++;
	T_CHECK(state_check(s, &other, &e) != 0);
	T_CHECK(e.kind == ERR_REFUSED);
	other = of;
	other.digest[31] = 1;
	T_CHECK(state_check(s, &other, &e) != 0);
	T_CHECK(e.kind == ERR_REFUSED);
	T_CHECK(state_bind(s, other.digest, &e) != 0);
	T_CHECK(e.kind == ERR_REFUSED);
	memset(other.digest, 0, sizeof other.digest); /* not known: may be the same */
	T_CHECK(state_check(s, &other, &e) == 0);
	T_CHECK(state_bind(s, of.digest, &e) == 0);
	state_close(s);
	disk_close(d, &e);
}

static int
no_flush(struct mem *m, enum mem_access what, struct range bytes)
{
	(void)m, (void)bytes;
	return what == MEM_SYNC ? EIO : 0;
}

/* The target cannot be flushed: the state does not have what is not certainly there. */
static void
test_not_flushed(void)
{
	struct mem m = { .bad = SIZE_MAX, .before = no_flush };
	struct disk *d = mem_disk(&m, DISK_FILE, 512);
	struct state_sums none = { 0 };
	struct state *s;
	struct err e;

	T_CHECK(state_open(&s, "unflushed", &e) == 0);
	T_CHECK(state_begin(s, &of, id, &e) == 0);
	state_note(s, 1, 512);
	T_CHECK(state_flush(s, d, sums, &none, &e) != 0);
	state_close(s);
	T_CHECK(state_open(&s, "unflushed", &e) == 0);
	T_CHECK(!state_has(s, 1));
	state_close(s);
	disk_close(d, &e);
}

/* Whatever is cut off, one slot is whole, or the file is refused. */
static void
test_truncations(void)
{
	static uint8_t file[2 * 4096];
	struct state *s;
	struct err e;
	unsigned wrong = 0;

	FILE *f = fopen("state", "rb");
	T_CHECK(f != NULL);
	T_CHECK(fread(file, 1, sizeof file, f) == sizeof file);
	T_CHECK(fgetc(f) == EOF);
	fclose(f);
	for (size_t cut = 1; cut < sizeof file; cut += 7) {
		f = fopen("torn", "wb");
		fwrite(file, 1, cut, f);
		fclose(f);
		if (state_open(&s, "torn", &e) == 0) {
			wrong++;
			state_close(s);
		} else {
			wrong += e.kind != ERR_FORMAT;
		}
	}
	T_CHECK(wrong == 0);
	/* One slot is torn, either of them: the other one counts. */
	for (unsigned slot = 0; slot < 2; slot++) {
		f = fopen("torn", "wb");
		file[slot * 4096 + 200] ^= 1;
		fwrite(file, 1, sizeof file, f);
		file[slot * 4096 + 200] ^= 1;
		fclose(f);
		uint32_t n = 0;
		T_CHECK(state_open(&s, "torn", &e) == 0);
		n = state_chunks(s);
		T_CHECK(n == 333 || n == 0);
		state_close(s);
	}
}

/* On the target: in memory until it has a place, then found there again, and only
 * there. */
static void
test_in_target(void)
{
	static uint8_t bytes[16 * 4096];
	struct mem m = mem_of(bytes, sizeof bytes);
	struct disk *d = mem_disk(&m, DISK_FILE, 512);
	struct state_sums none = { 0 };
	struct state *s;
	struct err e;

	T_CHECK(state_bytes(1000) == 8192);
	T_CHECK(state_bytes(40000) == 16384);
	T_CHECK(state_open_in(&s, d, 0, 0, &e) == 0);
	T_CHECK(state_chunks(s) == 0);
	T_CHECK(state_begin(s, &of, id, &e) == 0);
	T_CHECK(!state_placed(s));
	state_note(s, 3, 512);
	T_CHECK(!state_due(s, 0));
	T_CHECK(bytes[4096] == 0);
	T_CHECK(state_place(s, 4096, &e) == 0);
	T_CHECK(state_placed(s));
	T_CHECK(state_due(s, 0));
	T_CHECK(state_flush(s, d, sums, &none, &e) == 0);
	state_close(s);
	T_CHECK(bytes[4095] == 0);
	T_CHECK(bytes[4096] == 'N');
	T_CHECK(bytes[3 * 4096] == 0);

	T_CHECK(state_open_in(&s, d, 4096, 8192, &e) == 0);
	T_CHECK(state_placed(s));
	T_CHECK(state_chunks(s) == 1);
	T_CHECK(state_has(s, 3));
	T_CHECK(state_remove(s, &e) == 0);
	state_close(s);
	/* Anywhere else there is none, and behind the end neither. */
	static const uint64_t at[][2] = { { 4096, 4096 }, { 12288, 8192 },
		{ 4096, 8191 }, { 15 * 4096, 8192 }, { UINT64_MAX, 8192 },
		{ 4096, UINT64_MAX } };
	for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
		T_CHECK(state_open_in(&s, d, at[i][0], at[i][1], &e) == 0);
		T_CHECK(!state_placed(s));
		T_CHECK(state_chunks(s) == 0);
		state_close(s);
	}
	disk_close(d, &e);
}

static void
test_marker(void)
{
	static uint8_t bytes[3 * BOOT_AREA_BYTES];
	struct mem m = mem_of(bytes, sizeof bytes);
	struct disk *d = mem_disk(&m, DISK_FILE, 512);
	struct marker marker;
	struct boot_area h;
	struct err e;
	unsigned wrong = 0;

	memset(bytes, 0x55, sizeof bytes);
	T_CHECK(boot_area_init(&h, d, BOOT_AREA_BYTES, 2 * BOOT_AREA_BYTES, &e) == 0);
	T_CHECK(h.on);
	T_CHECK(!h.was_marked);
	memcpy(h.marker.uuid, of.uuid, sizeof of.uuid);
	T_CHECK(boot_area_take(&h, BOOT_AREA_BYTES, "x", 1) == 0);
	T_CHECK(boot_area_take(&h, 100, "new", 3) == 3);
	T_CHECK(bytes[BOOT_AREA_BYTES + 100] == 0x55);
	T_CHECK(boot_area_take(&h, BOOT_AREA_BYTES - 2, NULL, 100) == 2);
	T_CHECK(boot_area_put_marker(&h, &e) == 0);
	T_CHECK(m.writes > 0 && m.flushed == m.writes);
	T_CHECK(marker_read(d, BOOT_AREA_BYTES, &marker, &e) == 1);
	T_CHECK(memcmp(marker.uuid, of.uuid, sizeof marker.uuid) == 0);
	T_CHECK(memcmp(marker.id, h.marker.id, sizeof marker.id) == 0);
	T_CHECK(marker.started > 1000000);
	T_CHECK(marker_read(d, 0, &marker, &e) == 0);
	T_CHECK(marker.state_at == 0);
	T_CHECK(marker.state_bytes == 0);
	T_CHECK(boot_area_place_state(&h, 81920, 8192, &e) == 0);
	T_CHECK(marker_read(d, BOOT_AREA_BYTES, &marker, &e) == 1);
	T_CHECK(marker.state_at == 81920);
	T_CHECK(marker.state_bytes == 8192);
	for (size_t bit = 0; bit < 512 * 8; bit++) {
		if (bit / 8 >= 20 && bit / 8 < 24)
			continue; /* the checksum itself: below */
		bytes[BOOT_AREA_BYTES + bit / 8] ^= (uint8_t)(1 << bit % 8);
		wrong += marker_read(d, BOOT_AREA_BYTES, &marker, &e) != 0;
		bytes[BOOT_AREA_BYTES + bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	bytes[BOOT_AREA_BYTES + 20] ^= 1;
	wrong += marker_read(d, BOOT_AREA_BYTES, &marker, &e) != 0;
	bytes[BOOT_AREA_BYTES + 20] ^= 1;
	T_CHECK(wrong == 0);
	T_CHECK(boot_area_commit(&h, &e) == 0);
	T_CHECK(memcmp(bytes + BOOT_AREA_BYTES + 100, "new", 3) == 0);
	T_CHECK(bytes[BOOT_AREA_BYTES + 99] == 0x55);
	T_CHECK(bytes[2 * BOOT_AREA_BYTES - 1] == 0);
	T_CHECK(bytes[BOOT_AREA_BYTES - 1] == 0x55);
	T_CHECK(bytes[2 * BOOT_AREA_BYTES] == 0x55);
	boot_area_free(&h);
	/* Too little room for it: everything passes. */
	T_CHECK(boot_area_init(&h, d, 0, BOOT_AREA_BYTES - 1, &e) == 0);
	T_CHECK(!h.on);
	T_CHECK(boot_area_take(&h, 0, "x", 1) == 0);
	T_CHECK(boot_area_put_marker(&h, &e) == 0);
	boot_area_free(&h);
	disk_close(d, &e);
}

int
main(void)
{
	scratch_init();
	T_CHECK(chdir(scratch_dir) == 0);
	test_round_trip();
	test_truncations();
	test_not_flushed();
	test_in_target();
	test_marker();
	return t_done();
}
