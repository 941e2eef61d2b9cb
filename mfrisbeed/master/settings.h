/* settings.h: what a master server serves, to whom, and where: its configuration file.
 *
 *	image NAME PATH|store:NAME[:VERSION]	an image that clients ask for by NAME
 *	images FOLDER				every file below it, by its path there
 *	store DIR				where images of `store:` are
 *	group ADDRESS [count=N] [port=N]	sessions are at this group and the next ones
 *	interface NAME				that they use
 *	allow NET [load|upload|all] [token=FILE] [NAMES...]	who may do what with which images
 *	parent HOST[:PORT] FOLDER [token=FILE] [interface=NAME]	whom to ask for what is not here
 *	uploads FOLDER [max=BYTES]		where images that clients send are put
 *	rate BITS				a second, of all sessions together
 *	idle SECONDS				a session ends when nobody asks for so long
 *	state DIR				what survives a restart
 */
#ifndef MFRISBEED_MASTER_SETTINGS_H
#define MFRISBEED_MASTER_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/net/allow.h"
#include "common/wire/master_proof.h"

struct settings_image {
	char *name;
	char *place;    /* a path, or a store's name */
	bool in_store;
};

struct settings_rule {
	struct allow net;
	bool load, upload;
	char *token_file; /* NULL: the address is enough */
	uint8_t token[MASTER_TOKEN_BYTES];
	char **names; /* patterns (glob(7)); none: all */
	size_t nnames;
};

enum { SETTINGS_HOST_BYTES = 256, SETTINGS_IFACE_BYTES = 64 };

/* The master server that is asked for images that are not here. */
struct settings_parent {
	char host[SETTINGS_HOST_BYTES];   /* empty: none */
	char iface[SETTINGS_IFACE_BYTES]; /* that its sessions are heard at; empty: by the route */
	bool has_token;
	uint8_t token[MASTER_TOKEN_BYTES];
};

struct settings {
	struct settings_image *images;
	struct settings_rule *rules;
	size_t nimages, nrules, image_cap, rule_cap;
	char *folder, *store, *uploads, *state; /* NULL: not said */
	char iface[SETTINGS_IFACE_BYTES]; /* empty: not said */
	struct settings_parent parent;
	char *parent_folder, *parent_token_file; /* NULL: none */
	uint64_t upload_max; /* bytes */
	uint8_t group[4];    /* the first one; zeros: not said */
	uint32_t groups;     /* how many there are */
	uint16_t port;       /* 0: the kernel chooses */
	uint64_t rate;       /* bits a second; 0: as the card allows */
	uint64_t idle_s;
};

/* Reads a configuration file, and the tokens that it names.  ERR_IO; ERR_USAGE: what is wrong, in which
 * line; errors of keyfile.h.  Also after an error it belongs to settings_free(). */
int settings_read(struct settings *, const char *path, struct err *);
/* As settings_read() for a text; the tokens are not read. */
int settings_parse(
    struct settings *, const char *text, size_t bytes, const char *name, struct err *);
void settings_free(struct settings *);

/* What somebody wants to do. */
struct settings_wish {
	bool upload;         /* else: load */
	const uint8_t *host; /* 4 bytes, in the order of the network */
	const char *name;    /* of the image */
	/* Has it proved that it has this token?  NULL: it has proved nothing. */
	bool (*proved)(const void *arg, const uint8_t token[MASTER_TOKEN_BYTES]);
	const void *arg;
};

enum settings_verdict {
	SETTINGS_NO,
	SETTINGS_WITH_TOKEN, /* no, but with the right token yes */
	SETTINGS_YES,
};

/* The folders that the server writes to, besides what a store needs.  `paths` has room for SETTINGS_WRITTEN_MAX; those that are not said are
 * NULL. */
enum { SETTINGS_WRITTEN_MAX = 3 };
void settings_written(const struct settings *, const char *paths[SETTINGS_WRITTEN_MAX]);

enum settings_verdict settings_may(const struct settings *, const struct settings_wish *);

#endif /* MFRISBEED_MASTER_SETTINGS_H */
