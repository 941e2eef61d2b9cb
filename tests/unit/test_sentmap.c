/* The map of what a session has sent, from the engine's blocks to the text of the statistics. */
#include "frisbeed/serve/sentmap.h"

#include <string.h>

#include "tests/t.h"
#include "tests/unit/server_talk.h"

static bool
map_is(struct server *s, const char *want)
{
	struct sentmap m;
	char text[SENTMAP_CELLS + 1];

	sentmap_init(&m);
	sentmap_text(&m, text);
	T_CHECK(text[0] == '\0');
	sentmap_draw(&m, s);
	sentmap_text(&m, text);
	sentmap_fini(&m);
	if (strcmp(text, want) != 0)
		printf("# %.80s, not %s\n", text, want);
	return strcmp(text, want) == 0;
}

/* A cell for each chunk: nothing, one block, half, all but one block, all. */
static void
test_shades(void)
{
	struct server *s = make(5 * MIB, true, 4096, 1000);

	T_CHECK(map_is(s, "00000"));
	join(s, 0, 7);
	request(s, 0, 1, 0, 1);
	request(s, 0, 2, 0, WIRE_CHUNK_BLOCKS / 2);
	request(s, 0, 3, 0, WIRE_CHUNK_BLOCKS - 1);
	request(s, 0, 4, 0, WIRE_CHUNK_BLOCKS);
	uint64_t now = 1000;
	sent_in(s, &now, 100);
	T_CHECK(map_is(s, "017ef"));
	request(s, now, 2, 0, WIRE_CHUNK_BLOCKS / 2); /* the same blocks once more */
	sent_in(s, &now, 100);
	T_CHECK(map_is(s, "017ef"));
	server_free(s);
}

/* The last chunk is short, and the end of another one is known to be empty. */
static void
test_ends(void)
{
	struct server_config cfg = { .image_bytes = MIB + 100 * WIRE_BLOCK_BYTES,
		.whole_chunks = true,
		.run_blocks = 32,
		.ahead = 4,
		.burst = 4096,
		.gap_us = 1000,
		.ext = { .on = true, .port = 5008, .session = 9, .pack_blocks = 8 } };
	struct server *s = server_new(&cfg, 0);
	uint64_t now = 1000;

	server_content(s, 0, 10);
	join(s, 0, 7);
	request(s, 0, 0, 0, 10);
	request(s, 0, 1, 0, 100);
	sent_in(s, &now, 100);
	T_CHECK(map_is(s, "ff"));
	server_free(s);
}

/* Of more chunks than cells, each cell has its part, and all parts together are the image. */
static void
test_many(void)
{
	enum { CHUNKS = 3 * SENTMAP_CELLS + 5 };
	struct server *s = make((uint64_t)CHUNKS * MIB, true, 4096, 1000);
	uint8_t cells[SENTMAP_CELLS];
	uint64_t now = 1000;

	join(s, 0, 7);
	request(s, 0, CHUNKS - 1, 0, WIRE_CHUNK_BLOCKS);
	sent_in(s, &now, 100);
	server_map(s, cells, SENTMAP_CELLS);
	T_CHECK(cells[0] == 0);
	T_CHECK(cells[SENTMAP_CELLS - 1] > 0 && cells[SENTMAP_CELLS - 1] < SERVER_MAP_FULL);
	server_map(s, cells, 1);
	T_CHECK(cells[0] == 1);
	for (uint32_t c = 0; c < CHUNKS; c++)
		request(s, now, c, 0, WIRE_CHUNK_BLOCKS);
	sent_in(s, &now, CHUNKS);
	server_map(s, cells, SENTMAP_CELLS);
	for (unsigned i = 0; i < SENTMAP_CELLS; i++)
		if (cells[i] != SERVER_MAP_FULL)
			T_CHECK(!"a cell is not full");
	server_free(s);
}

int
main(void)
{
	test_shades();
	test_ends();
	test_many();
	return t_done();
}
