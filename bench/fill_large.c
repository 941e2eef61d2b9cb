/* fill_large.c: puts a large image into a store that needs no room for it, since its recipe names the
 * chunks of a small image again and again.  bench/ runs this program, to measure how much memory a server
 * of such an image needs; it has one thread.
 *	fill_large STORE NAME LARGE_NAME CHUNKS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/rd.h"
#include "emustore/store/stored.h"
#include "emustore/store/writer.h"

/* What the object of an image has. */
struct small {
	struct recipe_image about;
	struct buf object, blocks, digests; /* of the blocks those that are full */
};

static int
load_object(struct store *s, const char *name, struct buf *object, struct err *e)
{
	struct index_image *i = malloc(sizeof *i);
	struct store_name n;
	int rc = i == NULL ? err_nomem(e, "a recipe") : store_name_get(&n, name, e);

	if (rc == 0 && index_find_image(s->index, &n, i, e) != 1)
		rc = err_set(e, ERR_USAGE, "%s is not in the store", name);
	if (rc == 0)
		rc = s->objects->ops->load(
		    s->objects->ctx, i->key, (size_t)i->bytes, object, e);
	free(i);
	return rc;
}

static int
read_small(struct store *s, const char *name, struct small *x, struct err *e)
{
	struct record_head h;
	struct rd about, r, digests;

	if (load_object(s, name, &x->object, e) != 0)
		return -1;
	struct rd object = rd_from(x->object.base, x->object.len);
	if (!record_next(&object, &h, &about) || !record_next(&object, &h, &r) ||
	    !record_next(&object, &h, &digests) ||
	    recipe_get_image(&x->about, &r, e) != 0)
		return err_set(e, ERR_FORMAT, "%s: its recipe is damaged", name);
	const uint8_t *from = r.base + r.off;
	for (uint32_t k = 0; k < x->about.chunks / RECIPE_BLOCK_CHUNKS; k++) {
		struct recipe_block b;
		if (recipe_get_block(&b, &r, e) != 1)
			return -1;
	}
	buf_bytes(&x->blocks, from, (size_t)(r.base + r.off - from));
	buf_bytes(&x->digests, digests.base, digests.len);
	return x->blocks.len > 0 ? 0
	                         : err_set(e, ERR_USAGE, "%s has fewer than %d chunks",
				       name, RECIPE_BLOCK_CHUNKS);
}

static int
put_large(struct store *s, struct small *x, uint32_t chunks, struct err *e)
{
	struct recipe_image *a = &x->about;
	uint32_t full = a->chunks / RECIPE_BLOCK_CHUNKS * RECIPE_BLOCK_CHUNKS;
	struct buf blocks = { 0 };
	uint64_t bytes;

	for (a->chunks = 0; a->chunks < chunks; a->chunks += full)
		buf_bytes(&blocks, x->blocks.base, x->blocks.len);
	a->data_bytes = (uint64_t)a->chunks * NDZ_CHUNK_BYTES;
	a->parent[0] = '\0';
	int rc = buf_ok(&blocks) ? store_begin(s, e) : err_nomem(e, "a recipe");
	if (rc == 0)
		rc = writer_put_image(s->putting, a, &blocks, &x->digests, &bytes, e);
	if (rc == 0)
		rc = store_commit(s, e);
	buf_free(&blocks);
	return rc;
}

static int
run(struct store *s, char **argv, struct err *e)
{
	static struct small x;
	int rc = read_small(s, argv[2], &x, e);

	if (rc == 0)
		rc = store_name_get(&x.about.name, argv[3], e);
	if (rc == 0)
		rc = put_large(s, &x, (uint32_t)strtoul(argv[4], NULL, 10), e);
	buf_free(&x.object);
	buf_free(&x.blocks);
	buf_free(&x.digests);
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
