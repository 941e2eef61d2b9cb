/* rights_impl.h: the two halves of rights_give_up(). */
#ifndef COMMON_BASE_RIGHTS_IMPL_H
#define COMMON_BASE_RIGHTS_IMPL_H

#include "common/base/rights.h"

/* Limits which files can be written, by Landlock.  Returns 0; 1: this system has no
 * Landlock; -1 with ERR_IO. */
int rights_limit_files(const struct rights *, struct err *);
/* Limits which system calls can be made, by seccomp.  Returns 0, or the errno of why there
 * is no filter. */
int rights_limit_calls(void);

#endif /* COMMON_BASE_RIGHTS_IMPL_H */
