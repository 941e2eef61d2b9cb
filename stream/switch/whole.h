/* whole.h: asks nbdkit-ndz-plugin whether the disk that it fills is whole. */
#ifndef STREAM_SWITCH_WHOLE_H
#define STREAM_SWITCH_WHOLE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"

/* Ask at the socket of the plugin's parameter status=SOCKET, whose answer is described in
 * nbdkit-ndz-plugin(1).  ERR_ABSENT: nobody answers there; ERR_USAGE: the path is too long;
 * ERR_FORMAT: the answer does not say it; ERR_IO. */
int whole_ask(const char *socket, bool *whole, struct err *);
/* whole_ask(), and how much of what the image stores is on the disk. */
int whole_ask_bytes(
    const char *socket, bool *whole, uint64_t *present, uint64_t *stored, struct err *);
/* Ask each second until the disk is whole.  Errors of whole_ask(); ERR_CANCELLED. */
int whole_wait(const char *socket, struct err *);
/* What a status document says: 1: the disk is whole; 0: it is not; -1: neither. */
int whole_read(const char *document);
/* The number that it says of this member; 0: it says none. */
uint64_t whole_read_number(const char *document, const char *member);

#endif /* STREAM_SWITCH_WHOLE_H */
