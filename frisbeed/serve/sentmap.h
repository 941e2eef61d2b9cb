/* sentmap.h: a map of what a session has sent of its image, as its statistics have it.
 *
 * The stream that serves the group writes it, and any thread reads it.  A session that serves
 * each client alone has no map: its streams send what their client lacks, each from its own
 * beginning.  The map stays as it was when the stream has ended. */
#ifndef FRISBEED_SERVE_SENTMAP_H
#define FRISBEED_SERVE_SENTMAP_H

#include <pthread.h>

#include "frisbeed/server/server.h"

enum { SENTMAP_CELLS = 512 }; /* at most; an image of fewer chunks has a cell for each */

struct sentmap {
	pthread_mutex_t lock;
	uint32_t n;
	uint8_t cells[SENTMAP_CELLS];
};

/* Makes a map without cells, and releases what it holds. */
void sentmap_init(struct sentmap *);
void sentmap_fini(struct sentmap *);
/* Draws the map anew from the engine, which belongs to the calling thread. */
void sentmap_draw(struct sentmap *, const struct server *);
/* Writes the map as text, a hexadecimal digit for each cell: 0 for nothing, f for all of it.
 * The text is empty if there is no map. */
void sentmap_text(struct sentmap *, char text[SENTMAP_CELLS + 1]);

#endif /* FRISBEED_SERVE_SENTMAP_H */
