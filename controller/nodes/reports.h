/* reports.h: takes the reports of nodes on a TCP port: one line, which is answered with "ok
 * SECONDS" after what it has changed was saved. */
#ifndef CONTROLLER_NODES_REPORTS_H
#define CONTROLLER_NODES_REPORTS_H

#include <stdint.h>

#include "controller/engine/swap.h"
#include "common/base/loop.h"

struct reports;

/* Listen on this address and port (0: any).  The loop stays the caller's, and take() is called
 * for each line that is a report, with the address that it came from; -1: the node is told
 * why it was refused.  ERR_IO: the port is used by another; ERR_NOMEM. */
int reports_open(struct reports **, struct loop *, const uint8_t addr[4], uint16_t port,
    int (*take)(void *arg, const struct swap_report *, const uint8_t ip[4], struct err *),
    void *arg, struct err *);
/* NULL is allowed. */
void reports_close(struct reports *);
uint16_t reports_port(const struct reports *);
/* Answer all reports that were taken.  why NULL: what they have changed was saved; otherwise
 * `why` is a sentence that says why not. */
void reports_answer(struct reports *, double wall_s, const char *why);
/* How many lines were taken and refused. */
uint64_t reports_taken(const struct reports *);
uint64_t reports_refused(const struct reports *);

#endif /* CONTROLLER_NODES_REPORTS_H */
