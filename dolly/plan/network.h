/* network.h: a network as the model sees it: machines and switches, their rates, and the links
 * between them.  It is read from a text file, whose format docs/dolly.md describes.
 *
 * Rates are bytes a second; 0 stands for no limit.  The terms and the numbers that matter are
 * those of Rauch, Kurmann and Stricker, "Optimizing the distribution of large data sets in
 * theory and practice" (2002), sections 2.1 to 2.6. */
#ifndef DOLLY_PLAN_NETWORK_H
#define DOLLY_PLAN_NETWORK_H

#include <search.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

enum {
	NETWORK_NAME_BYTES = 64,
	NETWORK_POINTS_MAX = 70000, /* hosts and switches */
};
#define NETWORK_NONE UINT32_MAX

/* The rates of a kind of machine (section 2.6). */
struct network_machine {
	char name[NETWORK_NAME_BYTES];
	double switching;  /* streams in, out and to the disk together (section 2.3) */
	double disk;       /* the disk alone */
	double iobus;      /* the bus of disks and network cards */
	double memory;     /* to and from memory */
	double cores;      /* processors; 0: not given, which counts as one */
	/* Rates of one processor when it does nothing else: */
	double scsi;       /* handing data to the disk, or taking it from there */
	double tcp;        /* sending, or receiving, one stream */
	double copy;       /* from memory to memory */
	double decompress; /* of compressed data, as section 2.7 counts it */
	double digest;     /* the digests by which a node checks what it receives */
	double multicast;  /* keeping order in a multicast stream (section 2.8) */
};

/* A host or a switch. */
struct network_point {
	char *name;
	bool host;
	uint32_t machine; /* of a host: index of its kind; NETWORK_NONE: no limits */
	double capacity;  /* of a switch: all streams in and out together */
	uint32_t parent;  /* of a host: the point that sends to it (`stream`); NETWORK_NONE: not
	                     given */
};

struct network_link {
	uint32_t a, b; /* points */
	double rate;   /* of each direction; half duplex: of both together */
	bool half;     /* half duplex */
};

/* Begins as all zeros. */
struct network {
	struct network_machine *machines;
	struct network_point *points;
	struct network_link *links;
	size_t nmachines, npoints, nlinks, machine_cap, point_cap, link_cap;
	uint32_t server;      /* the host that has the image */
	bool server_receives; /* the server also counts as a node that receives (equation 4) */
	bool has_streams;     /* the file has `stream` lines */
	uint64_t piece_bytes; /* a node forwards data in pieces of this size */
	struct hsearch_data by_name; /* of points; network.c's own */
};

/* The point of this name, or NETWORK_NONE. */
uint32_t network_find(const struct network *, const char *name);

/* Parses a description of `bytes` bytes.  `name` is for messages, which also name the line.
 * ERR_FORMAT: what is wrong with the text; ERR_NOMEM.  Also after an error the network is freed
 * by network_free(). */
int network_parse(
    struct network *, const char *text, size_t bytes, const char *name, struct err *);
/* Reads a description from a file, as network_parse() does.  ERR_IO, too. */
int network_read(struct network *, const char *path, struct err *);
/* Releases the network, which is all zeros afterwards. */
void network_free(struct network *);
/* Has the server a link? */
bool network_is_linked(const struct network *);
/* Adds a host of the server's kind, with links like the server's, that cannot be found by name.
 * The name is copied.  *point: the new point.  Routes of this network are to be made again.
 * ERR_USAGE: there are too many points; ERR_FORMAT: the server has no link; ERR_NOMEM. */
int network_add_like_server(
    struct network *, const char *name, uint32_t *point, struct err *);

/* Converts a rate such as 12.5MB, 4GB, 100Mbit, 1Gbit (powers of 1000; "/s" may follow) to
 * *rate, in bytes a second.  ERR_USAGE: the text is not a rate. */
int network_rate(const char *text, double *rate, struct err *);

#endif /* DOLLY_PLAN_NETWORK_H */
