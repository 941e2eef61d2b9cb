/* knobs.h: what --set changes in a case, or in servers that share a link. */
#ifndef TESTS_SIM_KNOBS_H
#define TESTS_SIM_KNOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "tests/sim/share.h"
#include "tests/sim/world.h"

/* A changed case is another one: what it may cost is not known. */
void knobs_drop_limits(struct scenario *);
/* KEY=V; `changes`, of cap bytes, collects them as options.  False: not understood. */
bool knobs_change(struct scenario *, const char *setting, char *changes, size_t cap);
bool knobs_change_share(struct share *, const char *setting);
/* The keys of either. */
void knobs_print(FILE *);
void knobs_print_share(FILE *);

#endif /* TESTS_SIM_KNOBS_H */
