/* emustore.h: what the commands have in common. */
#ifndef EMUSTORE_EMUSTORE_H
#define EMUSTORE_EMUSTORE_H

#include "common/base/json.h"
#include "common/cli/progress.h"
#include "common/image/write/maker.h"
#include "emustore/store/keep.h"
#include "emustore/store/store.h"
#include "emustore/store/stored.h"

struct options {
	const char *store;
	bool json, quiet, wait, data, index, all, exact, force;
	struct maker_choice how;    /* put, import: how.codec.codec NULL: as the image is */
	uint64_t jobs;              /* 0: one a processor */
	uint64_t chunk;             /* UINT64_MAX: all of them */
	uint64_t pack_bytes, grace; /* seconds */
	const char *cache;
	uint64_t cache_bytes;
	const char *parent;
	const char *to;   /* copy: the other store */
	struct keep keep; /* forget */
	bool dry_run, usage;
	unsigned nlabels;
	struct recipe_label labels[RECIPE_LABELS_MAX];
};

/* The commands.  The caller has checked the number of operands.  They return 0 or -1. */
int command_init(const struct options *, char **operands, int n, struct err *);
int command_put(const struct options *, char **operands, int n, struct err *);
int command_import(const struct options *, char **operands, int n, struct err *);
int command_get(const struct options *, char **operands, int n, struct err *);
int command_list(const struct options *, char **operands, int n, struct err *);
int command_info(const struct options *, char **operands, int n, struct err *);
int command_stats(const struct options *, char **operands, int n, struct err *);
int command_rm(const struct options *, char **operands, int n, struct err *);
int command_copy(const struct options *, char **operands, int n, struct err *);
int command_forget(const struct options *, char **operands, int n, struct err *);
int command_gc(const struct options *, char **operands, int n, struct err *);
int command_verify(const struct options *, char **operands, int n, struct err *);
int command_repair(const struct options *, char **operands, int n, struct err *);

/* Encode the image in a file again with the codec of the options, and pass the new image
 * to a put that was begun.  Data that the store has in this codec is neither compressed
 * again nor kept twice.  ERR_REFUSED: the image is signed or encrypted, which the new one
 * would not be. */
struct put;
int recode_image(const struct options *, struct put *, const char *path, struct err *);
/* The place of the store, and of its cache; borrows from the options. */
struct store_place place_of(const struct options *);
/* Say that the store has no reserve, unless the error is ERR_NONE. */
void tell_reserve(const struct options *, const struct err *lacks);
/* Open the store for reading or writing; --wait says whether to wait for another writer. */
int emustore_open(struct store *, const struct options *, bool writing, struct err *);
/* access: enum store_access. */
int emustore_open_for(
    struct store *, const struct options *, unsigned access, struct err *);
/* Whether all images of the store can be read.  If not, *lacks is ERR_FORMAT, and says how many cannot
 * and what of them, such as "are not listed". */
bool emustore_all_readable(const struct store *, const char *what, struct err *lacks);
/* End a command that has printed what it could read: 0, or -1 with *lacks, unless all was readable. */
int end_of_report(bool readable, const struct err *lacks, struct err *);
/* Add name, version, sizes, digest and times to the JSON object that is open. */
void json_image(struct json *, const struct recipe_image *);
/* Format a time in seconds since 1970 as "2026-11-21 03:31:54 UTC". */
void emustore_time_text(uint64_t seconds, char out[32]);

#endif /* EMUSTORE_EMUSTORE_H */
