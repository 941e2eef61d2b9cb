/* ask.h: one HTTP call to the controller. */
#ifndef TOOLS_SWAPIN_ASK_H
#define TOOLS_SWAPIN_ASK_H

#include "common/base/err.h"
#include "common/base/jtree.h"

struct ask {
	const char *server; /* "127.0.0.1:8484" or "http://host:8484" */
	const char *token;  /* or NULL */
};

/* GET `path`, or POST `body`, which is JSON, to it; body NULL: GET.  *out is the answer, which
 * the caller frees with jtree_free().  ERR_IO with e->os ECONNREFUSED: the controller does
 * not answer, and the call may be made again.  ERR_FORMAT: the answer is not JSON.  Other
 * errors have the controller's own sentence and kind. */
int ask_controller(const struct ask *, const char *path, const char *body,
    struct jtree **out, struct err *);

#endif /* TOOLS_SWAPIN_ASK_H */
