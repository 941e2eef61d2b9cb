/* main.c: mfrisbeed, the server that clients ask for images by name.  This file has the options,
 * the signals and the log; mfrisbeed/master has the rest.  It runs in the program's first
 * thread. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/openfiles.h"
#include "common/base/path.h"
#include "common/base/rights.h"
#include "common/base/say.h"
#include "common/base/starter.h"
#include "common/cli/cli.h"
#include "common/cli/cli_guard.h"
#include "common/net/sock.h"
#include "common/wire/master.h"
#include "emustore/store/written.h"
#include "mfrisbeed/master/history.h"
#include "mfrisbeed/master/local.h"
#include "mfrisbeed/master/master.h"

struct opts {
	const char *config, *addr, *user, *local;
	uint64_t port;
	bool only_local, check, report, json, debug, quiet, syslog;
};

#define AT(field) offsetof(struct opts, field)

static const struct cli_opt own_opts[] = {
	{ 'c', "config", "FILE", "the configuration file (required)", CLI_STR,
	    AT(config), 0, 0, NULL },
	{ 'p', "port", "PORT", "listen on this TCP port (64494); 0: any", CLI_UINT,
	    AT(port), 0, UINT16_MAX, NULL },
	{ 'i', "address", "ADDR", "listen only on this address of this host", CLI_STR,
	    AT(addr), 0, 0, NULL },
	{ 304, "user", "NAME", "become this user before anything is served", CLI_STR,
	    AT(user), 0, 0, NULL },
	{ 305, "local", "PATH", "let programs of this host say what to serve, by this socket",
	    CLI_STR, AT(local), 0, 0, NULL },
	{ 306, "only-local", NULL, "with --local: hear nobody else", CLI_FLAG, AT(only_local), 0, 0, NULL },
	{ 300, "check", NULL, "check the configuration, and exit", CLI_FLAG, AT(check),
	    0, 0, NULL },
	{ 302, "report", NULL,
	    "print what was loaded and uploaded, and what failed, with --json also by whom, and exit", CLI_FLAG,
	    AT(report), 0, 0, NULL },
	{ 303, "json", NULL, "print the report, or a failure, as JSON", CLI_FLAG, AT(json), 0, 0,
	    NULL },
	{ 'd', "debug", NULL, "log more", CLI_FLAG, AT(debug), 0, 0, NULL },
	{ 'q', "quiet", NULL, "log only what went wrong", CLI_FLAG, AT(quiet), 0, 0,
	    NULL },
	{ 301, "syslog", NULL, "log to syslog instead of stderr", CLI_FLAG, AT(syslog),
	    0, 0, NULL },
	{ 0 },
};

static const struct cli_program prog = {
	.name = "mfrisbeed",
	.port = "-p",
	.synopsis = "[options] -c FILE",
	.about =
	    "Serve images to clients that ask for them by name: a session for an image "
	    "begins when\na client asks for it, and ends when no client needs it.",
	.examples = "  mfrisbeed -c /etc/mfrisbeed.conf\n"
		    "  mfrisbeed --check -c /etc/mfrisbeed.conf\n"
		    "  mfrisbeed --report -c /etc/mfrisbeed.conf   what was loaded\n\n"
		    "A whole configuration:\n\n"
		    "  image ubuntu24 /srv/images/ubuntu24.ndz\n"
		    "  group 239.192.1.1\n"
		    "  allow 10.1.0.0/16\n",
	.tables = { { own_opts, 0, NULL } },
	.ignores_hangup = true,
	.gives_up_rights = true,
};

static struct master *running;

static void
on_hangup(int signal)
{
	(void)signal;
	master_reload(running);
}

/* Sessions cannot begin without an interface; this machine may still get one. */
static void
check_interface(const struct opts *o, const struct settings *s)
{
	struct sock_config c = { .iface = s->iface[0] != '\0' ? s->iface : NULL };
	char text[NETIF_FILTERED_MAX];
	struct netif n;
	struct err e;

	memcpy(c.addr, s->group, sizeof c.addr);
	if (s->group[0] == 0)
		return; /* the file names no group */
	if (sock_interface(&n, &c, &e) != 0)
		say_text(stderr, "mfrisbeed: warning: %s: sessions: %s\n", o->config, e.text);
	else if (netif_filtered(&n, "requests", text))
		say_text(stderr, "mfrisbeed: warning: %s: sessions: %s\n", o->config, text);
}

/* A client that asks for a file that is not there is told that there is no such image; it may still
 * come. */
static void
check_images(const struct opts *o, const struct settings *s)
{
	for (size_t i = 0; i < s->nimages; i++)
		if (!s->images[i].in_store && access(s->images[i].place, R_OK) != 0)
			say_text(stderr, "mfrisbeed: warning: %s: image %s: %s: %s\n", o->config,
			    s->images[i].name, s->images[i].place, strerror(errno));
}

/* Reads the settings, and finds the tokens that they name. */
static int
read_all(const struct opts *o, struct settings *s, struct err *e)
{
	if (settings_read(s, o->config, e) != 0)
		return -1;
	return settings_tokens(s, e) == 0 ? 0 : err_ctx(e, "%s", o->config);
}

static int
check(const struct opts *o, struct err *e)
{
	struct settings s;
	int rc = read_all(o, &s, e);

	if (rc == 0) {
		check_images(o, &s);
		check_interface(o, &s);
	}
	if (rc == 0 && !o->quiet)
		say_text(stdout, "%s: %zu images, %zu access rules\n", o->config, s.nimages,
		    s.nrules);
	settings_free(&s);
	return rc;
}

static int
report(const struct opts *o, struct err *e)
{
	struct settings s;
	int rc = settings_read(&s, o->config, e);

	if (rc == 0)
		rc = history_report(s.state, o->json, e);
	settings_free(&s);
	return rc;
}

/* Gives up the rights that serving does not need, when the starter of the sessions, which needs
 * them, has begun.  From now on the program can write only to the
 * folders that the settings name. */
static int
give_up(const struct opts *o, const struct settings *s, struct master_config *c,
    struct err *e)
{
	const char *paths[SETTINGS_WRITTEN_MAX], *without;
	char cache[STORE_CACHE_FOLDER_BYTES], lock[PATH_BYTES];
	struct rights rights = { .n = 0 };

	if (rights_give_folder(o->user, s->state, e) != 0 ||
	    (o->user != NULL && rights_become(o->user, e) != 0) ||
	    path_in(lock, s->state, "starter", e) != 0 ||
	    starter_new(&c->starter, "frisbeed", lock, e) != 0 ||
	    (o->local != NULL && (c->local_fd = local_listen(o->local, e)) < 0))
		return -1;
	settings_written(s, paths);
	for (int i = 0; i < SETTINGS_WRITTEN_MAX; i++)
		rights_may_write(&rights, paths[i]);
	if (s->store != NULL)
		store_written(s->store, &rights, cache);
	if (rights_give_up(&rights, &without, e) != 0)
		return -1;
	cli_guard_start();
	if (without != NULL)
		log_warn("%s", without);
	return 0;
}

static int
prepare(const struct opts *o, struct master_config *c, struct err *e)
{
	struct settings s;
	int rc = read_all(o, &s, e);

	if (rc == 0)
		rc = give_up(o, &s, c, e);
	settings_free(&s);
	return rc;
}

static int
serve(const struct opts *o, struct err *e)
{
	struct master_config c = { .file = o->config,
		.addr = o->addr,
		.port = (uint16_t)o->port,
		.local = o->local,
		.only_local = o->only_local,
		.debug = o->debug,
		.quiet = o->quiet,
		.syslog = o->syslog };
	struct sigaction hangup = { .sa_handler = on_hangup };

	openfiles_allow(UINT64_MAX);
	if (prepare(o, &c, e) != 0) {
		starter_leave(c.starter);
		return -1;
	}
	if (master_new(&running, &c, e) != 0)
		return -1;
	sigaction(SIGHUP, &hangup, NULL);
	if (!o->only_local)
		log_info("listens port=%u", master_port(running));
	int rc = master_run(running, e);
	hangup.sa_handler = SIG_IGN;
	sigaction(SIGHUP, &hangup, NULL);
	master_free(running);
	return rc;
}

static int
act(void *opts, char **operands, int n, struct err *e)
{
	const struct opts *o = opts;

	(void)operands;
	if (n != 0)
		return err_misuse(e, "mfrisbeed takes no operands");
	if (o->config == NULL)
		return err_misuse(e, "a configuration file is needed (-c)");
	if (o->only_local && o->local == NULL)
		return err_misuse(e, "--only-local is for --local");
	if (o->check)
		return check(o, e);
	if (o->report)
		return report(o, e);
	log_open("mfrisbeed", !o->syslog,
	    o->quiet   ? LOG_LEVEL_WARN
	    : o->debug ? LOG_LEVEL_DEBUG
		       : LOG_LEVEL_INFO);
	return serve(o, e);
}

int
main(int argc, char **argv)
{
	struct opts o = { .port = MASTER_PORT };

	return cli_main(&prog, argc, argv, &o, act);
}
