/* load_target.c: makes a disk, a file or a rehearsal the sink of a load (load_target.h).  The
 * program that starts a load calls load_into() before, and load_start() calls open_target() in
 * the same thread. */
#include "frisbee/load/load_target.h"

#include "imageunzip/install/install_sink.h"

static int
open_target(void *arg, struct sink *sink, struct err *e)
{
	struct load_target *t = arg;
	const struct sink_file_config file = { .path = t->name,
		.force = t->install.force,
		.guard = t->install.guard };
	struct install_sink_config disk = { .install = t->install,
		.target = t->name,
		.stats = &t->stats };

	disk.install.gentle = true;
	if (t->dry != NULL)
		return sink_to_rehearsal(
		    sink, &disk.install, t->name, NULL, t->dry, e);
	return t->any_file ? sink_to_file(sink, &file, e) : sink_to_install(sink, &disk, e);
}

int
load_into(struct load_config *c, struct load_target *t, struct err *e)
{
	const struct opener_config *keys = &t->install.opener;

	if (t->any_file && (keys->verify_key != NULL || keys->decrypt != NULL))
		return err_set(e, ERR_USAGE,
		    "-N loads any file and cannot be combined with --verify-key or "
		    "--decrypt");
	c->any_file = t->any_file;
	c->opener = *keys;
	c->open = open_target;
	c->open_arg = t;
	c->write_mb = t->install.write_mb;
	return 0;
}
