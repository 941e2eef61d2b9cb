/* Bytes that are kept in memory or in a file without a name: the same bytes come back, wherever
 * the border between file and memory is, and a folder without room is an error. */
#include "emustore/store/spill.h"

#include <dirent.h>

#include "tests/random.h"
#include "tests/unit/scratch.h"

enum { BYTES = 3 << 20, NUMBERS = BYTES / 4 };
static struct err e;

static bool
is_empty(const char *folder)
{
	DIR *d = opendir(folder);
	unsigned n = 0;

	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n == 2;
}

/* Each number is its own place, so each byte is known. */
static void
add_all(struct spill *s)
{
	unsigned failed = 0;

	for (uint32_t i = 0; i < NUMBERS;) {
		uint32_t v[500], n = 0;
		for (uint32_t most = 1 + (uint32_t)draw(500); n < most && i < NUMBERS;)
			v[n++] = i++;
		failed += spill_add(s, v, n * sizeof *v, &e) != 0;
	}
	T_CHECK(failed == 0);
	T_CHECK(spill_bytes(s) == BYTES);
}

static void
read_many(const struct spill *s)
{
	struct spill_view view = { 0 };
	unsigned wrong = 0;

	for (int tries = 0; tries < 2000; tries++) {
		uint32_t most = tries % 100 == 0 ? NUMBERS : 300,
			 n = (uint32_t)draw(most), at = (uint32_t)draw(NUMBERS - n);
		const uint32_t *v = spill_at(s, &view, at * 4ull, n * 4ull, &e);
		for (uint32_t i = 0; v != NULL && i < n; i++)
			wrong += v[i] != at + i;
		wrong += v == NULL;
	}
	T_CHECK(wrong == 0);
	spill_view_free(&view);
}

int
main(void)
{

	scratch_init();
	/* All in memory; the last bytes in memory; hardly anything. */
	for (size_t most = BYTES; most > 8; most /= 50) {
		struct spill s = spill_new(in_scratch("."), most);
		add_all(&s);
		read_many(&s);
		T_CHECK((s.fd < 0) == (most == BYTES));
		T_CHECK(s.mem.cap <= (most == BYTES ? 2 * BYTES : 4 << 20));
		T_CHECK(is_empty(in_scratch(".")));
		spill_free(&s);
	}
	struct spill s = spill_new(in_scratch("none"), 10);
	T_CHECK(spill_add(&s, "0123456789", 10, &e) == 0);
	T_CHECK(spill_add(&s, "0", 1, &e) == -1 && e.kind == ERR_IO);
	spill_free(&s);
	scratch_done();
	return t_done();
}
