/* budget.h: divides one rate among all streams, by max-min fairness.
 *
 * Each member says now and then how much it has sent, and is told how fast it may go
 * from now on.  A member that does not use its share leaves it to the others.  The
 * shares in use never add up to more than the whole rate: a member gets more only of
 * what others have given back.  The exception is SHARE_LEAST_BITS, without which no
 * member could begin.  A member that asks every 50 ms has its share 0.1 s after it
 * began to send.  Any thread may call these functions.
 *
 * Members may be in several processes: the budget is then in a file that each of them
 * maps. A process that is killed leaves its members behind, until another one says so; members that
 * have not asked for 2 s have no share until they do. */
#ifndef FRISBEED_SERVE_BUDGET_H
#define FRISBEED_SERVE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/err.h"

struct budget;

/* Bits a second that each member may always send. */
enum { SHARE_LEAST_BITS = 20000 };

/* Makes a budget of this rate for at most members_max members.  NULL: no memory. */
struct budget *budget_new(uint64_t bits_per_s, unsigned members_max);
/* budget_new() in a file, which is made anew.  ERR_IO; ERR_NOMEM. */
int budget_make(struct budget **, const char *file, uint64_t bits_per_s, unsigned members_max,
    struct err *);
/* Opens the budget that another process has made.  ERR_FORMAT: the file has none; ERR_IO;
 * ERR_NOMEM. */
int budget_open(struct budget **, const char *file, struct err *);
/* Removes all members of a process that has ended. */
void budget_forget(struct budget *, pid_t);
/* Releases the budget; a file stays, for the others.  NULL is allowed. */
void budget_free(struct budget *);
/* Adds a member, and returns its number for the other calls; -1: there are members_max
 * already. */
int budget_enter(struct budget *, uint64_t now_us);
/* Removes a member; its share is free for others. */
void budget_leave(struct budget *, int member);
/* The member has sent sent_bits bits since it entered.  Returns its rate from now on,
 * in bits a second. */
uint64_t budget_share(struct budget *, int member, uint64_t now_us, uint64_t sent_bits);
/* An equal part of the rate at which all members have sent lately, in bits a second: a
 * rate that the network has carried. */
uint64_t budget_carried(struct budget *, int member);

#endif /* FRISBEED_SERVE_BUDGET_H */
