/* dials.h: when a node may dial an address: at once, and then after 1, 2, 4 to 30
 * seconds, as long as nothing comes from there; and at most 16 addresses in a minute.  So
 * a server that lies cannot make its nodes dial others faster than that.  Used by one
 * thread. */
#ifndef DOLLY_ENGINE_DIALS_H
#define DOLLY_ENGINE_DIALS_H

#include <stdint.h>

enum { DIALS_ADDRESSES = 16 };

struct dial {
	uint8_t address[4];
	uint16_t port;
	uint64_t last_us; /* when it was dialled; 0: the entry is free */
	uint64_t wait_us; /* from then on */
};

/* All zeros: nobody was dialled. */
struct dials {
	struct dial dials[DIALS_ADDRESSES];
};

/* The time at which this address may be dialled: now_us or later. */
uint64_t dials_when(
    const struct dials *, const uint8_t address[4], uint16_t port, uint64_t now_us);
/* It is dialled now, which dials_when() has allowed. */
void dials_made(struct dials *, const uint8_t address[4], uint16_t port, uint64_t now_us);
/* Something has come from there: the next time it is dialled at once. */
void dials_good(struct dials *, const uint8_t address[4], uint16_t port);
/* The wait after one of `us`: of 0 the shortest one. */
uint64_t dials_longer(uint64_t us);

#endif /* DOLLY_ENGINE_DIALS_H */
