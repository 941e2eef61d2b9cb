/* calibrate.h: measures this machine for the model of dolly/plan. */
#ifndef DOLLY_CALIBRATE_CALIBRATE_H
#define DOLLY_CALIBRATE_CALIBRATE_H

#include <stdbool.h>
#include <stdint.h>

#include "dolly/plan/network.h"

struct calibrate_config {
	const char
	    *folder; /* where a scratch file is written; it is on the disk to measure */
	double seconds; /* for all measurements together, > 0 */
	const uint8_t
	    *peer;     /* address[4] of a machine on which link_serve() runs, or NULL */
	uint16_t port; /* of the peer */
};

/* Rates are bytes a second. */
struct calibration {
	/* Its name is empty.  The rates of the processor are those of one processor. */
	struct network_machine machine;
	bool direct;         /* the disk was written with O_DIRECT */
	double compression;  /* of the sample that was decompressed: raw bytes for each
	                        byte */
	double decompressed; /* raw bytes of it a second, by one processor */
	double loopback;     /* one TCP stream from this machine to itself */
	double link_out, link_in; /* to the peer, and from it; 0: not measured */
};

/* Measures everything, one thing after the other.  ERR_IO: the folder cannot be
 * written, or the peer does not answer; ERR_NOMEM; ERR_CANCELLED. */
int calibrate_machine(struct calibration *, const struct calibrate_config *, struct err *);

#endif /* DOLLY_CALIBRATE_CALIBRATE_H */
