/* settings.h: what a master server serves, to whom, and where: its configuration file.
 *
 *	image NAME PATH|store:NAME[:VERSION]	an image that clients ask for by NAME
 *	images FOLDER				every file below it, by its path there
 *	store DIR				where images of `store:` are
 *	group ADDRESS [count=N] [port=N]	sessions are at this group and the next ones
 *	interface NAME				that they use
 *	allow NET [load|upload|all] [NAMES...]	who may do what with which images
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

struct settings_image {
	char *name;
	char *place;    /* a path, or a store's name */
	bool in_store;
};

struct settings_rule {
	struct allow net;
	bool load, upload;
	char **names; /* patterns (glob(7)); none: all */
	size_t nnames;
};

struct settings {
	struct settings_image *images;
	struct settings_rule *rules;
	size_t nimages, nrules, image_cap, rule_cap;
	char *folder, *store, *uploads, *state, *iface; /* NULL: not said */
	uint64_t upload_max; /* bytes */
	uint8_t group[4];    /* the first one; zeros: not said */
	uint32_t groups;     /* how many there are */
	uint16_t port;       /* 0: the kernel chooses */
	uint64_t rate;       /* bits a second; 0: as the card allows */
	uint64_t idle_s;
};

/* Reads a configuration file.  ERR_IO; ERR_USAGE: what is wrong, in which line.  Also after an error
 * it belongs to settings_free(). */
int settings_read(struct settings *, const char *path, struct err *);
int settings_parse(
    struct settings *, const char *text, size_t bytes, const char *name, struct err *);
void settings_free(struct settings *);

/* May this host (in the order of the network) load, or upload, the image of this name? */
bool settings_may_load(const struct settings *, const uint8_t host[4], const char *name);
bool settings_may_upload(
    const struct settings *, const uint8_t host[4], const char *name);

#endif /* MFRISBEED_MASTER_SETTINGS_H */
