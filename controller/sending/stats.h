/* stats.h: what frisbeed says of itself and its clients in its file of statistics (frisbeed(8),
 * section STATISTICS). */
#ifndef CONTROLLER_SENDING_STATS_H
#define CONTROLLER_SENDING_STATS_H

#include "controller/engine/swap.h"

enum { STATS_BYTES_MAX = 16 << 20 };

/* Read a text[bytes] into *out, and call view() for each client, which has loaded a part of the
 * image.  ERR_FORMAT: it is no such document; *out is not changed then. */
int stats_read(const char *text, size_t bytes, struct swap_server *out,
    void (*view)(void *arg, const uint8_t ip[4], const struct swap_view *), void *arg,
    struct err *);

#endif /* CONTROLLER_SENDING_STATS_H */
