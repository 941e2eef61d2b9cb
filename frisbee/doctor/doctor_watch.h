/* doctor_watch.h: what passes an interface, whether or not a firewall lets programs
 * have it, and what the kernel counts and knows.  The first needs root. */
#ifndef FRISBEE_DOCTOR_DOCTOR_WATCH_H
#define FRISBEE_DOCTOR_DOCTOR_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "frisbee/doctor/doctor.h"

/* A descriptor to be given to the other functions, or -1: not allowed. */
int watch_open(unsigned ifindex, const uint8_t group[4]);
/* Count what has passed: reports_out, query and who asked, and what was seen at ports whose
 * sockets are open. */
void watch_collect(int fd, struct doctor_facts *);

/* Packets that rp_filter has dropped since the machine began; 0 also when unknown. */
uint64_t watch_rpf_drops(void);
/* Packets that came for sockets whose buffers were full, since then; 0 also when unknown. */
uint64_t watch_buffer_drops(void);
/* Packets that the interface itself could not take, since then; 0 also when unknown. */
uint64_t watch_iface_drops(const char *iface);
/* Is any program a member of the group on the interface? */
bool watch_is_member(const char *iface, const uint8_t group[4]);

#endif /* FRISBEE_DOCTOR_DOCTOR_WATCH_H */
