/* cli_rows.h: macros for the rows of an option table (struct cli_opt).  The file that uses
 * them defines AT(field) as the offset of a field in the table's structure. */
#ifndef COMMON_CLI_CLI_ROWS_H
#define COMMON_CLI_CLI_ROWS_H

#include "common/cli/cli.h"

/* clang-format off */
/* An option without an argument, which sets a bool. */
#define FLAG(key, name, help, field) \
	{ key, name, NULL, help, CLI_FLAG, AT(field), 0, 0, NULL }
/* An option whose argument is a number from min to max, for a uint64_t. */
#define UINT(key, name, arg, help, field, min, max) \
	{ key, name, arg, help, CLI_UINT, AT(field), min, max, NULL }
/* An option letter of the original programs that is known, but not available. */
#define REFUSED(key, arg, why) \
	{ key, NULL, arg, why, CLI_REFUSED, 0, 0, 0, NULL }
/* clang-format on */

#endif /* COMMON_CLI_CLI_ROWS_H */
