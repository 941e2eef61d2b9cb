/* fill_store.c: puts an image into a store many times, each time under another name.  bench/ runs this
 * program, to measure stores of many images; puts have threads of their own.
 *	fill_store STORE IMAGE N */
#include <stdio.h>
#include <stdlib.h>

#include "common/image/read/image.h"
#include "emustore/store/put.h"

/* In the transaction of all. */
static int
fill_one(struct store *s, const char *path, unsigned n, struct err *e)
{
	static struct recipe_image about;
	struct put_stats stats;
	struct image *img;
	struct put *p;

	about = (struct recipe_image){ .put_at = 1700000000 + n };
	snprintf(about.name.name, sizeof about.name.name, "lab/image%05u", n);
	if (image_open(&img, path, e) != 0)
		return -1;
	struct put_config cfg = { .jobs = 1 };
	int rc = put_begin(&p, s, &about, &cfg, e);
	if (rc == 0) {
		void *room;
		while ((room = put_room(p, e)) != NULL &&
		       (rc = image_next(img, room, NULL, e)) == 1)
			rc = put_chunk(p, e);
		rc = room == NULL || rc != 0 ? -1 : put_end(p, &about, &stats, e);
		put_free(p);
	}
	image_close(img);
	return rc;
}

int
main(int argc, char **argv)
{
	struct store s;
	struct err e;

	if (argc != 4 || store_open(&s, argv[1], STORE_WRITE, &e) != 0)
		return fprintf(stderr, "usage: fill_store STORE IMAGE N\n"), 2;
	int rc = store_begin(&s, &e);
	for (unsigned i = 0; rc == 0 && i < strtoul(argv[3], NULL, 10); i++)
		rc = fill_one(&s, argv[2], i, &e);
	if (rc == 0)
		rc = store_commit(&s, &e);
	store_close(&s);
	if (rc != 0)
		fprintf(stderr, "fill_store: %s\n", e.text);
	return rc != 0;
}
