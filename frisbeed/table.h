/* table.h: the table of sessions and their clients on a terminal, which is redrawn
 * in place. */
#ifndef FRISBEED_TABLE_H
#define FRISBEED_TABLE_H

#include "frisbeed/session_view.h"

/* Begin to draw the table, draw it with the present statistics, and remove it at the end.  A line
 * of the log erases the table until it is drawn again. */
void table_begin(void);
void table_draw(const struct session_views *);
void table_end(void);

#endif /* FRISBEED_TABLE_H */
