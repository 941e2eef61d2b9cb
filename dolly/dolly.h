/* dolly.h: options and commands of the program dolly. */
#ifndef DOLLY_DOLLY_H
#define DOLLY_DOLLY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "dolly/net/wires.h"
#include "dolly/plan/predict.h"
#include "imageunzip/install/install.h"

struct options {
	uint64_t image_bytes; /* plan: size of the raw data; 0: not given */
	const char *compression;
	const char *svg;
	const char *nodes; /* plan: a number of nodes; calibrate: a list; serve: a list, or a
	                      file of lists; NULL: not given */
	uint64_t wait;     /* serve: the number of nodes of --wait; 0: not given */
	uint64_t start_s;  /* serve: seconds after which the server begins without the
	                      missing nodes; 0: never */
	uint64_t port;
	uint64_t tree; /* serve: children of each node; 0: not given */
	bool chain, star, automatic;
	const char *network; /* serve: file with a description of the network; NULL: none */
	const char *rack_file; /* serve: file that names the nodes of each rack; NULL: none */
	uint64_t deadline_s;
	uint64_t slow; /* serve: bytes a second that a node must take; 0: any rate */
	uint64_t linger_s;
	const char *relay;      /* join: GROUP:PORT of the session to open; NULL: none */
	const char *relay_file; /* join: file for the image of --relay; NULL: in TMPDIR */
	uint64_t patience_s; /* join: seconds to wait for a server that went away */
	const char *key; /* path of the key file; NULL: no encryption */
	bool raw, zstd; /* serve: send any file or disk; compress it with zstd */
	uint64_t seconds; /* calibrate: for all measurements together */
	const char *with; /* calibrate: HOST[:PORT] of a peer whose link is measured, or NULL */
	bool listen;      /* calibrate: be such a peer */
	const char *plan; /* serve: description for the prediction alone; NULL: none */
	bool quiet, json;
	struct install_config install; /* join */
};

/* The commands.  Each takes its `n` operands, without the command's own name, and returns
 * the exit status, or -1 with the error. */
int command_plan(const struct options *, char **operands, int n, struct err *);
int command_serve(const struct options *, char **operands, int n, struct err *);
int command_join(const struct options *, char **operands, int n, struct err *);
int command_calibrate(const struct options *, char **operands, int n, struct err *);

/* Prints the prediction on standard output, as a table or with --json as JSON.  Returns 0,
 * or -1 with the error. */
int plan_print(const struct options *, const struct network *,
    const struct prediction *, struct err *);
/* Converts the operand of --compression (1 to 1000) to *factor; NULL means 1.
 * ERR_USAGE: the text is not such a number. */
int plan_compression(const char *text, double *factor, struct err *);
/* Adds to the open object how many connections were encrypted, when there was a key. */
struct json;
void report_encrypted(struct json *, bool key, const struct wires_encrypted *);
/* What serve_report() prints about the run as a whole. */
struct serve_run {
	uint32_t chunks;
	uint64_t bytes;       /* that each node gets, before the compression of --zstd */
	uint64_t bytes_sent;  /* by the server itself */
	struct wires_encrypted encrypted; /* connections; all zeros without --key */
	double seconds;       /* from the first chunk until the last node was whole */
	bool predicted;       /* `row` is valid; only with --network or --plan */
	struct predict_row row; /* what the model predicts for the tree of this run */
};
struct roster;
struct node_list;
/* Prints the fate of each node, when the server has ended.  Returns 0; -1: a node is not
 * whole, or the report could not be written. */
int serve_report(const struct options *, const struct roster *, const struct node_list *,
    const struct serve_run *, struct err *);

#endif /* DOLLY_DOLLY_H */
