/* order_finder.c: reads a session's order of reads in a thread (order_finder.h).  stream.c starts
 * the thread, and asks for the list in the stream's own thread. */
#include "frisbeed/serve/order_finder.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/cancel.h"
#include "common/base/log.h"

struct order_finder {
	struct order_config cfg;
	struct cancel cancel; /* of the thread */
	pthread_t thread;
	struct order_blocks list;
	atomic_bool ready; /* the thread does not touch the list any more */
};

static void *
order_finder_main(void *arg)
{
	struct order_finder *o = arg;
	struct err e;

	cancel_work_for(&o->cancel);
	if (order_blocks_make(&o->list, &o->cfg, &e) == 0)
		log_info("the blocks of the order of reads are sent first while machines "
			 "start from the image order=%s machines=%" PRIu32
			 " blocks=%" PRIu32 " file=%s",
		    o->cfg.order, o->list.machines, o->list.blocks, o->cfg.image);
	else if (e.kind != ERR_ABSENT && e.kind != ERR_CANCELLED)
		log_warn("%s; the image is served without an order of reads file=%s", e.text,
		    o->cfg.image);
	atomic_store(&o->ready, true);
	return NULL;
}

int
order_finder_start(struct order_finder **out, const struct order_config *c, struct err *e)
{
	struct order_finder *o = calloc(1, sizeof *o);

	if (o == NULL)
		return err_nomem(e, "an order of reads");
	o->cfg = *c;
	o->cancel.whole = cancel_owner();
	errno = thread_start(&o->thread, order_finder_main, o);
	if (errno != 0) {
		err_os(e, "cannot start a thread");
		free(o);
		return -1;
	}
	*out = o;
	return 0;
}

bool
order_finder_take(struct order_finder *o, struct order_blocks *list)
{
	if (!atomic_load(&o->ready) || o->list.n == 0)
		return false;
	*list = o->list;
	o->list = (struct order_blocks){ .n = 0 };
	return true;
}

void
order_finder_end(struct order_finder *o)
{
	if (o == NULL)
		return;
	atomic_store(&o->cancel.signal, SIGTERM);
	pthread_join(o->thread, NULL);
	order_blocks_free(&o->list);
	free(o);
}
