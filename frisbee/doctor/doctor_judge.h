/* doctor_judge.h: the checks, which say in words what the facts mean and what to do.  Each
 * check is one function, which adds its sentence to the report, or none.  doctor_judge.c has
 * their order, and selects the sentence that is the summary.  There is no I/O.
 */
#ifndef FRISBEE_DOCTOR_DOCTOR_JUDGE_H
#define FRISBEE_DOCTOR_DOCTOR_JUDGE_H

#include "frisbee/doctor/doctor.h"

/* Bytes of the IP packet with a block: the message and the headers of IP and UDP. */
enum { DOCTOR_BLOCK_IP_BYTES = WIRE_BLOCK_PACKET_BYTES + 28 };

/* Adds a check and its sentence, as printf() formats it, to the report. */
void __attribute__((format(printf, 4, 5))) judge_say(struct doctor_report *,
    const char *name, enum doctor_status, const char *fmt, ...);

/* Do packets through the group arrive here? */
bool judge_arrives(const struct doctor_facts *);
/* Do packets that this machine sends to the group reach the server? */
bool judge_reaches(const struct doctor_facts *);
/* Bytes of the IP packet with a block, with the header of authentication if there is one. */
uint32_t judge_block_bytes(const struct doctor_facts *);
/* Did the server answer anything at all? */
bool judge_answers(const struct doctor_facts *);
/* Is the server's address in the network of the interface?  True also when the
 * server is not known. */
bool judge_same_subnet(const struct doctor_facts *);

/* doctor_judge_here.c: checks of this machine */
void judge_interface(const struct doctor_facts *, struct doctor_report *);
void judge_address(const struct doctor_facts *, struct doctor_report *);
void judge_subnet(const struct doctor_facts *, struct doctor_report *);
void judge_sending(const struct doctor_facts *, struct doctor_report *);
void judge_membership(const struct doctor_facts *, struct doctor_report *);
/* doctor_judge_server.c: checks of the server and of its machine */
void judge_server(const struct doctor_facts *, struct doctor_report *);
void judge_authentication(const struct doctor_facts *, struct doctor_report *);
void judge_servers(const struct doctor_facts *, struct doctor_report *);
void judge_source(const struct doctor_facts *, struct doctor_report *);
/* doctor_judge_group.c: checks of the paths between both */
void judge_multicast(const struct doctor_facts *, struct doctor_report *);
void judge_to_server(const struct doctor_facts *, struct doctor_report *);
void judge_direct(const struct doctor_facts *, struct doctor_report *);
void judge_first_port(const struct doctor_facts *, struct doctor_report *);
void judge_second_port(const struct doctor_facts *, struct doctor_report *);
void judge_querier(const struct doctor_facts *, struct doctor_report *);
/* doctor_judge_loss.c: checks of how well packets pass */
void judge_mtu(const struct doctor_facts *, struct doctor_report *);
void judge_routers(const struct doctor_facts *, struct doctor_report *);
void judge_loss(const struct doctor_facts *, struct doctor_report *);
void judge_session(const struct doctor_facts *, struct doctor_report *);
void judge_burst(const struct doctor_facts *, struct doctor_report *);

#endif /* FRISBEE_DOCTOR_DOCTOR_JUDGE_H */
