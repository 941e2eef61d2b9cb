/* wish.h: the body of a call that starts a session, as JSON (docs/controller.md). */
#ifndef CONTROLLER_HTTP_WISH_H
#define CONTROLLER_HTTP_WISH_H

#include "common/base/json.h"
#include "controller/engine/swap.h"

enum { WISH_BYTES_MAX = 65536 };

/* Read text[bytes]; what it does not say gets its usual value.  ERR_USAGE says what is wrong: it
 * is no JSON object, a member is missing, unknown, of another kind, too long or too large.
 * What the members mean together is for swap_start(). */
int wish_read(const char *text, size_t bytes, struct swap_wish *, struct err *);
/* Write its members as an object. */
void wish_write(struct json *, const struct swap_wish *);

/* Write what is unusual of this as members of an object. */
void wish_sending(struct json *, const struct swap_sending *);

#endif /* CONTROLLER_HTTP_WISH_H */
