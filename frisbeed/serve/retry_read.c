/* retry_read.c: tries a read that has failed again, because it may succeed a moment later.
 * identity.c calls this when a session begins, reader.c in the thread that reads what is
 * sent. */
#include "frisbeed/serve/retry_read.h"

#include <errno.h>
#include <stdbool.h>

#include "common/base/cancel.h"
#include "common/base/log.h"
#include "common/base/timed.h"

/* Ten seconds: a path of a multipath disk or an NFS server that fails is replaced within that time.
 * Clients wait meanwhile. */
enum { RETRIES = 100, RETRY_US = 100000 };

static bool
is_passing(const struct err *e)
{
	return e->kind == ERR_IO &&
	       (e->os == EIO || e->os == ESTALE || e->os == ETIMEDOUT);
}

int
retry_read(struct source *s, uint32_t chunk, uint32_t first, uint32_t count, void *to,
    struct err *e)
{
	for (int tries = 0; source_read_run(s, chunk, first, count, to, e) != 0; tries++) {
		if (!is_passing(e) || tries == RETRIES || cancel_signal() != 0)
			return -1;
		log_warn("read failed, trying again: %s", e->text);
		timed_sleep(RETRY_US);
	}
	return 0;
}
