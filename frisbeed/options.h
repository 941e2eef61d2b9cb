/* options.h: the options of frisbeed's command line. */
#ifndef FRISBEED_OPTIONS_H
#define FRISBEED_OPTIONS_H

#include "common/cli/cli.h"
#include "frisbeed/serve/session.h"
#include "frisbeed/server/server.h"

struct opts {
	struct session_config session;
	const char *addr_file;  /* -A */
	const char *stats_file; /* NULL: none */
	const char *user;       /* --user; NULL: the user who has started it */
	/* Of a session that mfrisbeed starts; NULL: not given. */
	const char *share_file; /* with the rate that its sessions share */
	uint64_t ends_with;     /* a process; 0: none */
	const char *only_file;  /* DEVICE:INODE that the image must have */
	/* The mfrisbeed that has the image, under which name; a file; an interface. */
	const char *parent, *parent_name, *parent_token, *parent_iface;
	bool debug, dynamic, quiet, json, trace, syslog, force;
	int64_t idle_s;
	uint64_t run_blocks; /* -R; 0: as the image is best read */
	uint64_t burst, gap_us;
	uint64_t wait_clients; /* --wait; 0: not given */
	const char *rate;     /* -W */
	const char *ignored;
};

extern const struct cli_opt own_opts[];
extern const struct opts frisbeed_defaults;

/* Fills in the part of the engine's configuration that the command line decides, and *rate, in
 * bits a second (0: no limit).  card_bits: the rate of the interface in bits a second; 0: not
 * known.  ERR_USAGE. */
int opts_configure(const struct opts *, uint64_t card_bits, struct server_config *,
    uint64_t *rate, struct err *);

#endif /* FRISBEED_OPTIONS_H */
