/* relay.c: a session of frisbeed/serve whose image comes from dolly (relay.h).  dolly_load.c calls it
 * in the program's first thread; the session reads the file in threads of its own. */
#include "dolly/relay/relay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/hostport.h"
#include "common/disk/disk.h"
#include "common/image/read/source_live.h"
#include "frisbeed/serve/serve.h"

enum {
	WHERE_MAX = 64,
	RUN_BLOCKS = 32,
	AHEAD = 16,
	RATE_BITS = 1000000000, /* a second, where the card names no rate; the session may send
	                           more slowly, since its rate is dynamic */
};

struct relay {
	char *path;
	struct disk *disk; /* the file, for writing */
	struct live *live; /* the session's, until it is stopped */
	bool *has;         /* by chunk: it was put */
	struct session_config each;
	struct serve *serve;
	uint32_t number, chunks, left; /* of the session; of the image; that were not put yet */
	uint64_t sent, sent_us; /* blocks at the last look; when there were more than before */
};

/* Makes the file: `file`, or a new one in TMPDIR when it is NULL. */
static int
open_file(struct relay *r, const char *file, struct err *e)
{
	const char *tmp = getenv("TMPDIR");
	struct stat st;
	int fd;

	/* The name is removed in the end, which must not be that of a disk. */
	if (file != NULL && stat(file, &st) == 0 && !S_ISREG(st.st_mode))
		return err_set(e, ERR_UNSUPPORTED, "%s is not a file", file);
	if (file != NULL) {
		r->path = strdup(file);
	} else if (asprintf(&r->path, "%s/dolly-relay-XXXXXX",
		       tmp != NULL ? tmp : "/tmp") < 0) {
		r->path = NULL;
	} else if ((fd = mkstemp(r->path)) >= 0) {
		close(fd);
	} else {
		return err_os(e, "%s", r->path);
	}
	if (r->path == NULL)
		return err_nomem(e, "a relay");
	return disk_open(&r->disk, r->path, DISK_WRITE | DISK_CREATE | DISK_TRUNC, e);
}

static int
open_place(struct place **out, const char *where, struct err *e)
{
	char text[WHERE_MAX], *group, *port;
	struct net_options net = { 0 };

	if (snprintf(text, sizeof text, "%s", where) >= WHERE_MAX ||
	    !hostport_cut(text, &group, &port) || port == NULL)
		return err_set(
		    e, ERR_USAGE, "--relay: \"%.60s\" is not GROUP:PORT", where);
	net.addr = group;
	net.port = port;
	return places_one(out, "relay", &net, e);
}

static void
configure(struct serve_config *c, const struct relay *r, const struct place *place)
{
	*c = (struct serve_config){ .session = &r->each,
		.engine = { .run_blocks = RUN_BLOCKS,
		    .ahead = AHEAD,
		    .dynamic = true,
		    .idle_us = -1 },
		.sessions_max = 1 };
	c->rate = places_card_bits(place, 1);
	if (c->rate == 0)
		c->rate = RATE_BITS;
	c->engine.rate_bits = c->rate;
}

/* The session takes the source over, also on failure. */
static int
open_session(struct relay *r, const struct place *place, struct source *source,
    struct err *e)
{
	struct serve_config c;

	configure(&c, r, place);
	if (serve_new(&r->serve, &c, e) != 0) {
		source_close(source);
		return -1;
	}
	return serve_add_source(r->serve, place, source, &r->number, e);
}

static int
begin(struct relay *r, const char *where, const struct relay_image *image, struct err *e)
{
	const struct live_config g = { .file = r->path, .name = where };
	struct source_info info = { .chunks = image->chunks,
		.bytes = (uint64_t)image->chunks * SOURCE_CHUNK_BYTES,
		.has_identity = true };
	struct source source;
	struct place *place;

	memcpy(info.identity, image->identity, sizeof info.identity);
	if (open_place(&place, where, e) != 0)
		return -1;
	int rc = live_new(&r->live, &source, &g, e);
	if (rc == 0) {
		live_begin(r->live, &info);
		rc = open_session(r, place, &source, e);
	}
	places_free(place, 1);
	return rc;
}

int
relay_start(struct relay **out, const char *where, const char *file,
    const struct relay_image *image, struct err *e)
{
	struct relay *r = calloc(1, sizeof *r);

	if (r == NULL)
		return err_nomem(e, "a relay");
	r->chunks = r->left = image->chunks;
	r->has = calloc(image->chunks, sizeof *r->has);
	int rc = r->has != NULL ? open_file(r, file, e) : err_nomem(e, "a relay");
	if (rc == 0)
		rc = begin(r, where, image, e);
	if (rc != 0) {
		relay_stop(r);
		return err_ctx(e, "--relay");
	}
	*out = r;
	return 0;
}

int
relay_put(struct relay *r, uint32_t chunk, const void *bytes, struct err *e)
{
	if (chunk >= r->chunks || r->has[chunk])
		return 0;
	if (disk_write(r->disk, bytes, SOURCE_CHUNK_BYTES,
		(uint64_t)chunk * SOURCE_CHUNK_BYTES, e) != 0)
		return -1;
	r->has[chunk] = true;
	live_has(r->live, chunk);
	if (--r->left == 0)
		live_end(r->live, NULL);
	return 0;
}

/* Clients of the base protocol may get all that they lack without a word. */
static uint64_t
busy_us(struct relay *r, uint64_t sent)
{
	struct client_row last;

	if (sent != r->sent)
		r->sent_us = clock_us();
	r->sent = sent;
	bool heard = serve_clients(r->serve, r->number, &last, 1) == 1;
	return heard && last.heard_us > r->sent_us ? last.heard_us : r->sent_us;
}

void
relay_stats(struct relay *r, struct relay_stats *s)
{
	struct serve_stats st;
	struct err ignored;
	uint32_t number;

	*s = (struct relay_stats){ .over = true };
	/* serve_stats() notices the end of a session only after this call. */
	(void)serve_take_ended(r->serve, &number);
	if (serve_stats(r->serve, r->number, &st, &ignored) != 0)
		return;
	s->over = st.state == SESSION_ENDED || st.state == SESSION_FAILED;
	if (st.state == SESSION_FAILED)
		s->err = st.err;
	s->clients = st.clients_known;
	s->done = st.clients_done;
	s->here = st.tally.server.clients;
	s->blocks_sent = st.tally.server.blocks_sent;
	s->bytes_sent = st.tally.server.bytes_sent;
	s->busy_us = busy_us(r, s->blocks_sent);
}

void
relay_stop(struct relay *r)
{
	struct err ignored;

	if (r == NULL)
		return;
	serve_free(r->serve); /* closes the growing source, which removes the file */
	if (r->disk != NULL)
		(void)disk_close(r->disk, &ignored);
	if (r->disk != NULL && r->path != NULL)
		(void)unlink(r->path);
	free(r->path);
	free(r->has);
	free(r);
}
