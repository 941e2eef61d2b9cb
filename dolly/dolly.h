/* dolly.h: options and commands of the program dolly. */
#ifndef DOLLY_DOLLY_H
#define DOLLY_DOLLY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "dolly/plan/predict.h"
#include "imageunzip/install/install.h"

struct options {
	uint64_t image_bytes; /* plan: of the raw data; 0: not said */
	const char *compression;
	const char *svg;
	const char *nodes; /* plan: how many; serve: a list, or a file of lists; NULL */
	uint64_t wait;     /* serve: the number of nodes of --wait; 0: not given */
	uint64_t start_s;  /* serve: after how many seconds to begin without the missing
	                      nodes; 0: never */
	uint64_t port;
	uint64_t tree; /* serve: children of each node; 0: not said */
	bool chain, star, automatic;
	const char *network; /* serve: a description of the network; NULL */
	const char *rack_file; /* serve: who is in which rack; NULL */
	uint64_t deadline_s;
	uint64_t slow; /* serve: bytes a second */
	uint64_t linger_s;
	const char *relay;      /* join: GROUP:PORT of a session, or NULL */
	const char *relay_file; /* ... which keeps the image there; NULL: in TMPDIR */
	uint64_t patience_s; /* join: for a server that went away */
	const char *key; /* a file, or NULL */
	bool raw, zstd; /* serve: any file or disk, packed */
	bool quiet, json;
	struct install_config install; /* join */
};

/* Commands: operands without the command's name; the exit status, or -1 with the error.
 */
int command_plan(const struct options *, char **operands, int n, struct err *);
int command_serve(const struct options *, char **operands, int n, struct err *);
int command_join(const struct options *, char **operands, int n, struct err *);

/* The prediction, for people or as JSON, on standard output. */
int plan_print(const struct options *, const struct network *,
    const struct prediction *, struct err *);
/* The number of --compression; 1 for NULL.  ERR_USAGE. */
int plan_compression(const char *text, double *factor, struct err *);
/* How a server's run went. */
struct serve_run {
	uint32_t chunks;
	uint64_t bytes;       /* of what each node gets, as it is sent but for --zstd */
	uint64_t bytes_sent;  /* by the server itself */
	double seconds;       /* from the first chunk until the last node was whole */
	bool predicted;       /* with --network, by the model: */
	struct predict_row row;
};
/* What became of each node of a server that has ended; -1 when one is not whole. */
struct roster;
struct meant;
int serve_report(const struct options *, const struct roster *, const struct meant *,
    const struct serve_run *, struct err *);

#endif /* DOLLY_DOLLY_H */
