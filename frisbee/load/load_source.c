/* load_source.c: a load as a source of chunks (load_source.h).  The load writes the file of a
 * growing source; on_image(), on_blocks() and on_end() come from the load's thread,
 * on_stored() from its feeder's, and the other callbacks from the threads that use the source. */
#include "frisbee/load/load_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/image/read/source_live.h"
#include "common/wire/addr.h"

struct loading {
	struct load *load;
	struct live *file;
	char *path;
	uint64_t room_bytes;
	/* The callback `ended` of the caller's configuration, and its argument. */
	void (*told)(void *arg, int rc, const struct err *);
	void *told_arg;
};

static void
on_image(void *arg, const struct client_image *image)
{
	struct loading *x = arg;
	struct source_info i = { .chunks = image->chunks,
		.bytes = image->bytes,
		.has_identity = image->has_identity };

	memcpy(i.identity, image->identity, sizeof i.identity);
	live_begin(x->file, &i);
}

static void
on_stored(void *arg, uint32_t chunk)
{
	struct loading *x = arg;

	live_has(x->file, chunk);
}

static void
on_blocks(void *arg, uint32_t chunk, uint32_t first, uint32_t count, const uint8_t *data)
{
	struct loading *x = arg;

	live_early(x->file, chunk, first, count, data);
}

static void
on_end(void *arg, int rc, const struct err *e)
{
	struct loading *x = arg;

	if (x->told != NULL)
		x->told(x->told_arg, rc, e);
	live_end(x->file, rc != 0 ? e : NULL);
}

static void
on_urgent(void *arg, uint32_t chunk)
{
	struct loading *x = arg;

	load_urgent(x->load, chunk);
}

static void
on_reading(void *arg, uint32_t chunk, const struct blockmap *need)
{
	struct loading *x = arg;

	load_read(x->load, chunk, need);
}

static void
on_cancelled(void *arg)
{
	struct loading *x = arg;

	load_stop(x->load);
}

static void
on_closed(void *arg)
{
	struct loading *x = arg;
	struct err ignored; /* the readers were told of it */

	if (x->load != NULL) {
		load_stop(x->load);
		load_end(x->load, NULL, &ignored);
	}
	free(x->path);
	free(x);
}

static int
open_sink(void *arg, struct sink *sink, struct err *e)
{
	struct loading *x = arg;
	const struct sink_file_config c = { .path = x->path,
		.written = on_stored,
		.room_bytes = x->room_bytes,
		.arg = x };

	return sink_to_file(sink, &c, e);
}

static int
new_source(struct loading **out, struct source *s, const struct load_config *cfg,
    const char *file, struct err *e)
{
	struct loading *x = calloc(1, sizeof *x);
	char name[64], addr[ADDR_TEXT_MAX];
	struct live_config g = { .file = file,
		.name = name,
		.urgent = on_urgent,
		.reading = on_reading,
		.silence_us = cfg->reader_silence_us,
		.cancelled = on_cancelled,
		.closed = on_closed,
		.arg = x };

	snprintf(name, sizeof name, "%s:%u", addr_text(cfg->net.addr, addr),
	    cfg->net.port_lo);
	if (x == NULL || (x->path = strdup(file)) == NULL ||
	    live_new(&x->file, s, &g, e) != 0) {
		if (x != NULL)
			free(x->path);
		free(x);
		return err_nomem(e, "the client");
	}
	*out = x;
	return 0;
}

int
source_of_load(struct source *out, const struct load_config *cfg, const char *file,
    uint64_t bytes, struct err *e)
{
	struct load_config c = *cfg;
	struct loading *x = NULL;

	if (new_source(&x, out, cfg, file, e) != 0)
		return -1;
	x->room_bytes = bytes;
	x->told = cfg->ended;
	x->told_arg = cfg->arg;
	c.any_file = false;
	c.keep_encrypted = true;
	c.open = open_sink;
	c.open_arg = x;
	c.tick = NULL;
	c.progress = NULL;
	c.say = NULL;
	c.image = on_image;
	c.blocks = on_blocks;
	c.ended = on_end;
	c.arg = x;
	if (load_start(&x->load, &c, e) == 0)
		return 0;
	x->load = NULL;
	source_close(out);
	return -1;
}
