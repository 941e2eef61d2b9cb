/* main.c: imagedelta makes an image of what differs between two images, or a whole
 * image of a base and its deltas.  main() runs in the first thread; the maker of the
 * new image has threads of its own. */
#include "common/base/say.h"
#include "common/cli/cli.h"
#include "common/cli/cli_rows.h"
#include "common/cli/codec_opts.h"
#include "common/cli/image_opts.h"
#include "common/cli/progress.h"
#include "common/cli/rewrite_opts.h"
#include "common/disk/output.h"
#include "common/image/read/layers.h"
#include "common/image/write/chain.h"
#include "common/image/write/rewrite.h"
#include "tools/imagedelta/diff.h"
#include "tools/imagedelta/samples.h"

struct opts {
	struct rewrite_config rewrite;
	const char *onto; /* --onto: the base; NULL: a delta is made */
	bool any_base;    /* do not check that the deltas belong to the base */
};

#define AT(field) offsetof(struct opts, field)

static const struct cli_opt own_opts[] = {
	{ 300, "onto", "BASE",
	    "apply deltas to the image BASE; the result is a whole image", CLI_STR,
	    AT(onto), 0, 0, NULL },
	FLAG(301, "any-base",
	    "with --onto, do not check that the deltas belong to the base", any_base),
	{ 0 },
};

static const struct cli_program prog = {
	.report_to = output_report_last,
	.left = output_image_left,
	.name = "imagedelta",
	.synopsis = "[options] old new delta|-  or  --onto base delta... whole|-",
	.about = "Make a delta of two images, or apply deltas to their base; no disk "
	         "is needed.\n"
		 "Installing the old image and then the delta installs the new image.",
	.examples = "  imagedelta monday.ndz friday.ndz week.ndz\n"
		    "  imageunzip monday.ndz /dev/sdb && imageunzip week.ndz /dev/sdb\n"
		    "  imagedelta --onto monday.ndz week.ndz next.ndz whole.ndz\n",
	.tables = { { own_opts, 0, NULL }, { rewrite_opts, AT(rewrite), "New image" },
	    { codec_opts, AT(rewrite.how), "Compression" },
	    { sealer_opts, AT(rewrite.how.sealer), "Signature and encryption" },
	    { opener_opts, AT(rewrite.opener), "Images that are read" } },
};

/* Write the delta of the images v[0], the old one, and v[1], the new one. */
static int
write_delta(const struct opts *o, struct sectors *const v[], struct diff *d,
    struct basis *basis, const char *output, struct err *e)
{
	struct rewrite_source src = { .program = "imagedelta",
		.like = v[1],
		.total = sectors_total(v[1]),
		.freed = diff_freed(d),
		.basis = basis,
		.tail = sectors_ext(v[1])->tail,
		.lost = diff_lost(d),
		.next = diff_next,
		.done = diff_done,
		.arg = d };

	if (sectors_state(v[0], &src.base, e) != 0 ||
	    sectors_state(v[1], &src.state, e) != 0)
		return -1;
	return rewrite_save(&o->rewrite, &src, output, e);
}

static int
make_delta(
    const struct opts *o, struct sectors *const v[], const char *output, struct err *e)
{
	struct rangeset avoid;
	struct basis basis;
	struct diff *d = NULL;

	rangeset_init(&avoid);
	basis_init(&basis, SAMPLE_SHA256);
	int rc = chain_check_whole(v[0], e);
	if (rc == 0)
		rc = chain_check_whole(v[1], e);
	if (rc == 0)
		rc = samples_avoid(&avoid, v[0], v[1], e);
	if (rc == 0)
		rc = samples_find(&basis, v[0], v[1], &avoid, e);
	if (rc == 0)
		rc = diff_new(&d, v[0], v[1], &basis, &avoid, e);
	if (rc == 0)
		rc = write_delta(o, v, d, &basis, output, e);
	diff_free(d);
	basis_free(&basis);
	rangeset_free(&avoid);
	return rc;
}

static int
make_whole(const struct opts *o, struct sectors *const v[], size_t n,
    const char *output, struct err *e)
{
	struct layers *l;

	/* A delta in place of the base lacks data of its own base, and the result would not say
	 * so. */
	if ((o->any_base ? chain_check_whole(v[0], e)
	                 : chain_check(v, n, cli_warn, e)) != 0)
		return -1;
	if (layers_new(&l, v, n, e) != 0)
		return -1;
	struct rewrite_source src = chain_whole("imagedelta", l, v, n);
	/* With a base that was not checked, the result may be another state than the one
	 * that the last delta names. */
	if (!o->any_base)
		src.state = sectors_ext(v[n - 1])->state;
	int rc = rewrite_save(&o->rewrite, &src, output, e);
	layers_free(l);
	return rc;
}

/* With --onto a whole image, otherwise a delta. */
static int
make(const void *opts, struct sectors *const v[], size_t n, const char *output,
    struct err *e)
{
	const struct opts *o = opts;

	return o->onto != NULL ? make_whole(o, v, n, output, e)
	                       : make_delta(o, v, output, e);
}

static int
check_operands(const struct opts *o, char **operands, int n, struct err *e)
{
	if (o->onto != NULL && n < 2)
		return err_misuse(
		    e, "--onto needs one or more deltas and the name of the new image");
	if (o->onto == NULL && cli_operands(operands, n, 3, 3,
				   "two images and the name of the delta are needed", e) != 0)
		return -1;
	if (o->any_base && o->onto == NULL)
		return err_set(e, ERR_USAGE, "--any-base can only be used with --onto");
	return 0;
}

static int
act(void *opts, char **operands, int n, struct err *e)
{
	struct opts *o = opts;
	struct progress bar;

	if (check_operands(o, operands, n, e) != 0)
		return -1;
	const char *output = operands[n - 1];
	char **inputs = operands;
	size_t ninputs = (size_t)n - 1;
	/* The base becomes the first of the inputs.  Its pointer is stored in front of the
	 * operands, where argv has an option. */
	if (o->onto != NULL) {
		*--inputs = (char *)(uintptr_t)o->onto;
		ninputs++;
	}
	progress_begin(&bar, "imagedelta", 0, -1, o->rewrite.quiet || o->rewrite.json);
	o->rewrite.progress = progress_of;
	o->rewrite.progress_arg = &bar;
	int rc = rewrite_inputs(&o->rewrite, inputs, ninputs, output, make, o, e);
	progress_end(&bar, 0);
	return rc;
}

int
main(int argc, char **argv)
{
	struct opts o = { .rewrite = rewrite_defaults };

	return cli_main(&prog, argc, argv, &o, act);
}
