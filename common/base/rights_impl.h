/* rights_impl.h: the two halves of rights_give_up(). */
#ifndef COMMON_BASE_RIGHTS_IMPL_H
#define COMMON_BASE_RIGHTS_IMPL_H

#include "common/base/rights.h"

/* Files, by Landlock.  1: this system has it not. */
int rights_limit_files(const struct rights *, struct err *);
/* System calls, by seccomp: 0, or the errno of why there is no filter. */
int rights_limit_calls(void);

#endif /* COMMON_BASE_RIGHTS_IMPL_H */
