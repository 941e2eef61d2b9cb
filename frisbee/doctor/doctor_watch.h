/* doctor_watch.h: packets that pass an interface, whether or not a firewall lets programs have
 * them, and what the kernel counts and knows.  Only root may see the packets. */
#ifndef FRISBEE_DOCTOR_DOCTOR_WATCH_H
#define FRISBEE_DOCTOR_DOCTOR_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "frisbee/doctor/doctor.h"

/* Opens a socket that sees the IGMP packets of the interface, and UDP packets to the group. 
 * Returns a descriptor for watch_collect(), which the caller closes; -1: not allowed. */
int watch_open(unsigned ifindex, const uint8_t group[4]);
/* Counts in the facts the packets that have passed since the last call, up to a few thousand:
 * reports_out, query and querier, and at[].seen for ports whose sockets are open.  fd -1: none. */
void watch_collect(int fd, struct doctor_facts *);

/* Packets that rp_filter has dropped since the machine was started; 0 also when unknown. */
uint64_t watch_rpf_drops(void);
/* Packets that came for UDP sockets whose buffers were full, since the machine was started; 0
 * also when unknown. */
uint64_t watch_buffer_drops(void);
/* Packets that the interface itself could not receive, since the machine was started; 0 also
 * when unknown. */
uint64_t watch_iface_drops(const char *iface);
/* Is any program a member of the group on the interface? */
bool watch_is_member(const char *iface, const uint8_t group[4]);

#endif /* FRISBEE_DOCTOR_DOCTOR_WATCH_H */
