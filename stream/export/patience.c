/* patience.c: decides for how long a source is asked again while it is opened.  export.c and the
 * plugin call this, in the thread that opens. */
#include "stream/export/patience.h"

#include <errno.h>
#include <stdio.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/timed.h"

enum { AGAIN_US = 1000000 };

static void
tell(const struct patience *p, const struct err *e)
{
	char text[600];

	snprintf(text, sizeof text, "%s; the source is asked again, for %.0f s", e->text,
	    (double)p->most_us / 1e6);
	p->tell(text);
}

bool
patience_again(struct patience *p, const struct err *e)
{
	uint64_t now = clock_us();

	if (e->kind != ERR_IO || e->os != EIO)
		return false;
	if (p->until_us == 0) {
		p->until_us = now + p->most_us;
		tell(p, e);
	}
	if (now >= p->until_us)
		return false;
	timed_pause(now + AGAIN_US);
	return cancel_signal() == 0;
}
