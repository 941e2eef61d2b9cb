/* ask.h: one HTTP call to the controller. */
#ifndef TOOLS_SWAPIN_ASK_H
#define TOOLS_SWAPIN_ASK_H

#include "common/base/err.h"
#include "controller/json/jtree.h"

struct ask {
	const char *server; /* "127.0.0.1:8484" or "http://host:8484" */
	const char *token;  /* or NULL */
};

/* GET path, or POST it with this body of JSON if there is one.  *out is the answer, which the
 * caller frees with jtree_free().  ERR_IO: nobody answers, and errno-like os is ECONNREFUSED or so:
 * the call may be made again; else the controller's own sentence and kind. */
int ask(const struct ask *, const char *path, const char *body, struct jtree **out, struct err *);

#endif /* TOOLS_SWAPIN_ASK_H */
