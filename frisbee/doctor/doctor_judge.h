/* doctor_judge.h: what the facts mean, in words, and what to do.  One function a check, in
 * families; doctor_judge.c has their order, and picks the sentence that sums it up.  No I/O.
 */
#ifndef FRISBEE_DOCTOR_DOCTOR_JUDGE_H
#define FRISBEE_DOCTOR_DOCTOR_JUDGE_H

#include "frisbee/doctor/doctor.h"

enum { DOCTOR_BLOCK_IP_BYTES = WIRE_BLOCK_PACKET_BYTES + 28 };

void __attribute__((format(printf, 4, 5))) judge_say(struct doctor_report *,
    const char *name, enum doctor_status, const char *fmt, ...);

/* Packets through the group arrive here. */
bool judge_arrives(const struct doctor_facts *);
/* What we send to the group reaches the server. */
bool judge_reaches(const struct doctor_facts *);
/* Bytes of IP of a packet with a block. */
uint32_t judge_block_bytes(const struct doctor_facts *);
/* It answered anything at all. */
bool judge_answers(const struct doctor_facts *);
/* Is the server's address in the network of the interface?  True also when not known. */
bool judge_same_subnet(const struct doctor_facts *);

/* doctor_judge_here.c: this machine */
void judge_interface(const struct doctor_facts *, struct doctor_report *);
void judge_address(const struct doctor_facts *, struct doctor_report *);
void judge_subnet(const struct doctor_facts *, struct doctor_report *);
void judge_sending(const struct doctor_facts *, struct doctor_report *);
void judge_membership(const struct doctor_facts *, struct doctor_report *);
/* doctor_judge_server.c: the server, and its machine */
void judge_server(const struct doctor_facts *, struct doctor_report *);
void judge_authentication(const struct doctor_facts *, struct doctor_report *);
void judge_servers(const struct doctor_facts *, struct doctor_report *);
void judge_source(const struct doctor_facts *, struct doctor_report *);
/* doctor_judge_group.c: the ways between */
void judge_multicast(const struct doctor_facts *, struct doctor_report *);
void judge_to_server(const struct doctor_facts *, struct doctor_report *);
void judge_direct(const struct doctor_facts *, struct doctor_report *);
void judge_second_port(const struct doctor_facts *, struct doctor_report *);
void judge_querier(const struct doctor_facts *, struct doctor_report *);
/* doctor_judge_loss.c: how well packets pass */
void judge_mtu(const struct doctor_facts *, struct doctor_report *);
void judge_routers(const struct doctor_facts *, struct doctor_report *);
void judge_loss(const struct doctor_facts *, struct doctor_report *);
void judge_session(const struct doctor_facts *, struct doctor_report *);
void judge_burst(const struct doctor_facts *, struct doctor_report *);

#endif /* FRISBEE_DOCTOR_DOCTOR_JUDGE_H */
