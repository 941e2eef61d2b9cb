/* options.c: the table of frisbee's options, and what options mean together.
 * cli_main() reads it in the first thread. */
#include "frisbee/options.h"

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "common/cli/cli_rows.h"
#include "common/cli/image_opts.h"
#include "common/cli/net_opts.h"
#include "common/disk/output.h"
#include "imageunzip/cli/install_opts.h"

enum {
	/* The default is a part of the machine's memory, within these. */
	CHUNK_MB_LEAST = 64,
	CHUNK_MB_MOST = 128,
	CHUNK_MEMORY_PART = 64,
	WRITE_MB_DEFAULT = 64,
	READAHEAD_DEFAULT = 2,
	REDO_MS_DEFAULT = 1000,
	RETRY_S_DEFAULT = 5,
	CHUNK_MB_MAX = 65536,
	EXIT_TIMED_OUT = ETIMEDOUT, /* as the original's */
};

#define CHUNK_MB_BY_MEMORY UINT64_MAX

enum { OPT_JSON = 300, OPT_PROGRESS, OPT_BASE, OPT_STATS, OPT_PATTERN, OPT_DOCTOR, OPT_DRY_RUN,
	OPT_TOKEN, OPT_REPORT, OPT_REPORT_NAMES };

#define AT(field) offsetof(struct opts, field)

static const struct cli_opt own_opts[] = {
	{ 'S', "server", "HOST",
	    "accept blocks only from this address; with -F and -Q: the master server",
	    CLI_STR, AT(server), 0, 0, NULL },
	{ 'F', "image", "NAME",
	    "load the image that the master server (-S) has by this name", CLI_STR,
	    AT(name), 0, 0, NULL },
	{ 'Q', "query", "NAME", "load nothing; ask the master server about this image",
	    CLI_STR, AT(query), 0, 0, NULL },
	UINT('B', "retry", "S", "ask a busy master server again after S seconds (5)",
	    retry_s, 1, 86400),
	{ OPT_TOKEN, "token", "FILE",
	    "with -F and -Q: show the master server that you have this token", CLI_STR,
	    AT(token), 0, 0, NULL },
	FLAG('N', "any-file", "load a file as it is, not an image", any_file),
	FLAG('O', "in-order", "request the chunks in order, not at random", sequential),
	UINT('r', "start-delay", "S", "wait a random time of up to S seconds first",
	    start_delay_s, 0, 86400),
	UINT('R', "readahead", "N", "request N chunks ahead (2)", readahead, 1, 1024),
	UINT('I', "redo", "MS",
	    "request missing blocks again after MS milliseconds (1000)", redo_ms, 1,
	    600000),
	UINT('C', "chunk-mem", "MB",
	    "memory for chunks, in MiB (a 64th of the machine's, 64 to 128; 0: for the "
	    "whole image)",
	    chunk_mb, 0, CHUNK_MB_MAX),
	UINT('M', "memory", "MB", "memory for -C and -W together, in MiB, half for each",
	    both_mb, 4, 2 * CHUNK_MB_MAX),
	UINT('T', "timeout", "S",
	    "give up after S seconds without the server, exit 110", silence_s, 0,
	    86400),
	FLAG(OPT_BASE, "base", "use only the base protocol, which old servers speak",
	    base),
	FLAG(OPT_DOCTOR, "doctor", "load nothing; say why multicast does not arrive",
	    doctor),
	{ OPT_REPORT, "report", "FILE",
	    "with --doctor: write what it finds to this new file, with facts about the "
	    "card and the system",
	    CLI_STR, AT(doctor_report), 0, 0, NULL },
	FLAG(OPT_REPORT_NAMES, "report-names",
	    "with --report: do not hide names and addresses in the file", report_names),
	FLAG(OPT_DRY_RUN, "dry-run",
	    "write nothing; report what would be done, as far as chunk 0 says",
	    dry_run),
	FLAG('q', "quiet", "print neither progress nor a summary", quiet),
	FLAG('d', "debug", "accepted, does nothing", debug),
	FLAG('t', "trace", "accepted, does nothing", debug),
	FLAG(OPT_JSON, "json", "print the statistics, or what --doctor finds, as JSON",
	    json),
	{ OPT_STATS, "stats", "FILE", "write the same statistics to FILE every second",
	    CLI_STR, AT(stats_file), 0, 0, NULL },
	UINT(OPT_PROGRESS, "progress", "FD",
	    "write progress to descriptor FD, as lines \"DONE TOTAL\"", progress_fd, 0,
	    1 << 20),
	{ OPT_PATTERN, "pattern", "N", "fill the free space with this 32-bit number",
	    CLI_CALL, AT(install), 0, 0, install_set_pattern },
	REFUSED('P', "HOST", "not supported: asking a master server for another host"),
	REFUSED(
	    'X', "METHODS", "not supported: a master server's other ways of serving"),
	REFUSED('u', "UUID", "not supported: checking the image's UUID"),
	REFUSED('c', "KEY", "not supported: Emulab's signed images; see --verify-key"),
	REFUSED('e', "KEY", "not supported: Emulab's encrypted images; see --decrypt"),
	REFUSED('U', NULL, "not supported: prefixed output"),
	REFUSED('H', "N", "not supported: heartbeats"),
	{ 0 },
};

static int
exit_status(const void *opts, const struct err *e)
{
	const struct opts *o = opts;

	(void)e;
	return o->gave_up ? EXIT_TIMED_OUT : 0;
}

const struct cli_program frisbee_program = {
	.exit_status = exit_status,
	.report_to = output_report_last,
	.guarded = true,
	.name = "frisbee",
	.synopsis =
	    "[options] -m address -p port target|-  or  -S master -F name target|-",
	.about = "Load an image from frisbeed onto a disk, together with any number of "
		 "other clients.",
	.examples =
	    "  frisbee -m 239.192.1.5 -p 5005 /dev/sda          a whole disk\n"
	    "  frisbee -m 239.192.1.5 -p 5005 -s 2 /dev/sda     into partition 2\n"
	    "  frisbee -m 239.192.1.5 -p 5005 --only 2 /dev/sda only partition 2 of a "
	    "disk\n"
	    "  frisbee -m 239.192.1.5 -p 5005 - | xz > disk.xz  through a pipe\n"
	    "  frisbee -m 239.192.1.5 -p 5005 -N kernel.tar.gz  any file\n"
	    "  frisbee -m 239.192.1.5 -p 5005 --dry-run /dev/sda   check whether it "
	    "could be installed\n"
	    "  frisbee -S boss -F ubuntu24 /dev/sda             an image of the master "
	    "server\n"
	    "  frisbee --unicast -m 10.1.0.1 -p 5005 /dev/sda   from that host, by "
	    "unicast\n"
	    "  frisbee --group-key lab.group -m 239.192.1.5 -p 5005 /dev/sda   "
	    "authenticated\n"
	    "  frisbee -m 239.192.1.5 -p 5005 --doctor          find out what is "
	    "wrong\n"
	    "  frisbee -m 239.192.1.5 -p 5005 --doctor --report lab.txt   ... and write "
	    "it to a file\n",
	.tables = { { net_opts, AT(net), "Network" }, { own_opts, 0, "Loading" },
	    { install_opts, AT(install), "Installing" },
	    { opener_opts, AT(install.opener), "Signature and encryption" } },
};

const struct opts frisbee_defaults = { .chunk_mb = CHUNK_MB_BY_MEMORY,
	.readahead = READAHEAD_DEFAULT,
	.redo_ms = REDO_MS_DEFAULT,
	.retry_s = RETRY_S_DEFAULT,
	.progress_fd = UINT64_MAX,
	.install = { .state_s = INSTALL_STATE_S } };

/* A client may fall behind others with which it shares processors, a switch or a host.
 * With enough buffers it catches up from what it has buffered; with too few, the server
 * sends again, to all clients, what this one had no room for. */
static uint64_t
chunk_mb_by_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
	uint64_t mb = pages > 0 && page_bytes > 0
	                  ? (uint64_t)pages * (uint64_t)page_bytes >> 20
	                  : 0;

	mb /= CHUNK_MEMORY_PART;
	return mb < CHUNK_MB_LEAST  ? CHUNK_MB_LEAST
	       : mb > CHUNK_MB_MOST ? CHUNK_MB_MOST
	                            : mb;
}

int
opts_settle(struct opts *o, struct err *e)
{
	if (o->both_mb != 0)
		o->chunk_mb = o->install.write_mb = o->both_mb / 2;
	if (o->chunk_mb == CHUNK_MB_BY_MEMORY)
		o->chunk_mb = chunk_mb_by_memory();
	if (o->chunk_mb == 0)
		o->chunk_mb = CHUNK_MB_MAX; /* pages are only taken when used */
	if (o->install.write_mb == 0)
		o->install.write_mb = WRITE_MB_DEFAULT;
	return o->any_file ? install_check_raw(&o->install, e) : 0;
}
