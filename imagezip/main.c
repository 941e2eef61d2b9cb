/* imagezip: store the used part of a disk in an image. */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/cli.h"
#include "common/base/progress.h"
#include "imagezip/capture.h"
#include "imagezip/estimate.h"
#include "imagezip/layout.h"
#include "imagezip/options.h"
#include "imagezip/output.h"
#include "imagezip/report.h"

enum { EXIT_LOST_SECTORS = 4 };

/* 0, EXIT_LOST_SECTORS with a whole image, or -1. */
static int
capture(const struct options *o, struct disk *d, struct layout *l, struct err *e)
{
	struct capture_stats s;
	struct output out;
	struct progress progress;
	uint64_t started = clock_us();

	if (output_open(&out, o->output, o->force, e) != 0)
		return -1;
	progress_begin(&progress, "imagezip", rangeset_total(&l->store) * SECTOR_BYTES,
	    o->progress_fd == UINT64_MAX ? -1 : (int)o->progress_fd, o->quiet || o->dots);
	int rc = capture_run(d, l, o, &out, &progress, &s, e);
	progress_end(&progress, s.data_bytes);
	if (o->dots)
		fputc('\n', stderr);
	if (rc == 0)
		rc = output_commit(&out, o->no_sync, e);
	else
		output_abort(&out);
	if (rc == 0)
		rc = report_summary(o, &s, (double)(clock_us() - started) / 1e6, e);
	report_lost(o, &s);
	if (rc == 0 && rangeset_count(&s.lost) > 0)
		rc = EXIT_LOST_SECTORS;
	rangeset_free(&s.lost);
	return rc;
}

static int
info(const struct options *o, struct disk *d, struct layout *l, struct err *e)
{
	return estimate(l, d, o, e) == 0 ? report_layout(l, o, e) : -1;
}

static int
run(const struct options *o, struct err *e)
{
	struct disk *d;
	struct err closing;
	struct layout *l = calloc(1, sizeof *l);

	if (l == NULL)
		return err_nomem(e, "the layout");
	int rc = disk_open(&d, o->source, DISK_READ, e);
	if (rc == 0) {
		rc = layout_make(l, d, o, e);
		if (rc == 0) {
			if (!o->quiet)
				report_warnings(l);
			rc = o->info ? info(o, d, l, e) : capture(o, d, l, e);
			layout_free(l);
		}
		disk_close(d, &closing);	/* only read: nothing to lose */
	}
	free(l);
	return rc;
}

int
main(int argc, char **argv)
{
	struct options o;
	struct err e;

	enum cli_rc parsed = options_parse(&o, argc, argv, &e);
	if (parsed == CLI_ERROR)
		return cli_fail(&imagezip_program, &e);
	if (parsed == CLI_EXIT)
		return cli_close_stdout(&e) == 0 ? 0 : cli_fail(&imagezip_program, &e);
	cli_catch_signals();
	int rc = run(&o, &e);
	if (rc < 0 || cli_close_stdout(&e) != 0)
		return cli_fail(&imagezip_program, &e);
	return rc;
}
