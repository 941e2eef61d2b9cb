/* byname.c: asks a master server for an image by its name.  main.c calls it, in the
 * program's first thread, before the load. */
#include "frisbee/byname.h"

#include <inttypes.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/say.h"
#include "common/base/timed.h"
#include "common/net/ask.h"
#include "common/wire/addr.h"

static int
refusal(const struct opts *o, const char *name, uint16_t error, struct err *e)
{
	return err_set(e, error == MASTER_NO_IMAGE ? ERR_ABSENT : ERR_REFUSED,
	    "%s: master server %s %s", name, o->server, master_error_text(error));
}

static int
ask(const struct opts *o, const char *name, bool status_only, struct master_get_reply *r,
    struct err *e)
{
	struct master_get m = { .methods = o->net.unicast ? MASTER_UNICAST : MASTER_MULTICAST,
		.status_only = status_only };

	if (o->server == NULL)
		return err_misuse(e, "-S names the master server that knows %s", name);
	if (name[0] == '\0' || strlen(name) > MASTER_NAME_MAX)
		return err_set(e, ERR_USAGE, "\"%.40s\": a name has 1 to %d bytes", name,
		    MASTER_NAME_MAX);
	strcpy(m.name, name);
	if (o->token == NULL)
		return ask_get(o->server, &m, NULL, r, e);
	uint8_t token[MASTER_TOKEN_BYTES];
	int rc = ask_read_token(o->token, token, e);
	if (rc == 0)
		rc = ask_get(o->server, &m, token, r, e);
	OPENSSL_cleanse(token, sizeof token);
	return rc;
}

static int
pause_for(uint64_t seconds, struct err *e)
{
	timed_pause(clock_us() + seconds * 1000000);
	return cancel_check(e);
}

/* Sets group, port and server of the options to those of the reply. */
static void
take_place(struct opts *o, const struct master_get_reply *r)
{
	addr_text(r->addr, o->found.addr);
	addr_text(r->server, o->found.server);
	snprintf(o->found.port, sizeof o->found.port, "%u", r->port);
	o->net.addr = o->found.addr;
	o->net.port = o->found.port;
	o->server = o->found.server;
}

int
byname_find(struct opts *o, struct err *e)
{
	struct master_get_reply r;

	for (;;) {
		if (ask(o, o->name, false, &r, e) != 0)
			return -1;
		if (r.error != MASTER_TRY_AGAIN)
			break;
		if (!o->quiet)
			say_text(stderr, "frisbee: %s: master server %s %s\n", o->name,
			    o->server, master_error_text(r.error));
		if (pause_for(o->retry_s, e) != 0)
			return -1;
	}
	if (r.error != MASTER_OK)
		return refusal(o, o->name, r.error, e);
	if (ask_check_place(&r, o->net.unicast ? MASTER_UNICAST : MASTER_MULTICAST, e) != 0)
		return err_ctx(e, "%s: the answer of master server %s", o->name, o->server);
	take_place(o, &r);
	return 0;
}

static void
print(const char *name, const struct master_get_reply *r)
{
	char addr[ADDR_TEXT_MAX];

	if (r->running)
		say_text(stdout, "%s: %" PRIu64 " bytes, is served at %s, port %u\n", name,
		    r->bytes, addr_text(r->addr, addr), r->port);
	else
		say_text(stdout, "%s: %" PRIu64 " bytes, is not served now\n", name, r->bytes);
}

static int
print_json(const char *name, const struct master_get_reply *r, struct err *e)
{
	struct json *j = json_new();
	char addr[ADDR_TEXT_MAX];

	json_object(j, NULL);
	json_string(j, "name", name);
	json_uint(j, "image_bytes", r->bytes);
	json_bool(j, "session_running", r->running);
	if (r->running) {
		json_string(j, "address", addr_text(r->addr, addr));
		json_uint(j, "port", r->port);
	}
	json_end(j);
	return json_show(j, e);
}

int
byname_report(const struct opts *o, struct err *e)
{
	struct master_get_reply r;

	if (ask(o, o->query, true, &r, e) != 0)
		return -1;
	if (r.error != MASTER_OK)
		return refusal(o, o->query, r.error, e);
	if (o->json)
		return print_json(o->query, &r, e);
	print(o->query, &r);
	return 0;
}
