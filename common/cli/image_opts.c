/* image_opts.c: the option tables for keys.  Programs that read or write images refer to
 * them in their own tables, and cli.c reads them in the first thread. */
#include "common/cli/image_opts.h"

#include <stddef.h>

#include "common/image/format/opener.h"
#include "common/image/format/sealer.h"

/* These keys are above those of the programs' own tables. */
enum { OPT_SIGN = 410, OPT_ENCRYPT };

const struct cli_opt sealer_opts[] = {
	{ OPT_SIGN, "sign", "KEY", "sign every chunk with this private key", CLI_STR,
	    offsetof(struct sealer_config, sign), 0, 0, NULL },
	{ OPT_ENCRYPT, "encrypt", "KEYFILE", "encrypt every chunk with this key",
	    CLI_STR, offsetof(struct sealer_config, encrypt), 0, 0, NULL },
	{ 0 },
};

enum { OPT_VERIFY_KEY = 420, OPT_DECRYPT };

const struct cli_opt opener_opts[] = {
	{ OPT_VERIFY_KEY, "verify-key", "PUB",
	    "accept only an image signed with the private key of PUB", CLI_STR,
	    offsetof(struct opener_config, verify_key), 0, 0, NULL },
	{ OPT_DECRYPT, "decrypt", "KEYFILE",
	    "accept only an image encrypted with this key", CLI_STR,
	    offsetof(struct opener_config, decrypt), 0, 0, NULL },
	{ 0 },
};
