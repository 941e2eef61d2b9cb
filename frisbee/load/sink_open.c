/* The target of a load is opened, with whatever writes to it.  Called by sink_new(), before
 * there is a thread. */
#include "frisbee/load/sink_impl.h"

#include <stdlib.h>
#include <string.h>

#include "common/disk/output.h"

/* What was written in the background failed: nothing may be on its way here that would
 * find out, for whoever has no room asks for nothing. */
static void
stop_waiting(void *queue)
{
	queue_cancel(queue);
}

static void
planned(void *arg, uint32_t buf)
{
	struct sink *s = arg;

	mailbox_put(s->box, SINK_PLANNED, buf);
}

static void
planner_gave_up(void *arg)
{
	struct sink *s = arg;

	mailbox_put(s->box, SINK_FAILED, 0);
}

/* A signature is of the whole chunk, and what is encrypted says nothing by parts. */
static int
open_install(struct sink *s, struct err *e)
{
	struct install_config in = s->cfg.install;

	in.failed = stop_waiting;
	in.failed_arg = s->queue;
	if (install_open(&s->install, &in, s->cfg.target, e) != 0) {
		s->install = NULL;
		return -1;
	}
	s->only = install_is_only(s->install);
	install_trust_digests(s->install);
	if (install_in_order(s->install)) {
		s->waiting = calloc(s->cfg.buffers, sizeof *s->waiting);
		if (s->waiting == NULL)
			return err_nomem(e, "chunk buffers; -C takes fewer");
	}
	if (!in.skip_same || in.state != NULL || s->proof != NULL || s->only)
		return 0;
	struct planner_config pc = { .install = s->install,
		.buffers = s->cfg.buffers,
		.memory = s->memory,
		.planned = planned,
		.failed = planner_gave_up,
		.arg = s };
	return planner_new(&s->planner, &pc, e);
}

static void
tidy(void *new_file)
{
	output_remove(new_file);
}

int
sink_open_target(struct sink *s, struct err *e)
{
	if (s->cfg.any_file && (s->cfg.install.proof.verify_key != NULL ||
				   s->cfg.install.proof.decrypt != NULL))
		return err_set(e, ERR_USAGE,
		    "-N excludes --verify-key and --decrypt: it loads any file");
	if (proof_new(&s->proof, &s->cfg.install.proof, e) != 0)
		return -1;
	if (s->cfg.dry != NULL)
		return rehearsal_open(&s->rehearsal, &s->cfg.install, s->cfg.target,
		    &(struct rehearsal_source){ 0 }, e);
	if (!s->cfg.any_file && !s->cfg.as_image)
		return open_install(s, e);
	if (disk_open(&s->file, s->cfg.target,
		DISK_WRITE | DISK_CREATE | DISK_TRUNC |
		    (s->cfg.install.force ? DISK_FORCE : 0),
		e) != 0)
		return -1;
	s->removable = disk_kind(s->file) == DISK_FILE &&
	               strcmp(s->cfg.target, "-") != 0;
	if (s->removable && s->cfg.install.guard != NULL)
		s->cfg.install.guard(tidy, (void *)(uintptr_t)s->cfg.target);
	return 0;
}
