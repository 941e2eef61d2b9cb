/* s3_objects.c: the calls of objects.h as requests of S3.  Called by the store, in any
 * thread. */
#include "emustore/s3/s3_objects.h"

#include "emustore/s3/s3.h"

static int
put(void *s, const char *key, const void *data, size_t bytes, struct err *e)
{
	return s3_put(s, key, data, bytes, e);
}

static int
get(void *s, const char *key, uint64_t from, size_t bytes, void *out, struct err *e)
{
	return s3_get_range(s, key, from, bytes, out, e);
}

static int
load(void *s, const char *key, size_t max, struct buf *out, struct err *e)
{
	return s3_get(s, key, max, out, e);
}

static int
list(void *s, const char *folder, object_fn *fn, void *arg, uint64_t *now, struct err *e)
{
	return s3_list(s, folder, fn, arg, now, e);
}

static int
remove_key(void *s, const char *key, struct err *e)
{
	return s3_delete(s, key, e);
}

static void
close_s3(void *s)
{
	s3_close(s);
}

int
s3_objects_open(struct objects **out, const char *url, struct err *e)
{
	static const struct object_ops ops = { .put = put,
		.get = get,
		.load = load,
		.list = list,
		.remove = remove_key,
		.close = close_s3 };
	struct s3 *s;

	if (s3_open(&s, url, e) != 0)
		return -1;
	*out = objects_new(&ops, s, s3_title(s), s3_address(s));
	if (*out != NULL)
		return 0;
	s3_close(s);
	return err_nomem(e, url);
}
