/* settings.h: what a master server serves, to whom, and where: its configuration file.
 *
 *	image NAME PATH|store:NAME[:VERSION]	an image that clients ask for by NAME
 *	images FOLDER				every file below it, by its path there
 *	store DIR				where images of `store:` are; all of it is served by store:NAME[:VERSION]
 *	group ADDRESS [count=N] [port=N|N+]	sessions are at this group and the next ones
 *	interface NAME				the interface that sessions use
 *	allow NET [load|upload|replace|all] [token=FILE] [NAMES...]	who may do what with which images
 *	parent HOST[:PORT] FOLDER [token=FILE] [interface=NAME]	whom to ask for what is not here
 *	uploads FOLDER [max=BYTES]		where images that clients send are put
 *	rate BITS				a second, of all sessions together
 *	idle SECONDS				a session ends this long after the last request
 *	state DIR				what survives a restart
 */
#ifndef MFRISBEED_MASTER_SETTINGS_H
#define MFRISBEED_MASTER_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/net/allow.h"
#include "frisbeed/relay/fetch.h"

/* How the name of an image of the store begins. */
#define SETTINGS_IN_STORE "store:"

struct settings_image {
	char *name;
	char *place;    /* a path, or a store's name */
	bool in_store;
};

struct settings_rule {
	struct allow net;
	bool load, upload, replace; /* what the rule allows */
	char *token_file; /* NULL: no token is needed */
	char **names; /* patterns of image names (glob(7)); none: all images */
	size_t nnames;
};

struct settings {
	struct settings_image *images;
	struct settings_rule *rules;
	size_t nimages, nrules, image_cap, rule_cap;
	char *folder, *store, *uploads, *state; /* NULL: not given */
	char iface[FETCH_IFACE_BYTES]; /* empty: not given */
	struct fetch_parent parent;
	char *parent_folder; /* NULL: none */
	uint64_t upload_max; /* bytes of one upload */
	uint8_t group[4];    /* the first group; zeros: not given */
	uint32_t groups;     /* number of groups */
	uint16_t port;       /* of sessions; 0: the kernel chooses */
	bool port_each;      /* it is that of the first group; each next group has the next port */
	uint64_t rate;       /* bits a second; 0: as the card allows */
	uint64_t idle_s;     /* seconds without a request after which a session ends */
};

/* Reads a configuration file.  Also after an error settings_free() is to be called.  ERR_IO;
 * ERR_FORMAT: what is wrong, in which line; ERR_NOMEM. */
int settings_read(struct settings *, const char *path, struct err *);
/* Is there a token in each file that the settings name?  Errors of keyfile.h. */
int settings_tokens(const struct settings *, struct err *);
/* Parses the text of a configuration file as settings_read() does.  `name` is for messages. */
int settings_parse(
    struct settings *, const char *text, size_t bytes, const char *name, struct err *);
/* Releases the settings. */
void settings_free(struct settings *);

/* What a client wants to do. */
struct settings_wish {
	bool upload;         /* false: load */
	bool replace;        /* an image of the folder `images`, by an upload */
	const uint8_t *host; /* its address: 4 bytes, in network byte order */
	const char *name;    /* of the image */
	/* Has the client proved that it has this token?  NULL: it has proved nothing. */
	bool (*proved)(const void *arg, const uint8_t token[MASTER_TOKEN_BYTES]);
	const void *arg;
};

enum settings_verdict {
	SETTINGS_NO,
	SETTINGS_WITH_TOKEN, /* only with the right token, which was not proved */
	SETTINGS_YES,
};

/* The folders that the server writes to, besides those of a store.  The paths stay the settings';
 * those that are not given are NULL. */
enum { SETTINGS_WRITTEN_MAX = 4 };
void settings_written(const struct settings *, const char *paths[SETTINGS_WRITTEN_MAX]);

/* May the client do what it wants, by the `allow` lines?  Tokens are read from their files at each
 * call: one that was withdrawn does not count any more, and nobody has one whose file is gone. */
enum settings_verdict settings_may(const struct settings *, const struct settings_wish *);

#endif /* MFRISBEED_MASTER_SETTINGS_H */
