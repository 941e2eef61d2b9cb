/* table.h: the table of sessions and their clients on a terminal, which is redrawn
 * in place. */
#ifndef FRISBEED_TABLE_H
#define FRISBEED_TABLE_H

#include "frisbeed/shown.h"

/* Log lines make the table go away until it is drawn again. */
void table_begin(void);
void table_draw(const struct shown_all *);
void table_end(void);

#endif /* FRISBEED_TABLE_H */
