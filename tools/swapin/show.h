/* show.h: what swapin prints of sessions. */
#ifndef TOOLS_SWAPIN_SHOW_H
#define TOOLS_SWAPIN_SHOW_H

#include "controller/json/jtree.h"

/* What has changed since the last call, a line for each node that entered a phase; and a line
 * of progress on a terminal.  before: the session as it was then, or NULL. */
void show_news(const struct jtree *session, const struct jtree *before);
/* The end of a session: what failed on which node, the share of nodes that are done, and the time
 * of each phase. */
void show_end(const struct jtree *session);
/* The list of sessions, newest first. */
void show_list(const struct jtree *sessions);

#endif /* TOOLS_SWAPIN_SHOW_H */
