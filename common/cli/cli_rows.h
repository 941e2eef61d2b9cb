/* cli_rows.h: rows of an option table, for a file that defines AT(field) as the offset
 * of a field of its structure. */
#ifndef COMMON_CLI_CLI_ROWS_H
#define COMMON_CLI_CLI_ROWS_H

#include "common/cli/cli.h"

/* clang-format off */
#define FLAG(key, name, help, field) \
	{ key, name, NULL, help, CLI_FLAG, AT(field), 0, 0, NULL }
#define UINT(key, name, arg, help, field, min, max) \
	{ key, name, arg, help, CLI_UINT, AT(field), min, max, NULL }
/* An option letter of the original programs that is known, but not available. */
#define REFUSED(key, arg, why) \
	{ key, NULL, arg, why, CLI_REFUSED, 0, 0, 0, NULL }
/* clang-format on */

#endif /* COMMON_CLI_CLI_ROWS_H */
