/* slow.c: a request has to be complete within a time, however slowly its bytes come, since
 * libmicrohttpd itself only ends connections that are silent.  web.c calls this, in the program's
 * first thread. */
#include <stdlib.h>
#include <sys/socket.h>

#include "controller/http/web_impl.h"

/* A request has a few hundred bytes, so one that is not complete after LIMIT_US was meant to occupy a
 * connection. */
enum { FDS_MAX = 65536, LIMIT_US = 30000000, LOOK_US = 1000000 };

/* By descriptor: since when a request is being received; 0: none, or it has no end. */
struct slow {
	uint64_t since_us[FDS_MAX];
	uint64_t looked_us;
};

int
slow_new(struct slow **out, struct err *e)
{
	*out = calloc(1, sizeof **out);
	return *out != NULL ? 0 : err_nomem(e, "connections");
}

void
slow_free(struct slow *s)
{
	free(s);
}

static void
set(struct slow *s, int fd, uint64_t since_us)
{
	if (fd >= 0 && fd < FDS_MAX)
		s->since_us[fd] = since_us;
}

void
slow_begin(struct slow *s, int fd, uint64_t now_us)
{
	set(s, fd, now_us);
}

void
slow_end(struct slow *s, int fd)
{
	set(s, fd, 0);
}

void
slow_tick(struct slow *s, uint64_t now_us)
{
	if (now_us < s->looked_us + LOOK_US)
		return;
	s->looked_us = now_us;
	for (int fd = 0; fd < FDS_MAX; fd++)
		if (s->since_us[fd] != 0 && now_us > s->since_us[fd] + LIMIT_US) {
			s->since_us[fd] = 0;
			shutdown(fd, SHUT_RDWR);
		}
}
