/* order_find.h: finds the order of reads that belongs to an image. */
#ifndef STREAM_RECORD_ORDER_FIND_H
#define STREAM_RECORD_ORDER_FIND_H

#include "common/image/format/order.h"

/* Read the order at `place`: a file, or http(s)://....  Errors of order_read() and
 * http_open(); ERR_USAGE: it is another kind of place; ERR_FORMAT: it is longer than an
 * order may be. */
int order_at(struct order *o, const char *place, struct err *);
/* Read the order beside an image, which has the image's place with ".order" behind it.
 * Errors as of order_at(); ERR_ABSENT: there is none, or the image is where nothing can
 * be beside it. */
int order_beside(struct order *o, const char *image, struct err *);

#endif /* STREAM_RECORD_ORDER_FIND_H */
