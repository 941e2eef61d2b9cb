/* main.c: imagedump prints what is in an image, and checks it.  main() runs in the
 * first thread; the checker has threads of its own. */
#include <stdlib.h>

#include "common/base/say.h"
#include "common/cli/failure.h"
#include "common/image/read/image.h"
#include "tools/imagedump/checker.h"
#include "tools/imagedump/encrypted.h"
#include "tools/imagedump/only.h"
#include "tools/imagedump/options.h"
#include "tools/imagedump/report.h"
#include "tools/imagedump/totals.h"

/* The image that is being read, and what is reported of it. */
struct run {
	const struct options *o;
	struct image *image;
	struct json *j;          /* NULL: text */
	struct checker *checker; /* NULL: without --verify */
	struct totals totals;
	struct only_view *only; /* NULL: without --only */
};

static void
show_chunk(const struct run *r, const struct chunk *c)
{
	const struct options *o = r->o;

	if (!o->quiet)
		report_oddities(image_name(r->image), &r->totals, &c->h);
	if (o->detail > 0 && (r->j != NULL || !o->quiet))
		report_chunk(r->j, c, r->totals.chunks, o->detail);
}

/* each() of image_each(): report and check chunk i, and add it to the totals. */
static int
take_chunk(void *arg, struct chunk *c, uint32_t i, const void *bytes, struct err *e)
{
	struct run *r = arg;

	if (r->checker != NULL && totals_check_tiling(&r->totals, c, e) != 0)
		return err_ctx(e, "%s", image_name(r->image));
	show_chunk(r, c);
	if (r->only != NULL && only_view_take(r->only, i, c, bytes, e) != 0)
		return err_ctx(e, "%s", image_name(r->image));
	totals_add(&r->totals, c);
	return r->checker != NULL ? checker_give(r->checker, i, bytes, e) : 0;
}

static int
read_and_verify(struct run *r, struct err *e)
{
	if (checker_new(&r->checker, r->o->jobs, e) != 0)
		return -1;
	int rc = image_each(r->image, take_chunk, r, e);
	if (checker_end(r->checker, e) != 0)
		rc = err_ctx(e, "%s", image_name(r->image));
	return rc;
}

static int
show_all(const struct run *r, const char *path, struct err *e)
{
	const struct options *o = r->o;

	if (r->j == NULL && o->quiet)
		return 0;
	report_totals(r->j, &r->totals, path);
	if (r->j == NULL)
		report_rest(&r->totals);
	report_verdict(r->j, o, &r->totals);
	return r->only != NULL ? only_view_show(r->only, r->j, e) : 0;
}

static int
read_all(struct run *r, struct err *e)
{
	struct json *list = r->o->detail > 0 ? r->j : NULL;

	json_array(list, "chunk_list");
	int rc = r->o->verify ? read_and_verify(r, e)
	                      : image_each(r->image, take_chunk, r, e);
	json_end(list);
	return rc;
}

static int
dump(const struct options *o, const char *path, struct json *j, struct err *e)
{
	struct run r = { .o = o, .j = j };

	if (image_open_proved(&r.image, path, o->opener, e) != 0)
		return -1;
	int rc = o->only.n > 0 ? only_view_new(&r.only, &o->only, e) : 0;
	if (rc == 0)
		rc = read_all(&r, e);
	if (rc == 0 && r.only != NULL)
		rc = only_view_settle(r.only, r.image, e);
	if (rc == 0)
		rc = show_all(&r, path, e);
	only_view_free(r.only);
	totals_free(&r.totals);
	image_close(r.image);
	return rc;
}

/* Dump one image, and report its failure.  Returns the exit status for the image. */
static int
dump_one(const struct options *o, const char *path, struct json *j)
{
	struct err e;
	int status = 0;

	json_object(j, NULL);
	json_string(j, "image", path);
	if (dump(o, path, j, &e) != 0) {
		encrypted_report(o, path, j);
		status = err_exit_status(&e);
		failure_put_err(j, &e, status);
		if (!o->quiet)
			say_text(stderr, "imagedump: %s\n", e.text);
	}
	json_end(j);
	return status;
}

/* Dump each image; one that fails is reported, and the next one follows.  Returns the highest
 * of their exit statuses, or -1. */
static int
dump_all(const struct options *o, char **paths, int n, struct err *e)
{
	struct json *j = o->json ? json_new() : NULL;
	int status = 0;

	json_array(j, NULL);
	for (int i = 0; i < n; i++) {
		int this = dump_one(o, paths[i], j);
		status = this > status ? this : status;
	}
	json_end(j);
	return json_show(j, e) == 0 ? status : -1;
}

static int
act(void *opts, char **operands, int n, struct err *e)
{
	struct options *o = opts;

	if (n == 0)
		return err_misuse(e, "no image is named");
	if (opener_new(&o->opener, &o->opener_files, e) != 0)
		return -1;
	int status = dump_all(o, operands, n, e);
	opener_free(o->opener);
	return status;
}

int
main(int argc, char **argv)
{
	struct options o = { 0 };

	return cli_main(&imagedump_program, argc, argv, &o, act);
}
