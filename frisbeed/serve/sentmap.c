/* sentmap.c: what a session has sent of its image (sentmap.h).  stream.c draws the map in the
 * stream's thread, serve_stats.c reads it in any. */
#include "frisbeed/serve/sentmap.h"

#include <string.h>

void
sentmap_init(struct sentmap *m)
{
	memset(m, 0, sizeof *m);
	pthread_mutex_init(&m->lock, NULL);
}

void
sentmap_fini(struct sentmap *m)
{
	pthread_mutex_destroy(&m->lock);
}

void
sentmap_draw(struct sentmap *m, const struct server *server)
{
	uint32_t chunks = server_chunks(server);

	pthread_mutex_lock(&m->lock);
	m->n = chunks < SENTMAP_CELLS ? chunks : SENTMAP_CELLS;
	server_map(server, m->cells, m->n);
	pthread_mutex_unlock(&m->lock);
}

void
sentmap_text(struct sentmap *m, char text[SENTMAP_CELLS + 1])
{
	pthread_mutex_lock(&m->lock);
	for (uint32_t i = 0; i < m->n; i++)
		text[i] = "0123456789abcdef"[m->cells[i]];
	text[m->n] = '\0';
	pthread_mutex_unlock(&m->lock);
}
