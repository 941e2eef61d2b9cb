/* control.h: the controller: all of its parts, and the loop around them. */
#ifndef CONTROLLER_RUN_CONTROL_H
#define CONTROLLER_RUN_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"

struct control;

struct control_config {
	const char *netboot;    /* the folder that netboot/setup has made */
	const char *state;      /* folder, or NULL: "controller" in the netboot folder */
	const char *nodes;      /* file, or NULL: "nodes" in the netboot folder */
	const char *listen;     /* ADDR:PORT of the web server */
	const char *token_file; /* or NULL: "token" in the state folder, which is made */
	const char *address;    /* of this host on the nodes' network, or NULL: as netboot/setup has it */
	const char *master;     /* socket of an mfrisbeed, or NULL: one is started for this controller */
	const char *store;      /* of its images, or NULL */
	const char *group;      /* multicast group of its first session, or NULL: the usual one */
	const char *rate;       /* of each session, or NULL */
	const char *group_key;  /* a file, or NULL */
	const char *power;      /* a program, or NULL: wake-on-LAN */
	bool debug, quiet, syslog; /* how an mfrisbeed that is started logs */
	uint64_t port, report_port, up_port, patience_s, patience_boot_s;
};

enum { CONTROL_PORT = 8484, CONTROL_REPORT_PORT = 5101, CONTROL_GROUP_PORT = 7701 };

/* Read the state, listen, and make true what it says.  The config is borrowed.  ERR_USAGE: a
 * value of the config; ERR_FORMAT: a file; ERR_REFUSED: another controller uses the state; ERR_IO;
 * ERR_NOMEM. */
int control_open(struct control **, const struct control_config *, struct err *);
/* The ports that it listens on. */
uint16_t control_web_port(const struct control *);
uint16_t control_report_port(const struct control *);
/* Work until a signal comes (cancel.h).  What runs then goes on: what mfrisbeed sends, and the nodes'
 * orders.  -1: what happened last cannot be saved. */
int control_run(struct control *, struct err *);
/* Read the file of nodes again, soon; a file with an error changes nothing, and the log says so.
 * A handler of a signal may call this. */
void control_renew(struct control *);
/* NULL is allowed. */
void control_close(struct control *);

#endif /* CONTROLLER_RUN_CONTROL_H */
