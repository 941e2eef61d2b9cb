/* web_impl.h: what the files of the web server share. */
#ifndef CONTROLLER_HTTP_WEB_IMPL_H
#define CONTROLLER_HTTP_WEB_IMPL_H

#include <microhttpd.h>

#include "common/base/json.h"
#include "common/net/guests.h"
#include "controller/http/route.h"
#include "controller/http/web.h"

struct events;

struct web {
	struct web_config c;
	struct loop *loop;
	struct watch watch; /* of libmicrohttpd's epoll descriptor, a copy of it */
	struct MHD_Daemon *daemon;
	struct callers *callers;
	struct events *events;
	struct request *waiting; /* for what mfrisbeed says */
	uint16_t port;
};

/* A request, from its first header to its answer. */
struct request {
	struct route route;
	struct MHD_Connection *conn;
	bool authorised;
	size_t n;
	char *body; /* WISH_BYTES_MAX bytes, or NULL */
	uint64_t question; /* which images there are; 0: not asked */
	bool asks;         /* for the nodes of a session that the history has */
	struct jtree *said; /* which these are */
	char why[300];      /* or why nobody says that */
	uint64_t until_us; /* its answer is waited for */
	struct request *next;
};

/* answer.c: answers a whole request.  Returns what libmicrohttpd wants. */
enum MHD_Result answer_request(struct web *, struct request *);
/* Answers with a text, which this frees by free(); a text of NULL says that there was no memory. */
enum MHD_Result answer_text(struct MHD_Connection *, unsigned status, const char *type, char *text,
    size_t bytes);
/* {"error": ..., "kind": ...} */
enum MHD_Result answer_error(struct MHD_Connection *, unsigned status, const struct err *);
/* The headers that each answer has. */
void answer_headers(struct MHD_Response *, const char *type);

/* events.c: the streams of events. */
int events_new(struct events **, struct web *, struct err *);
void events_free(struct events *);
enum MHD_Result events_begin(struct events *, struct MHD_Connection *);
/* Tells each stream what has changed, once a second. */
void events_tick(struct events *, struct swap_now);
/* Greet each reader anew, after which it asks for the lists. */
void events_renew(struct events *);
unsigned events_count(const struct events *);

/* metrics.c: the text for Prometheus.  NULL: no memory. */
char *metrics_text(struct web *, size_t *bytes);

/* callers.c: who may keep a connection.  CALLERS_MAX: connections that have a place;
 * those that were shut down are open until libmicrohttpd sees it, so it has a higher
 * limit. */
enum { CALLERS_MAX = 1000 };
int callers_new(struct callers **, struct loop *, struct err *);
void callers_free(struct callers *);
/* A connection has come: makes room for it, or shuts it down.  Returns its socket
 * context; NULL: it is shut down, since there is no memory. */
struct http_caller *callers_come(struct callers *, struct MHD_Connection *);
/* A request was answered, and another one may come; or, endless: this one has no end. */
void callers_heard(struct callers *, struct MHD_Connection *, bool endless);
/* The connection ends; its socket context is freed. */
void callers_go(struct callers *, struct http_caller *);
/* Where it comes from. */
const uint8_t *callers_address(struct MHD_Connection *);

#endif /* CONTROLLER_HTTP_WEB_IMPL_H */
