/* events.c: streams of server-sent events: each is told of what has changed since it was told
 * last, so that a reader who is slow gets fewer, and newer, objects.  web.c calls this, and
 * libmicrohttpd from MHD_run(), in the program's first thread. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/random_bytes.h"
#include "controller/http/shapes.h"
#include "controller/http/web_impl.h"

enum {
	STREAMS_MAX = 64,
	EVERY_US = 1000000,
	ALIVE_US = 15000000,
	IMAGES_US = 5000000,
	BLOCK_BYTES = 32768,
	UNANSWERED_MS = 60000, /* a reader whose machine is gone is forgotten after this time */
};

struct stream {
	struct guest guest;
	struct events *of;
	struct MHD_Connection *conn;
	bool asleep; /* libmicrohttpd asks again when it is resumed */
	bool greeted;
	uint64_t told, images_told; /* what has changed up to these numbers */
	uint64_t told_us;
	char *out; /* to be sent, from `off` on */
	size_t n, off;
};

struct events {
	struct web *x;
	char epoch[9];
	uint64_t looked_us;
	struct guests *readers;
	unsigned n;
	struct stream *streams[STREAMS_MAX];
};

int
events_new(struct events **out, struct web *x, struct err *e)
{
	const struct guests_limits limits = { STREAMS_MAX, STREAMS_MAX, 0 };
	struct events *v = calloc(1, sizeof *v);
	uint32_t random;

	*out = v;
	if (v == NULL)
		return err_nomem(e, "events");
	random_bytes(&random, sizeof random);
	v->x = x;
	snprintf(v->epoch, sizeof v->epoch, "%08x", random);
	return guests_new(&v->readers, &limits, e);
}

/* Streams that sleep must be awake when libmicrohttpd stops; it frees them then. */
void
events_free(struct events *v)
{
	if (v == NULL)
		return;
	for (unsigned i = 0; i < v->n; i++) {
		struct stream *s = v->streams[i];
		s->of = NULL;
		if (s->asleep)
			MHD_resume_connection(s->conn);
	}
	guests_free(v->readers);
	free(v);
}

static void
forget(struct stream *s)
{
	struct events *v = s->of;
	unsigned i = 0;

	if (v == NULL)
		return;
	while (v->streams[i] != s)
		i++;
	v->streams[i] = v->streams[--v->n];
	guests_go(v->readers, &s->guest);
	s->of = NULL;
}

static void
free_stream(void *arg)
{
	struct stream *s = arg;

	forget(s);
	free(s->out);
	free(s);
}

static ssize_t
read_stream(void *arg, uint64_t pos, char *buf, size_t max)
{
	struct stream *s = arg;
	size_t n = s->n - s->off;
	(void)pos;

	if (s->of == NULL)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (n == 0) {
		s->asleep = true;
		MHD_suspend_connection(s->conn);
		return 0;
	}
	if (n > max)
		n = max;
	memcpy(buf, s->out + s->off, n);
	s->off += n;
	return (ssize_t)n;
}

/* What this reader has seen already, if it was told by this run of the controller. */
static void
go_on(struct stream *s, const char *last)
{
	size_t n = strlen(s->of->epoch);
	unsigned long long told, images;

	if (last != NULL && strncmp(last, s->of->epoch, n) == 0 &&
	    sscanf(last + n, "-%llu-%llu", &told, &images) == 2 && told <= s->of->x->c.w->changed &&
	    images <= s->of->x->c.images->changed) {
		s->told = told;
		s->images_told = images;
	} else if (last == NULL) { /* it asks for the lists */
		s->told = s->of->x->c.w->changed;
		s->images_told = s->of->x->c.images->changed;
	}
}

/* Ends a stream, whose reader may not read.  libmicrohttpd frees it. */
static void
drop(struct stream *s)
{
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(s->conn, MHD_CONNECTION_INFO_CONNECTION_FD);

	forget(s);
	if (info != NULL)
		shutdown(info->connect_fd, SHUT_RDWR);
	if (s->asleep)
		MHD_resume_connection(s->conn);
	s->asleep = false;
}

static void
forget_when_gone(struct MHD_Connection *conn)
{
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(conn, MHD_CONNECTION_INFO_CONNECTION_FD);
	unsigned ms = UNANSWERED_MS;

	if (info != NULL)
		setsockopt(info->connect_fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
}

/* A new stream, for which another one may have to go: one address must not keep the
 * others out.  NULL: none is to be had. */
static struct stream *
new_stream(struct events *v, const uint8_t from[4])
{
	struct stream *s = calloc(1, sizeof *s);
	struct guest *way;

	while ((way = guests_gives_way(v->readers, from)) != NULL)
		drop((struct stream *)way);
	if (s != NULL && guests_come(v->readers, &s->guest, from, 0)) {
		guests_heard(v->readers, &s->guest, 0, UINT64_MAX);
		return s;
	}
	free(s);
	return NULL;
}

enum MHD_Result
events_begin(struct events *v, struct MHD_Connection *conn)
{
	struct err e;
	struct stream *s = new_stream(v, callers_address(conn));

	if (s == NULL) {
		err_set(&e, ERR_REFUSED, "%u others follow the events already", v->n);
		return answer_error(conn, MHD_HTTP_SERVICE_UNAVAILABLE, &e);
	}
	s->of = v;
	s->conn = conn;
	struct MHD_Response *r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_stream, s, free_stream);
	v->streams[v->n++] = s;
	if (r == NULL) {
		free_stream(s);
		return MHD_NO;
	}
	go_on(s, MHD_lookup_connection_value(conn, MHD_HEADER_KIND, "Last-Event-ID"));
	forget_when_gone(conn);
	answer_headers(r, "text/event-stream");
	enum MHD_Result rc = MHD_queue_response(conn, MHD_HTTP_OK, r);
	MHD_destroy_response(r);
	return rc;
}

/* Writes the number up to which this reader has been told of all changes. */
static void
put_id(const struct stream *s, FILE *f)
{
	fprintf(f, "id: %s-%llu-%llu\n", s->of->epoch, (unsigned long long)s->told, (unsigned long long)s->images_told);
}

/* Adds an event with this document, a line.  Others of the same round may follow, so its number is that
 * of the round before: a connection that breaks in between begins with this round again. */
static void
put_text(struct stream *s, FILE *f, const char *event, const char *text)
{
	put_id(s, f);
	fprintf(f, "event: %s\ndata: %s\n", event, text);
}

/* put_text() with a document, which is freed. */
static void
put(struct stream *s, FILE *f, const char *event, struct json *j)
{
	size_t n;
	char *text = json_text(j, &n);

	put_text(s, f, event, text != NULL ? text : "{}\n");
	free(text);
}

static struct json *
line(void)
{
	struct json *j = json_new();

	json_one_line(j);
	return j;
}

static void
put_hello(struct stream *s, FILE *f, struct swap_now now)
{
	struct json *j = line();

	json_object(j, NULL);
	json_string(j, "version", SUITE_VERSION);
	json_uint(j, "time", (uint64_t)now.wall_s);
	json_string(j, "epoch", s->of->epoch);
	json_end(j);
	put(s, f, "hello", j);
}

static void
put_sessions(struct stream *s, FILE *f, struct swap_now now)
{
	const struct swap *w = s->of->x->c.w;

	for (size_t i = 0; i < w->nsessions; i++)
		if (w->sessions[i]->changed > s->told) {
			struct json *j = line();
			shapes_session(j, NULL, w, w->sessions[i], now);
			json_end(j);
			put(s, f, "session", j);
		}
}

static void
put_nodes(struct stream *s, FILE *f)
{
	const struct swap *w = s->of->x->c.w;

	for (size_t i = 0; i < w->nnodes; i++)
		if (w->nodes[i].changed > s->told) {
			struct json *j = line();
			shapes_node(j, NULL, w, &w->nodes[i]);
			put(s, f, "node", j);
		}
}

static void
put_all(struct stream *s, FILE *f, struct swap_now now)
{
	const struct images *images = s->of->x->c.images;
	bool news = s->told < s->of->x->c.w->changed || s->images_told < images->changed;

	if (!s->greeted)
		put_hello(s, f, now);
	s->greeted = true;
	put_sessions(s, f, now);
	put_nodes(s, f);
	if (images->changed > s->images_told)
		put_text(s, f, "images", images->text);
	s->told = s->of->x->c.w->changed;
	s->images_told = images->changed;
	if (news)
		put_id(s, f); /* without data: nothing but the number changes */
	fputs(news ? "\n" : ":\n\n", f);
}

static void
tell(struct stream *s, struct swap_now now)
{
	free(s->out);
	s->out = NULL;
	s->n = s->off = 0;
	FILE *f = open_memstream(&s->out, &s->n);
	if (f == NULL)
		return;
	put_all(s, f, now);
	if (fclose(f) != 0)
		s->n = 0;
	s->told_us = now.us;
	s->asleep = false;
	MHD_resume_connection(s->conn);
}

void
events_tick(struct events *v, struct swap_now now)
{
	if (v->n > 0 && now.us > v->looked_us + IMAGES_US) {
		v->looked_us = now.us;
		(void)v->x->c.ask_images(v->x->c.arg);
	}
	for (unsigned i = 0; i < v->n; i++) {
		struct stream *s = v->streams[i];
		bool news = s->told < v->x->c.w->changed || s->images_told < v->x->c.images->changed;
		uint64_t since = now.us - s->told_us;
		if (s->asleep && (!s->greeted || (news && since >= EVERY_US) || since >= ALIVE_US))
			tell(s, now);
	}
}

void
events_renew(struct events *v)
{
	for (unsigned i = 0; i < v->n; i++)
		v->streams[i]->greeted = false;
}

unsigned
events_count(const struct events *v)
{
	return v->n;
}
