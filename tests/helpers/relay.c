/* relay UP-GROUP UP-PORT DOWN-GROUP DOWN-PORT FILE: a session whose source is a session.  Loads
 * the image that is served at the first address, keeps it in FILE while it runs, and serves each
 * chunk at the second one as soon as it is here.  Ends by SIGTERM, or when its session does. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>

#include "common/base/cancel.h"
#include "common/base/log.h"
#include "common/net/netopts.h"
#include "frisbee/load/load_source.h"
#include "frisbeed/serve/serve.h"

static struct cancel work;

static void
on_signal(int sig)
{
	work.signal = sig;
}

static int
open_source(struct source *s, const char *group, const char *port, const char *file,
    struct err *e)
{
	struct net_options net = { .addr = group, .port = port };
	struct load_config c = { .keepalive_us = 0 };

	return net_options_resolve(&net, &c.net, e) == 0 ? source_of_load(s, &c, file, 0, e)
	                                                     : -1;
}

static int
serve_it(struct serve *serve, struct source *s, const char *group, const char *port,
    struct err *e)
{
	struct net_options net = { .addr = group, .port = port };
	struct serve_stats st;
	struct place *place;
	uint32_t number;

	if (places_one(&place, "relay", &net, e) != 0)
		return -1;
	int rc = serve_add_source(serve, place, s, &number, e);
	places_free(place, 1);
	if (rc != 0)
		return -1;
	puts("serving");
	fflush(stdout);
	struct pollfd p = { .fd = serve_fd(serve), .events = POLLIN };
	while (work.signal == 0 && !serve_take_ended(serve, &number))
		poll(&p, 1, 200);
	if (serve_stats(serve, number, &st, e) != 0)
		return -1;
	printf("blocks_sent %llu\n", (unsigned long long)st.tally.server.blocks_sent);
	if (st.state == SESSION_FAILED)
		*e = st.err;
	return st.state == SESSION_FAILED ? -1 : 0;
}

static int
relay(char **arg, struct err *e)
{
	static const struct session_config each;
	const struct serve_config c = { .session = &each,
		.engine = { .run_blocks = 32, .ahead = 16, .burst = 16, .gap_us = 2000 },
		.sessions_max = 1,
		.force = true };
	struct serve *serve;
	struct source s;

	if (open_source(&s, arg[1], arg[2], arg[5], e) != 0)
		return -1;
	if (serve_new(&serve, &c, e) != 0) {
		source_close(&s);
		return -1;
	}
	int rc = serve_it(serve, &s, arg[3], arg[4], e);
	serve_free(serve);
	return rc;
}

int
main(int argc, char **argv)
{
	struct err e;

	if (argc != 6)
		return 2;
	signal(SIGTERM, on_signal);
	cancel_work_for(&work);
	if (relay(argv, &e) == 0)
		return 0;
	fprintf(stderr, "relay: %s\n", e.text);
	return 1;
}
