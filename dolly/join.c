/* join.c: the command `dolly join`: installs the image that a server or another node
 * sends, and sends it on to other nodes meanwhile.  main.c calls it, in the program's
 * first thread, and dolly_load() does the work there. */
#include <unistd.h>

#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/say.h"
#include "common/cli/cli.h"
#include "common/cli/progress.h"
#include "common/disk/output.h"
#include "dolly/dolly.h"
#include "dolly/load/dolly_load.h"
#include "imageunzip/cli/install_opts.h"

enum {
	WRITE_MB = 16, /* memory of the installation, where the options do not say */
};

struct joining {
	const struct options *o;
	struct progress progress;
};

static void
on_progress(void *arg, uint64_t done, uint64_t total)
{
	struct joining *j = arg;

	progress_total(&j->progress, total);
	progress_at(&j->progress, done);
}

static void
on_warning(void *arg, const char *sentence)
{
	(void)arg;
	cli_warn(sentence);
}

static void
on_sentence(void *arg, const char *sentence)
{
	const struct joining *j = arg;

	if (!j->o->quiet)
		cli_tell(sentence);
}

static int
report_json(const struct options *o, const struct dolly_load_stats *s, FILE *to,
    struct err *e)
{
	struct json *d = json_new();

	json_object(d, NULL);
	json_uint(d, "chunks", s->node.chunks);
	json_uint(d, "bytes_received", s->node.received);
	json_uint(d, "bytes_forwarded", s->node.forwarded);
	json_uint(d, "bytes_written", s->sum.bytes_written);
	json_uint(d, "chunks_damaged", s->node.damaged);
	json_uint(d, "parents", s->node.parents);
	report_encrypted(d, o->key != NULL, &s->encrypted);
	json_end(d);
	return json_show_on(d, to, e);
}

static int
report(const struct options *o, const struct dolly_load_stats *s, FILE *to,
    struct err *e)
{
	if (s->node.alone)
		cli_warn("the server did not come back, so nobody knows whether the "
			 "nodes behind this one are whole");
	if (!o->quiet)
		say_text(stderr,
		    "dolly: %u chunks installed, %llu MB written, %llu MB forwarded\n",
		    s->node.chunks, (unsigned long long)s->sum.bytes_written / 1000000,
		    (unsigned long long)s->node.forwarded / 1000000);
	return o->json ? report_json(o, s, to, e) : 0;
}

static int
check_relay(const struct options *o, struct err *e)
{
	if (o->relay != NULL && (o->install.state != NULL || o->install.only.n > 0))
		return err_misuse(
		    e, "--relay needs all chunks, so --state and --only exclude it");
	return 0;
}

/* Where the image goes, as the options say. */
static struct destination
aim(const struct options *o, const char *name)
{
	struct destination to = { .name = name, .install = o->install };

	install_tells_user(&to.install, o->quiet);
	if (to.install.write_mb == 0)
		to.install.write_mb = WRITE_MB;
	return to;
}

int
command_join(const struct options *o, char **operands, int n, struct err *e)
{
	char name[MSG_TEXT_MAX] = "";
	struct joining j = { .o = o };
	struct destination to = aim(o, operands[1]);
	struct dolly_load_stats s;
	const struct dolly_load_config c = { .server = operands[0],
		.name = name,
		.port = (uint16_t)o->port,
		.key = o->key,
		.patience_us = o->patience_s * 1000000,
		.to = &to,
		.relay = o->relay,
		.relay_file = o->relay_file,
		.progress = on_progress,
		.say = on_sentence,
		.warn = on_warning,
		.arg = &j };

	(void)n;
	(void)gethostname(name, sizeof name - 1);
	if (check_relay(o, e) != 0)
		return -1;
	if (o->relay != NULL)
		log_open("dolly", true, o->quiet ? LOG_LEVEL_WARN : LOG_LEVEL_INFO);
	progress_begin(&j.progress, "dolly", 0, -1, o->quiet);
	int rc = dolly_load(&c, &s, e);
	if (rc == 0) {
		progress_end(&j.progress, s.sum.bytes_covered);
		rc = report(o, &s, output_report(to.name), e);
	}
	lost_free(&to.stats.lost);
	return rc;
}
