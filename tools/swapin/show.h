/* show.h: what swapin prints of sessions. */
#ifndef TOOLS_SWAPIN_SHOW_H
#define TOOLS_SWAPIN_SHOW_H

#include <stdint.h>

#include "common/base/jtree.h"

/* Print a line for each node that has entered a phase since the last call, and, on a terminal,
 * a line of progress.  before: the session as it was at the last call, or NULL. */
void show_news(const struct jtree *session, const struct jtree *before);
/* Print which nodes have not booted 30 s after the session began, and each minute from then on. */
void show_absent(const struct jtree *session, const struct jtree *before);
/* Print that the controller does not answer, and for how many seconds it will be asked again. */
void show_away(const char *why, uint64_t seconds);
/* Print how a session ended: what failed on which node, the share of nodes that are done, and
 * the time of each phase. */
void show_end(const struct jtree *session);
/* Print the list of sessions, newest first. */
void show_list(const struct jtree *sessions);

#endif /* TOOLS_SWAPIN_SHOW_H */
