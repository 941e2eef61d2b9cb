/* doctor_file.c: writes what the doctor found into a file, with the machine, the system and the
 * card that it was found on.  frisbee/diagnose.c calls it, in the program's only thread. */
#include "frisbee/doctor/doctor_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "common/base/plain.h"
#include "common/net/netif_card.h"
#include "common/net/netif_speed.h"
#include "common/wire/addr.h"
#include "frisbee/doctor/doctor_judge.h"

enum { LINE_BYTES = 1024, MODE = 0644, BLOCK_BYTES = 1024 };

/* The report while it is written. */
struct paper {
	FILE *f;
	bool names; /* nothing is hidden */
};

/* Writes one line, without control characters, which a terminal would obey. */
static void __attribute__((format(printf, 3, 4)))
line(struct paper *p, const char *what, const char *fmt, ...)
{
	char text[LINE_BYTES];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	fprintf(p->f, "%-16s %s\n", what, plain_text(text));
}

/* Writes one line, in which addresses are hidden unless names are wanted. */
static void
masked(struct paper *p, const char *what, const char *text)
{
	char copy[LINE_BYTES];

	snprintf(copy, sizeof copy, "%s", text);
	if (!p->names)
		doctor_mask(copy);
	line(p, what, "%s", copy);
}

static void
heading(struct paper *p, const char *text)
{
	fprintf(p->f, "\n[%s]\n", text);
}

/* The value in the first line of a file that begins with `key`: the rest of the line,
 * without the characters of `separator` at its beginning and one of them at its end.
 * Empty: there is no such line. */
static const char *
value_in(const char *path, const char *key, const char *separator, char out[LINE_BYTES])
{
	FILE *f = fopen(path, "re");
	bool found = false;

	while (f != NULL && !found && fgets(out, LINE_BYTES, f) != NULL)
		found = strncmp(out, key, strlen(key)) == 0;
	if (f != NULL)
		fclose(f);
	if (!found)
		return "";
	out[strcspn(out, "\n")] = '\0';
	char *value = out + strlen(key);
	value += strspn(value, separator);
	size_t n = strlen(value);
	if (n > 0 && strchr(separator, value[n - 1]) != NULL)
		value[n - 1] = '\0';
	return value;
}

static void
write_machine(struct paper *p)
{
	char text[LINE_BYTES], more[LINE_BYTES];
	struct utsname u = { 0 };

	uname(&u);
	heading(p, "machine");
	if (p->names)
		line(p, "host", "%s", u.nodename);
	line(p, "kernel", "%s %s %s", u.sysname, u.release, u.machine);
	line(p, "system", "%s", value_in("/etc/os-release", "PRETTY_NAME", "=\"", text));
	line(p, "made by", "%s, %s", value_in("/sys/class/dmi/id/sys_vendor", "", "", text),
	    value_in("/sys/class/dmi/id/product_name", "", "", more));
	line(p, "processor", "%ld x %s", sysconf(_SC_NPROCESSORS_ONLN),
	    value_in("/proc/cpuinfo", "model name", "\t: ", text));
	line(p, "memory_MB", "%" PRIu64,
	    (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 1000000);
	line(p, "rmem_max_bytes", "%s", value_in("/proc/sys/net/core/rmem_max", "", "", text));
}

static void
write_offloads(struct paper *p, const struct netif_card *c)
{
	for (unsigned i = 0; i < c->noffloads; i++)
		line(p, c->offloads[i].name, "%s", c->offloads[i].on ? "on" : "off");
}

static void
write_card(struct paper *p, const char *iface)
{
	struct netif_card c;

	netif_card(&c, NULL, iface);
	heading(p, "network card");
	line(p, "interface", "%s", iface);
	line(p, "driver", "%s %s", c.driver, c.driver_version);
	line(p, "firmware", "%s", c.firmware);
	line(p, "bus", "%s, vendor %s, device %s", c.bus, c.vendor, c.device);
	masked(p, "address", c.mac);
	line(p, "speed_bits_per_s", "%" PRIu64, netif_speed(NULL, iface));
	line(p, "duplex", "%s", c.duplex);
	line(p, "mtu_bytes", "%" PRIu32, c.mtu_bytes);
	line(p, "rings", "receive %" PRIu32 " of %" PRIu32 ", send %" PRIu32 " of %" PRIu32,
	    c.rx_ring, c.rx_ring_max, c.tx_ring, c.tx_ring_max);
	if (c.pause_known)
		line(p, "pause frames", "receive %s, send %s", c.pause_rx ? "on" : "off",
		    c.pause_tx ? "on" : "off");
	write_offloads(p, &c);
}

static void
write_igmp(struct paper *p, const struct doctor_facts *f)
{
	char a[ADDR_TEXT_MAX];

	heading(p, "multicast");
	line(p, "group", "%s, ports %u and %u", addr_text(f->group, a), f->port, f->second);
	if (!f->watched) {
		line(p, "IGMP", "not seen: only root can");
		return;
	}
	line(p, "IGMP reports", "%u of this machine", f->reports_out);
	if (f->query)
		masked(p, "IGMP querier", addr_text(f->querier, a));
	else
		line(p, "IGMP querier", "none was heard");
}

/* The rate in bits a second of n packets of `bytes` bytes each; 0 if `us` is 0. */
static uint64_t
rate(unsigned n, unsigned bytes, uint64_t us)
{
	return us == 0 ? 0 : (uint64_t)n * bytes * 8 * 1000000 / us;
}

static void
write_loss(struct paper *p, const char *what, const struct doctor_loss *l)
{
	line(p, what,
	    "sent %u in %" PRIu64 " us, heard by the server %u, answered %u, "
	    "came %u in %" PRIu64 " us%s",
	    l->sent, l->sent_us, l->heard, l->answered, l->got, l->got_us,
	    l->dropped_here ? ", a buffer of this machine was full" : "");
}

static void
write_measured(struct paper *p, const struct doctor_facts *f)
{
	heading(p, "loss and rate");
	write_loss(p, "one by one", &f->loss);
	write_loss(p, "short, at once", &f->burst_short);
	write_loss(p, "long, at once", &f->burst);
	/* The first packet begins the time in which the others come. */
	unsigned bytes = judge_block_bytes(f), after = f->burst.got > 1 ? f->burst.got - 1 : 0;
	line(p, "came_bits_per_s", "%" PRIu64 " (long, at once, at %u bytes)",
	    rate(after, bytes, f->burst.got_us), bytes);
	line(p, "largest_bytes", "%" PRIu32 " arrived, of packets of all sizes",
	    f->largest);
	line(p, "session", "%" PRIu32 " of %" PRIu32 " blocks came, %" PRIu64 " bits/s",
	    f->session.heard, f->session.sent,
	    rate(f->session.heard, BLOCK_BYTES, f->session.us));
	line(p, "routers", "%d (-1: not known)", f->hops);
	line(p, "card errors", "%" PRIu64 " during the examination", f->iface_drops);
}

static void
write_checks(struct paper *p, const struct doctor_report *r)
{
	static const char *const words[] = { "ok", "not ok", "unknown" };
	char what[LINE_BYTES];

	heading(p, "checks");
	for (unsigned i = 0; i < r->n; i++) {
		snprintf(what, sizeof what, "%-8s %s", words[r->check[i].status],
		    r->check[i].name);
		masked(p, what, r->check[i].text);
	}
	masked(p, "in short", r->summary);
}

static void
write_all(struct paper *p, const struct doctor_facts *f, const struct doctor_report *r)
{
	char day[LINE_BYTES];
	time_t now = time(NULL);
	struct tm tm;

	strftime(day, sizeof day, "%Y-%m-%d", gmtime_r(&now, &tm));
	fprintf(p->f, "frisbee hardware report, format 1\n");
	line(p, "version", "%s", SUITE_VERSION);
	line(p, "day", "%s", day);
	write_machine(p);
	write_card(p, f->iface);
	write_igmp(p, f);
	write_measured(p, f);
	write_checks(p, r);
}

int
doctor_file_make(const char *path, struct err *e)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, MODE);

	if (fd < 0 && errno == EEXIST)
		return err_set(e, ERR_USAGE,
		    "%s exists already: the report needs a new file", path);
	return fd >= 0 ? fd : err_os(e, "%s: the report cannot be written", path);
}

int
doctor_file_write(int fd, const char *path, const struct doctor_facts *f,
    const struct doctor_report *r, bool names, struct err *e)
{
	struct paper p = { .f = fdopen(fd, "w"), .names = names };

	if (p.f == NULL) {
		int rc = err_os(e, "%s", path);
		close(fd);
		return rc;
	}
	write_all(&p, f, r);
	bool failed = ferror(p.f) != 0;
	if (fclose(p.f) != 0 || failed)
		return err_os(e, "%s: the report is not complete", path);
	return 0;
}
