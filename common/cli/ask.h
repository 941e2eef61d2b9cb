/* ask.h: asks whoever sits at the terminal before something dear is lost. */
#ifndef COMMON_CLI_ASK_H
#define COMMON_CLI_ASK_H

#include <stdbool.h>

#include "common/base/err.h"

/* May the file of that name, which is no pipe, be replaced?  Asks if it has any bytes and
 * standard input and standard error are terminals: without them, and with force, the
 * command line is the answer.  ERR_REFUSED: the answer is not yes, or there is none;
 * ERR_CANCELLED. */
int ask_replace(const char *path, bool force, struct err *);

#endif /* COMMON_CLI_ASK_H */
