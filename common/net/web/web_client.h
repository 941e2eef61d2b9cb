/* web_client.h: requests to web servers by HTTP, several at the same time, for web
 * servers as sources, buckets, the keys of a machine's role, and the controller.
 *
 * Answers are not believed: head and body have limits, and a part of a file must be the
 * part that was asked for.  A failure that may pass (a connection that breaks or is
 * silent, 5xx, 429, 408) is tried again (retry.h), until no byte has moved for a time
 * that the caller sets, in all tries together, or too many have failed.  A line on
 * which 1000 bytes a second move may take as long as it needs.  Servers are reached by
 * IPv4 and IPv6. */
#ifndef COMMON_NET_WEB_WEB_CLIENT_H
#define COMMON_NET_WEB_WEB_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/retry.h"
#include "common/net/curl_lib.h"
#include "common/net/web/web_answer.h"

enum { WEB_ERROR_BYTES_MAX = 16 << 10 }; /* limit of an answer that is not a success */

struct web_client;
struct web_call;

struct web_client_config {
	const char *agent;   /* says to servers who asks */
	unsigned redirects;  /* how many are followed, from https to https alone */
	unsigned tries;      /* at most, of one call; 0: 30 */
	unsigned connect_seconds; /* for one try to connect, at most; 0: 10 */
	bool direct;         /* no proxy is asked */
	/* Called before each try, in the thread of web_perform(): sets the options of
	 * curl that are special, and the lines of the head, by web_header().  -1: out of
	 * memory.  NULL: nothing is special. */
	int (*dress)(void *owner, struct web_call *, CURL *);
	void *owner;
	/* Writes what the body of an answer says that is an error, as a part of a
	 * sentence, into out[cap]; it may be "".  NULL: bodies say nothing. */
	void (*explain)(const void *body, size_t bytes, char *out, size_t cap);
};

/* One request, and the result of its last try. */
struct web_call {
	const char *name; /* of what is asked for, in messages */
	const char *url;
	const char *method; /* NULL: GET */
	const void *body;   /* NULL: there is none */
	size_t body_bytes;
	/* Of a part of a file: it begins at byte `from`, has exactly `bytes` bytes, and
	 * goes to to[bytes].  Without `to`, the answer goes to `got`, and has `bytes`
	 * bytes at most. */
	uint8_t *to;
	uint64_t from;
	size_t bytes;
	struct retry retry; /* .seconds: without a moving byte, in all tries */
	bool doubtful;  /* its name may be wrong: one try to find the server is enough */
	/* The answer.  got: also the body of an error; the caller frees it. */
	struct web_answer answer;
	struct buf got;
	bool too_long; /* there was more than was asked for, or a head without end */
	CURLcode code;
	/* What follows is web_perform()'s. */
	CURL *easy; /* the running try; NULL: none */
	struct curl_slist *headers;
	size_t sent, filled, head_bytes;
	bool done, moved;
	uint64_t moved_at_us; /* when a byte has moved last, or else when the try began */
};

/* Get ready for calls; the texts are borrowed.  ERR_ABSENT: libcurl is not there. */
int web_client_open(struct web_client **, const struct web_client_config *, struct err *);
/* NULL is allowed.  No thread may use it any more. */
void web_client_close(struct web_client *);
/* Make n calls, eight at a time.  Returns NULL when all have succeeded (2xx); else a call
 * that has failed, and others may not have been made.  ERR_IO: the server cannot be
 * reached, or refuses; e->os is ENOENT if it has no such thing.  ERR_FORMAT: the answer
 * is too long, or not the part that was asked for.  ERR_CANCELLED, ERR_NOMEM.  From any
 * thread. */
struct web_call *web_perform(
    struct web_client *, struct web_call *, size_t n, struct err *);
/* Has the last try reached no server? */
bool web_is_unreached(const struct web_call *);
/* Add a line to the head of the try that begins: for dress().  -1: out of memory. */
int web_header(struct web_call *, const char *line);

#endif /* COMMON_NET_WEB_WEB_CLIENT_H */
