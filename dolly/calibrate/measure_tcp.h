/* measure_tcp.h: what TCP costs this machine's processor, and what a link to another
 * machine carries.
 *
 * On the other machine link_serve() waits for connections.  The first LINK_WORD_BYTES
 * bytes of a connection say what it is for: LINK_SEND, after which the waiting side
 * sends until the connection is closed, or LINK_TAKE, after which it takes whatever
 * comes.  Nothing else is read of what comes, and nothing is kept. */
#ifndef DOLLY_CALIBRATE_MEASURE_TCP_H
#define DOLLY_CALIBRATE_MEASURE_TCP_H

#include <stdbool.h>

#include "dolly/calibrate/measure.h"

enum { LINK_WORD_BYTES = 8 };
#define LINK_SEND "dolly-s\n"
#define LINK_TAKE "dolly-t\n"

/* Sends to itself over the loopback interface.  The bytes are those of one stream; the
 * processor's seconds are the mean of sending and of receiving them.  ERR_IO;
 * ERR_NOMEM; ERR_CANCELLED. */
int measure_loopback(struct measured *, double seconds, struct err *);

/* Connects to a machine on which link_serve() runs, and measures each direction alone:
 * the bytes that have arrived, in half of the seconds.  ERR_IO: the other side does not
 * answer, is no such machine, or closes the connection; ERR_NOMEM; ERR_CANCELLED. */
int measure_link(struct measured *out, struct measured *in, const uint8_t address[4],
    uint16_t port, double seconds, struct err *);

/* Serves connections at this port, until none has measured anything for idle_s seconds.
 * While one measures, the others wait; one that moves hardly anything keeps nobody waiting,
 * and ends soon.  A connection is closed after LINK_SERVE_S.  *served: connections that
 * have measured something.  `told` (may be NULL) is called with `arg` when the port
 * is open. ERR_IO: the port is in use; ERR_NOMEM; ERR_CANCELLED. */
enum { LINK_SERVE_S = 600 };
int link_serve(uint16_t port, uint64_t idle_s, unsigned *served,
    void (*told)(void *arg, uint16_t port), void *arg, struct err *);

#endif /* DOLLY_CALIBRATE_MEASURE_TCP_H */
