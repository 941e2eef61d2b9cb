/* verdict.h: prints the outcome of a run as a line of the table, and checks it against
 * the limits of its case.  alone_us: how long one client takes that is alone, in
 * microseconds. */
#ifndef TESTS_SIM_VERDICT_H
#define TESTS_SIM_VERDICT_H

#include "tests/sim/world.h"

/* Prints the headings of the table. */
void verdict_print_head(void);
void verdict_print(const struct scenario *, const struct outcome *, uint64_t alone_us);
/* Writes into failed[] of the outcome which limit was exceeded. */
void verdict_check(const struct scenario *, struct outcome *, uint64_t alone_us);

/* The same for a case with bad clients or strangers, which is compared with a run
 * without them. */
void verdict_print_bad(
    const struct scenario *, const struct outcome *, const struct outcome *without);
void verdict_check_bad(
    const struct scenario *, struct outcome *, const struct outcome *without);

/* The same for a case with a relay, which is compared with two loads in sequence. */
void verdict_print_relay(
    const struct scenario *, const struct outcome *, const struct outcome *sequence);
void verdict_check_relay(
    const struct scenario *, struct outcome *, const struct outcome *sequence);

/* Of a case whose rate adapts, beside the same at the best fixed rate. */
void verdict_print_rate(
    const struct scenario *, const struct outcome *, const struct outcome *best);
void verdict_check_rate(
    const struct scenario *, struct outcome *, const struct outcome *best);

/* The same for a case with readers, which is compared with a run in which nobody reads.
 */
void verdict_print_readers(
    const struct scenario *, const struct outcome *, const struct outcome *idle);
void verdict_check_readers(
    const struct scenario *, struct outcome *, const struct outcome *idle);

/* The same for machines that start by reads while their disks come: beside one such machine alone,
 * and beside loads without reads. */
void verdict_print_boots(const struct scenario *, const struct outcome *,
    const struct outcome *alone, const struct outcome *loads);
void verdict_check_boots(const struct scenario *, struct outcome *, const struct outcome *alone,
    const struct outcome *loads);

#endif /* TESTS_SIM_VERDICT_H */
