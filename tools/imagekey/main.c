/* main.c: imagekey makes the keys that sign and encrypt images, the keys of groups, and
 * the tokens of master servers.  The program has one thread. */
#include <stddef.h>
#include <stdio.h>

#include "common/base/keyfile.h"
#include "common/base/replace.h"
#include "common/base/say.h"
#include "common/cli/cli.h"
#include "common/cli/cli_rows.h"
#include "common/image/format/crypt.h"
#include "common/image/format/sign.h"

struct opts {
	const char *sign_key, *encrypt_key, *group_key, *token; /* names; NULL: not given */
	bool quiet;
};

#define AT(field) offsetof(struct opts, field)

enum { OPT_SIGN_KEY = 300, OPT_ENCRYPT_KEY, OPT_GROUP_KEY, OPT_TOKEN };

static const struct cli_opt opts_table[] = {
	{ OPT_SIGN_KEY, "sign-key", "NAME",
	    "a key pair for signatures: NAME.key and NAME.pub", CLI_STR, AT(sign_key),
	    0, 0, NULL },
	{ OPT_ENCRYPT_KEY, "encrypt-key", "FILE", "a key for encryption", CLI_STR,
	    AT(encrypt_key), 0, 0, NULL },
	{ OPT_GROUP_KEY, "group-key", "FILE", "a group key, for frisbeed and frisbee",
	    CLI_STR, AT(group_key), 0, 0, NULL },
	{ OPT_TOKEN, "token", "FILE",
	    "a token, for mfrisbeed and for whoever may load or upload", CLI_STR,
	    AT(token), 0, 0, NULL },
	FLAG('q', "quiet", "print nothing", quiet),
	{ 0 },
};

static const struct cli_program prog = {
	.name = "imagekey",
	.synopsis = "[options]",
	.about = "Make keys that sign or encrypt images, keys that authenticate the "
	         "packets of a\n"
		 "group, and tokens for a master server.  An existing key is never "
	         "replaced.",
	.examples = "  imagekey --sign-key lab              keep lab.key secret, give "
	            "lab.pub to all\n"
		    "  imagezip --sign lab.key /dev/sda sda.ndz\n"
		    "  imageunzip --verify-key lab.pub sda.ndz /dev/sdb\n"
		    "  imagekey --encrypt-key secret.key    for imagezip --encrypt, "
	            "imageunzip --decrypt\n"
		    "  imagekey --group-key lab.group       for frisbeed and frisbee "
	            "--group-key\n"
		    "  imagekey --token ci.token            for mfrisbeed, frisbee -F "
	            "and imagezip --to\n",
	.tables = { { opts_table, 0, NULL } },
};

/* Flush the name of a key that was made; rc: the result of making it.  An image may be encrypted
 * with the key at once, and nobody can read it without the key. */
static int
keep(int rc, const char *name, struct err *e)
{
	return rc == 0 ? replace_sync_name(name, e) : rc;
}

static int
make_keys(void *opts, char **operands, int n, struct err *e)
{
	const struct opts *o = opts;

	(void)operands;
	if (n != 0 || (o->sign_key == NULL && o->encrypt_key == NULL &&
			  o->group_key == NULL && o->token == NULL))
		return err_misuse(e, "--sign-key, --encrypt-key, --group-key or "
				     "--token is needed, and no operand");
	if (o->sign_key != NULL && keep(sign_make_keys(o->sign_key, e), o->sign_key, e) != 0)
		return -1;
	if (o->sign_key != NULL && !o->quiet)
		say(stdout,
		    "%s.key signs images: keep it secret; %s.pub verifies their "
		    "signatures\n",
		    o->sign_key, o->sign_key);
	if (o->encrypt_key != NULL &&
	    keep(crypt_make_key(o->encrypt_key, e), o->encrypt_key, e) != 0)
		return -1;
	if (o->encrypt_key != NULL && !o->quiet)
		say(stdout,
		    "%s encrypts and decrypts images: keep it secret, and do not lose "
		    "it\n",
		    o->encrypt_key);
	if (o->group_key != NULL &&
	    keep(keyfile_make_secret(o->group_key, KEYFILE_GROUP, e), o->group_key, e) != 0)
		return -1;
	if (o->group_key != NULL && !o->quiet)
		say(stdout,
		    "%s is the key of the server and of all its clients: keep it "
		    "secret\n",
		    o->group_key);
	if (o->token != NULL &&
	    keep(keyfile_make_secret(o->token, KEYFILE_TOKEN, e), o->token, e) != 0)
		return -1;
	if (o->token != NULL && !o->quiet)
		say(stdout,
		    "%s is the token of the master server and of those that it serves: "
		    "keep it secret\n",
		    o->token);
	return 0;
}

int
main(int argc, char **argv)
{
	struct opts o = { 0 };

	return cli_main(&prog, argc, argv, &o, make_keys);
}
