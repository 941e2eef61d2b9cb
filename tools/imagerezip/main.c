/* main.c: imagerezip writes an image again, in another version of the format or
 * compressed in another way.  main() runs in the first thread; the maker of the new
 * image has threads of its own. */
#include "common/cli/cli.h"
#include "common/cli/codec_opts.h"
#include "common/cli/image_opts.h"
#include "common/cli/progress.h"
#include "common/cli/rewrite_opts.h"
#include "common/disk/output.h"
#include "common/image/read/layers.h"
#include "common/image/write/rewrite.h"

static const struct cli_program prog = {
	.report_to = output_report_last,
	.left = output_image_left,
	.name = "imagerezip",
	.synopsis = "[options] image new|-",
	.about = "Convert an image to another version or compression, sign it, or "
	         "encrypt it.\n"
		 "The new image has the same contents.",
	.examples = "  imagerezip -z 9 disk.ndz small.ndz     smaller, for an image "
	            "that is sent often\n"
		    "  imagerezip --codec=zstd a.ndz b.ndz    smaller still, but "
	            "Emulab's programs cannot read it\n"
		    "  imagerezip -5 old.ndz new.ndz          version 5\n"
		    "  imagerezip emulab.ndz new.ndz          add fragments and "
	            "digests to Emulab's image\n"
		    "  imagerezip --sign lab.key a.ndz b.ndz  signed\n",
	.tables = { { rewrite_opts, 0, NULL },
	    { codec_opts, offsetof(struct rewrite_config, how), "Compression" },
	    { sealer_opts, offsetof(struct rewrite_config, how.sealer),
		"Signature and encryption" },
	    { opener_opts, offsetof(struct rewrite_config, opener), "The old image" } },
};

/* Write the image v[0] again. */
static int
rezip(const void *config, struct sectors *const v[], size_t n, const char *output,
    struct err *e)
{
	struct rewrite_source src = { .program = "imagerezip" };
	struct layers *l;

	if (layers_new(&l, v, n, e) != 0)
		return -1;
	int rc = rewrite_same(&src, v[0], l, e);
	if (rc == 0)
		rc = rewrite_save(config, &src, output, e);
	layers_free(l);
	return rc;
}

static int
act(void *config, char **operands, int n, struct err *e)
{
	struct rewrite_config *c = config;
	struct progress bar;

	if (cli_operands(operands, n, 2, 2, "an image and the name of the new image are needed",
		e) != 0)
		return -1;
	progress_begin(&bar, "imagerezip", 0, -1, c->quiet || c->json);
	c->progress = progress_of;
	c->progress_arg = &bar;
	int rc = rewrite_inputs(c, operands, 1, operands[1], rezip, c, e);
	progress_end(&bar, 0);
	return rc;
}

int
main(int argc, char **argv)
{
	struct rewrite_config c = rewrite_defaults;

	return cli_main(&prog, argc, argv, &c, act);
}
