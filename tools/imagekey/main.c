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

enum key { SIGN_KEY, ENCRYPT_KEY, GROUP_KEY, TOKEN, KEYS };

struct opts {
	const char *names[KEYS]; /* NULL: not given */
	bool quiet;
};

#define AT(field) offsetof(struct opts, field)
#define NAME(key, name, arg, help) \
	{ 300 + key, name, arg, help, CLI_STR, AT(names[key]), 0, 0, NULL }

static const struct cli_opt opts_table[] = {
	NAME(SIGN_KEY, "sign-key", "NAME",
	    "a key pair for signatures: NAME.key and NAME.pub"),
	NAME(ENCRYPT_KEY, "encrypt-key", "FILE", "a key for encryption"),
	NAME(GROUP_KEY, "group-key", "FILE", "a group key, for frisbeed and frisbee"),
	NAME(TOKEN, "token", "FILE",
	    "a token, for mfrisbeed and for whoever may load or upload"),
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

static int
make(enum key k, const char *name, struct err *e)
{
	switch (k) {
	case SIGN_KEY: return sign_make_keys(name, e);
	case ENCRYPT_KEY: return crypt_make_key(name, e);
	case GROUP_KEY: return keyfile_make_secret(name, KEYFILE_GROUP, e);
	default: return keyfile_make_secret(name, KEYFILE_TOKEN, e);
	}
}

static void
tell(enum key k, const char *name)
{
	static const char *const is[KEYS] = {
		[ENCRYPT_KEY] = "encrypts and decrypts images",
		[GROUP_KEY] = "is the key of the server and of all its clients",
		[TOKEN] = "is the token of the master server and of those that it serves",
	};

	if (k == SIGN_KEY)
		say_text(stdout, "%s.key signs images: keep it secret; %s.pub verifies their "
		    "signatures\n", name, name);
	else
		say_text(stdout, "%s %s: keep it secret%s\n", name, is[k],
		    k == ENCRYPT_KEY ? ", and do not lose it" : "");
}

static int
make_keys(void *opts, char **operands, int n, struct err *e)
{
	const struct opts *o = opts;
	bool any = false;

	(void)operands;
	for (enum key k = 0; k < KEYS; k++)
		any |= o->names[k] != NULL;
	if (n != 0 || !any)
		return err_misuse(e, "--sign-key, --encrypt-key, --group-key or "
				     "--token is needed, and no operand");
	for (enum key k = 0; k < KEYS; k++) {
		if (o->names[k] == NULL)
			continue;
		/* An image may be encrypted with the key at once, and nobody can read
		 * it without the key, so its name is on the disk before the key is
		 * told of. */
		if (make(k, o->names[k], e) != 0 ||
		    replace_sync_name(o->names[k], e) != 0)
			return -1;
		if (!o->quiet)
			tell(k, o->names[k]);
	}
	return 0;
}

int
main(int argc, char **argv)
{
	struct opts o = { 0 };

	return cli_main(&prog, argc, argv, &o, make_keys);
}
