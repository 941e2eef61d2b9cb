/* A large image in a store that takes no room: the recipe of a small one again and
 * again, for what a server needs of memory.
 *	fill_large STORE NAME LARGE_NAME CHUNKS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emustore/store/stored.h"

/* The blocks of that image which are full, as they stand in its record. */
static int
full_blocks(struct store *s, const char *name, struct recipe_image *about,
    struct buf *blocks, struct err *e)
{
	struct index_image *i = calloc(1, sizeof *i);
	struct packs *packs = store_packs(s);
	struct record_head h;
	struct buf body = { 0 };
	struct store_name n;
	uint32_t slot;
	int rc = i == NULL || packs == NULL ? err_nomem(e, "a recipe")
	                                    : store_name_get(&n, name, e);

	if (rc == 0 && index_find_image(s->index, &n, i, e) != 1)
		rc = err_set(e, ERR_USAGE, "%s is not in the store", name);
	if (rc == 0)
		rc = packs_slot(packs, i->pack, &slot, e);
	if (rc == 0)
		rc = packs_read_record(packs, slot, i->at, &h, &body, e);
	struct rd r = rd_from(body.base, body.len);
	if (rc == 0)
		rc = recipe_get_image(about, &r, e);
	size_t from = r.off;
	for (uint32_t k = 0; rc == 0 && k < about->chunks / RECIPE_BLOCK_CHUNKS; k++) {
		struct recipe_block b;
		rc = recipe_get_block(&b, &r, e) == 1 ? 0 : -1;
	}
	if (rc == 0)
		buf_bytes(blocks, body.base + from, r.off - from);
	buf_free(&body);
	packs_free(packs);
	free(i);
	return rc;
}

static int
add_large(struct store *s, struct recipe_image *about, const struct buf *blocks,
    uint32_t chunks, struct err *e)
{
	uint32_t full = about->chunks / RECIPE_BLOCK_CHUNKS * RECIPE_BLOCK_CHUNKS;
	struct index_image *i = calloc(1, sizeof *i);
	struct buf head = { 0 }, body = { 0 };

	if (i == NULL)
		return err_nomem(e, "a recipe");
	about->chunks = 0;
	for (; about->chunks < chunks; about->chunks += full)
		buf_bytes(&body, blocks->base, blocks->len);
	about->data_bytes = (uint64_t)about->chunks * NDZ_CHUNK_BYTES;
	recipe_put_image(&head, about);
	*i = (struct index_image){ .number = store_number(s, INDEX_NEXT_IMAGE),
		.bytes = head.len + body.len,
		.about = *about };
	int rc = !buf_ok(&head) || !buf_ok(&body)
	             ? err_nomem(e, "a recipe")
	             : store_append(s, RECORD_IMAGE, i->number, head.base, head.len,
			   body.base, body.len, &i->pack, &i->at, e);
	if (rc == 0)
		rc = index_add_image(s->index, i, e);
	buf_free(&head);
	buf_free(&body);
	free(i);
	return rc;
}

static int
run(struct store *s, char **argv, struct err *e)
{
	static struct recipe_image about;
	struct buf blocks = { 0 };
	int rc = full_blocks(s, argv[2], &about, &blocks, e);

	if (rc == 0 && blocks.len == 0)
		rc = err_set(e, ERR_USAGE, "%s has fewer than %d chunks", argv[2],
		    RECIPE_BLOCK_CHUNKS);
	about.parent[0] = '\0';
	if (rc == 0)
		rc = store_name_get(&about.name, argv[3], e);
	about.name.version = 1;
	if (rc == 0)
		rc = store_begin(s, e);
	if (rc == 0)
		rc = add_large(
		    s, &about, &blocks, (uint32_t)strtoul(argv[4], NULL, 10), e);
	if (rc == 0)
		rc = store_commit(s, e);
	buf_free(&blocks);
	return rc;
}

int
main(int argc, char **argv)
{
	struct store s;
	struct err e;

	if (argc != 5) {
		fprintf(stderr, "usage: fill_large STORE NAME LARGE_NAME CHUNKS\n");
		return 2;
	}
	int rc = store_open(&s, argv[1], STORE_WRITE, &e);
	if (rc == 0) {
		rc = run(&s, argv, &e);
		store_close(&s);
	}
	if (rc == 0)
		return 0;
	fprintf(stderr, "fill_large: %s\n", e.text);
	return err_exit_status(&e);
}
