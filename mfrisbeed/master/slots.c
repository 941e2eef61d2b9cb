/* slots.c: one session, from the start of its frisbeed to its end (slots.h).
 * sessions.c calls this, in the master's first thread. */
#include "mfrisbeed/master/slots.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/args.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/wire/addr.h"
#include "mfrisbeed/master/fetched.h"
#include "mfrisbeed/master/loads.h"

enum { SECOND_US = 1000000, PATIENT_TRIES = 1 };

void
slot_group(const struct settings *s, uint32_t index, uint8_t group[4])
{
	uint32_t first;

	memcpy(&first, s->group, sizeof first);
	first = htonl(ntohl(first) + index);
	memcpy(group, &first, sizeof first);
}

uint16_t
slot_port(const struct settings *s, uint32_t index)
{
	return (uint16_t)(s->port_each ? s->port + index : s->port);
}

int
slots_rate_file(const struct sessions *x, char path[PATH_BYTES], struct err *e)
{
	return path_in(path, x->settings->state, "rate", e);
}

static uint32_t
id_of(const struct slot *x)
{
	return (uint32_t)(x - x->of->slots);
}

int
slot_said_file(const struct slot *x, char path[PATH_BYTES], struct err *e)
{
	char name[32];

	snprintf(name, sizeof name, "session-%u.json", id_of(x));
	return path_in(path, x->of->settings->state, name, e);
}

void
slots_clean(const struct sessions *x)
{
	DIR *d = opendir(x->settings->state);
	const struct dirent *f;

	while (d != NULL && (f = readdir(d)) != NULL)
		if (strncmp(f->d_name, "session-", 8) == 0)
			(void)unlinkat(dirfd(d), f->d_name, 0);
	if (d != NULL)
		closedir(d);
}

static bool
is_fetched(const struct slot *x)
{
	return x->entry.at_parent && !fetched_is_whole(&x->entry);
}

static void
add_parent(struct args *a, const struct slot *x)
{
	const struct settings *s = x->of->settings;

	args_add(a, "--parent");
	args_add(a, s->parent.host);
	args_add(a, "--parent-name");
	args_add(a, x->name);
	if (s->parent.token_file[0] != '\0') {
		args_add(a, "--parent-token");
		args_add(a, s->parent.token_file);
	}
	if (s->parent.iface[0] != '\0') {
		args_add(a, "--parent-interface");
		args_add(a, s->parent.iface);
	}
}

static void
add_log(struct args *a, const struct sessions_config *c)
{
	if (c->debug)
		args_add(a, "--debug");
	if (c->quiet)
		args_add(a, "--quiet");
	if (c->syslog)
		args_add(a, "--syslog");
}

/* What all sessions have alike. */
static void
add_common(struct args *a, const struct sessions *x, const char *said, const char *rate,
    uint64_t own_rate)
{
	args_add(a, "--stats");
	args_add(a, said);
	args_addf(a, "--ends-with=%d", (int)starter_pid(x->config.starter));
	args_addf(a, "--unicast-clients=%d", SESSIONS_UNICAST_CLIENTS);
	add_log(a, &x->config);
	if (own_rate != 0) {
		args_addf(a, "--bandwidth=%" PRIu64, own_rate);
		args_add(a, "--dynamic");
		return;
	}
	args_add(a, "--share");
	args_add(a, rate);
	if (x->rate != 0)
		args_addf(a, "--bandwidth=%" PRIu64, x->rate);
}

static void
add_options(struct args *a, const struct slot *x)
{
	const struct sessions_options *o = &x->options;

	args_addf(a, "--timeout=%" PRIu64, slot_is_held(x) ? 0 : x->of->idle_s);
	if (o->wait != 0 && !x->begun)
		args_addf(a, "--wait=%u", o->wait);
	if (o->until != 0)
		args_addf(a, "--until=%u", o->until);
	if (o->group_key[0] != '\0')
		args_addf(a, "--group-key=%s", o->group_key);
	if (o->orders[0] != '\0')
		args_addf(a, "--orders=%s", o->orders);
}

/* Where it is, and what it serves.  The place is part of the operand, so that no name
 * of an image is taken for one. */
static void
add_place(struct args *a, const struct slot *x)
{
	char addr[ADDR_TEXT_MAX];

	if (x->unicast)
		args_add(a, "--unicast");
	else if (x->iface[0] != '\0')
		args_addf(a, "--interface=%s", x->iface);
	if (x->entry.store != NULL)
		args_addf(a, "--store=%s", x->entry.store);
	if (x->entry.inode != 0)
		args_addf(a, "--only-file=%ju:%ju", (uintmax_t)x->entry.device,
		    (uintmax_t)x->entry.inode);
	if (is_fetched(x))
		add_parent(a, x);
	args_add(a, "--");
	args_addf(a, "%s@%s:%u", x->entry.place, addr_text(x->group, addr), x->port);
}

int
slot_begin(struct slot *x, struct err *e)
{
	char said[PATH_BYTES], rate[PATH_BYTES];
	struct args a = { 0 };

	if (slot_said_file(x, said, e) != 0 || slots_rate_file(x->of, rate, e) != 0)
		return -1;
	(void)unlink(said); /* what an earlier process has said */
	x->begin_us = UINT64_MAX;
	x->began_us = clock_us();
	x->noted = 0;
	x->look_us = 0;
	x->err = (struct err){ 0 };
	x->ends = x->renewed = false;
	add_common(&a, x->of, said, rate, x->options.rate);
	add_options(&a, x);
	add_place(&a, x);
	int rc = args_check(&a, e);
	if (rc == 0)
		rc = starter_begin(x->of->config.starter, id_of(x), a.v, e);
	args_free(&a);
	return rc == 0 ? 0 : err_ctx(e, "%s", x->name);
}

/* How long to wait, in seconds: a parent, or a disk, may need time until it can be
 * asked again. */
static unsigned
pause_of(const struct slot *x)
{
	if (is_fetched(x))
		return x->tries;
	return x->tries > PATIENT_TRIES ? x->tries - PATIENT_TRIES : 0;
}

int
slot_start(struct slot *x, struct err *e)
{
	unsigned pause_s = pause_of(x);

	x->state = SESSIONS_STARTING;
	if (pause_s == 0)
		return slot_begin(x, e);
	x->begin_us = clock_us() + pause_s * (uint64_t)SECOND_US;
	return 0;
}

void
slot_look(struct slot *x, bool over, struct session_stats *out)
{
	struct loads l = { .of = x, .over = over, .last = x->noted };
	char path[PATH_BYTES];
	struct err e;

	*out = (struct session_stats){ .serves = false };
	if (slot_said_file(x, path, &e) == 0 && session_stats_read(path, out, loads_note,
	    &l, &e) != 0 &&
	    e.kind != ERR_ABSENT)
		log_warn("%s", e.text);
	x->noted = l.last;
	if (out->clients_known != x->said.clients_known ||
	    out->clients_done != x->said.clients_done ||
	    out->blocks_sent != x->said.blocks_sent || out->rate != x->said.rate)
		x->of->changes++;
	x->said = *out;
	x->begun |= out->blocks_sent > 0;
}

bool
slot_is_held(const struct slot *x)
{
	for (int i = 0; i < SESSIONS_HOLDERS; i++)
		if (x->holder[i][0] != '\0')
			return true;
	return false;
}

bool
slot_has_options(const struct sessions_options *o)
{
	return o->rate != 0 || o->wait != 0 || o->until != 0 || o->group_key[0] != '\0' ||
	       o->orders[0] != '\0';
}

void
slot_started(struct slot *x, const struct session_stats *s)
{
	char addr[ADDR_TEXT_MAX];

	x->of->changes++;
	x->state = SESSIONS_RUNNING;
	x->not_known = false;
	x->port = s->port;
	if (s->bytes != 0) {
		x->entry.bytes = s->bytes;
		x->entry.mtime = s->mtime;
	}
	log_info("image is served name=%s group=%s port=%u pid=%d", x->name,
	    addr_text(x->group, addr), x->port, (int)x->pid);
}

void
slot_clear(struct slot *x)
{
	char path[PATH_BYTES];
	struct err ignored;

	if (x->name != NULL && slot_said_file(x, path, &ignored) == 0)
		(void)unlink(path);
	x->of->changes++;
	free(x->name);
	catalog_entry_free(&x->entry);
	*x = (struct slot){ .of = x->of, .begin_us = UINT64_MAX };
}
