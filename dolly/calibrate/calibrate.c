/* calibrate.c: measures this machine, one thing after the other, and converts what was
 * measured to the rates of the model (calibrate.h).  The command `dolly calibrate`
 * calls it, in the program's first thread. */
#include "dolly/calibrate/calibrate.h"

#include "common/base/pipeline.h"
#include "dolly/calibrate/measure_cpu.h"
#include "dolly/calibrate/measure_disk.h"
#include "dolly/calibrate/measure_tcp.h"

enum {
	SHARES = 6, /* disk, one copy, all copies, digest, decompression, loopback */
	LINK_SHARES = 2,  /* the link gets two, as it has two directions */
	COPIERS_MAX = 16, /* this many processors keep the memory of any machine busy */
	/* A copy crosses the memory bus twice: once to be read, once to be written. */
	CROSSINGS = 2,
};

/* The model counts the copies of a stream by themselves, so their share is taken out of
 * what a whole operation costs.  What remains is at least a tenth: no operation is a
 * copy alone. */
static double
without_copy(double rate, double copy)
{
	double cost = 1 / rate, rest = cost - 1 / copy;

	return 1 / (rest > cost / 10 ? rest : cost / 10);
}

static int
measure_memory(struct calibration *c, double seconds, struct err *e)
{
	struct measured one, all;
	unsigned threads = (unsigned)c->machine.cores;

	if (threads > COPIERS_MAX)
		threads = COPIERS_MAX;
	if (measure_copy(&one, seconds, e) != 0 ||
	    measure_copies(&all, seconds, threads, e) != 0)
		return -1;
	c->machine.copy = measured_cpu_rate(&one);
	c->machine.memory = CROSSINGS * all.bytes / all.wall_s;
	return 0;
}

static int
measure_scratch(
    struct calibration *c, const char *folder, double seconds, struct err *e)
{
	struct measured m;

	if (measure_disk(&m, folder, seconds, &c->direct, e) != 0)
		return -1;
	c->machine.disk = m.bytes / m.wall_s;
	c->machine.scsi = measured_cpu_rate(&m);
	if (!c->direct)
		c->machine.scsi = without_copy(c->machine.scsi, c->machine.copy);
	return 0;
}

static int
measure_processor(struct calibration *c, double seconds, struct err *e)
{
	struct measured digest, unpack, loopback;

	if (measure_digest(&digest, seconds, e) != 0 ||
	    measure_decompress(&unpack, seconds, &c->compression, e) != 0 ||
	    measure_loopback(&loopback, seconds, e) != 0)
		return -1;
	c->machine.digest = measured_cpu_rate(&digest);
	c->decompressed = measured_cpu_rate(&unpack);
	/* The model multiplies the cost of decompression by the compression. */
	c->machine.decompress = c->decompressed * c->compression;
	c->loopback = loopback.bytes / loopback.wall_s;
	c->machine.tcp = without_copy(measured_cpu_rate(&loopback), c->machine.copy);
	return 0;
}

static int
measure_peer(struct calibration *c, const struct calibrate_config *cfg, double seconds,
    struct err *e)
{
	struct measured out, in;

	if (measure_link(&out, &in, cfg->peer, cfg->port, seconds, e) != 0)
		return err_ctx(e, "--with");
	c->link_out = out.bytes / out.wall_s;
	c->link_in = in.bytes / in.wall_s;
	return 0;
}

int
calibrate_machine(struct calibration *c, const struct calibrate_config *cfg, struct err *e)
{
	int shares = SHARES + (cfg->peer != NULL ? LINK_SHARES : 0);
	double seconds = cfg->seconds / shares;

	*c = (struct calibration){ 0 };
	c->machine.cores = (double)pipeline_jobs(0);
	if (cfg->peer != NULL && measure_peer(c, cfg, LINK_SHARES * seconds, e) != 0)
		return -1;
	return measure_memory(c, seconds, e) != 0 ||
	               measure_scratch(c, cfg->folder, seconds, e) != 0
	           ? -1
	           : measure_processor(c, seconds, e);
}
