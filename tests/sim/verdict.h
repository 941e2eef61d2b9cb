/* verdict.h: what came of a run of a case: a line of the table, and whether it cost
 * more than it may.  alone_us: what one client takes alone. */
#ifndef TESTS_SIM_VERDICT_H
#define TESTS_SIM_VERDICT_H

#include "tests/sim/world.h"

void verdict_print_head(void);
void verdict_print(const struct scenario *, const struct outcome *, uint64_t alone_us);
/* Says in failed[] which limit was broken. */
void verdict_check(const struct scenario *, struct outcome *, uint64_t alone_us);

/* Of a case with bad clients or strangers, beside the same without them. */
void verdict_print_bad(
    const struct scenario *, const struct outcome *, const struct outcome *without);
void verdict_check_bad(
    const struct scenario *, struct outcome *, const struct outcome *without);

/* Of a case with a relay, beside two loads in sequence. */
void verdict_print_relay(
    const struct scenario *, const struct outcome *, const struct outcome *sequence);
void verdict_check_relay(
    const struct scenario *, struct outcome *, const struct outcome *sequence);

/* Of a case with readers, beside the same where nobody reads. */
void verdict_print_readers(
    const struct scenario *, const struct outcome *, const struct outcome *idle);
void verdict_check_readers(
    const struct scenario *, struct outcome *, const struct outcome *idle);

#endif /* TESTS_SIM_VERDICT_H */
