/* config.c: answers questions about a configuration before anything is opened. imageunzip
 * and frisbee check their options with it in the first thread; the sink of the
 * installation asks whether chunk 0 should come first. */
#include <string.h>

#include "imageunzip/install/install.h"

bool
install_wants_table(const struct install_config *c)
{
	return (c->state != NULL && strcmp(c->state, "target") == 0) || c->zero ||
	       c->has_pattern || c->discard || c->fit != NULL;
}

int
install_check_raw(const struct install_config *c, struct err *e)
{
	const struct {
		bool on;
		const char *name;
	} not [] = { { c->slice != 0, "-s" }, { c->only.n > 0, "--only" },
		{ c->part_type != 0, "-D" }, { c->zero, "-z" },
		{ c->has_pattern, "--pattern" }, { c->discard, "--discard" },
		{ c->skip_same, "--skip-same" }, { c->read_back, "--read-back" },
		{ c->state != NULL, "--state" },
		{ c->check_base != NULL, "--check-base" }, { c->fix_gpt, "--fix-gpt" },
		{ c->grow, "--grow" }, { c->fit != NULL, "--fit" }, { c->convert, "--convert" },
		{ c->no_follow, "--no-follow" }, { c->fit_lv != NULL, "--fit-lv" },
		{ c->tail != INSTALL_TAIL_SAME, "--tail" } };

	for (unsigned i = 0; i < sizeof not / sizeof not [0]; i++)
		if (not [i].on)
			return err_set(e, ERR_USAGE,
			    "-N copies the image unchanged: %s can only be used for an "
			    "installation",
			    not [i].name);
	return 0;
}
