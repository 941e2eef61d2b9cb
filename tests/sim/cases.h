/* cases.h: the cases of the suite, and what each may cost at most. */
#ifndef TESTS_SIM_CASES_H
#define TESTS_SIM_CASES_H

#include <stddef.h>

#include "tests/sim/world.h"

extern const struct scenario cases[];
extern const size_t cases_count;
/* Cases of cases_bad.c. */
extern const struct scenario bad_cases[];
extern const size_t bad_cases_count;

/* NULL: there is none of that name. */
const struct scenario *cases_find(const char *name);

#endif /* TESTS_SIM_CASES_H */
