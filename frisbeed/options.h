/* options.h: what frisbeed's command line says. */
#ifndef FRISBEED_OPTIONS_H
#define FRISBEED_OPTIONS_H

#include "common/cli/cli.h"
#include "frisbeed/serve/session.h"
#include "frisbeed/server/server.h"

struct opts {
	struct session_config session;
	const char *addr_file;  /* -A */
	const char *stats_file; /* NULL: none */
	const char *user;       /* --user; NULL: who started it */
	bool debug, dynamic, quiet, json, trace, syslog, force;
	int64_t idle_s;
	uint64_t run_blocks; /* 0: as the image is best read */
	uint64_t burst, gap_us;
	uint64_t wait_clients; /* --wait; 0: not given */
	const char *rate;     /* -W */
	const char *ignored;
};

extern const struct cli_opt own_opts[];
extern const struct opts frisbeed_defaults;

/* What of the engine's configuration the command line decides, and the rate in bits a
 * second that follows from it; 0: none.  card_bits: what the interface can do, 0: not
 * known. */
int opts_configure(const struct opts *, uint64_t card_bits, struct server_config *,
    uint64_t *rate, struct err *);

#endif /* FRISBEED_OPTIONS_H */
