/* callfilter.h: a filter of system calls (seccomp), which libseccomp makes and loads.  A call
 * that no rule allows fails with EPERM.  All functions return 0 or an errno: EINVAL or ENOSYS
 * when the system has no such filter. */
#ifndef COMMON_BASE_CALLFILTER_H
#define COMMON_BASE_CALLFILTER_H

#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>

/* Begins a filter that allows these n system calls (SCMP_SYS() numbers).  After an error there
 * is nothing to release. */
int callfilter_begin(scmp_filter_ctx *out, const int *allowed, size_t n);
/* Allows a system call only when its argument number `arg` (from 0) compares with a and b as
 * the enum says (seccomp_rule_add(3)). */
int callfilter_allow_arg(scmp_filter_ctx, int call, unsigned arg, enum scmp_compare,
    uint64_t a, uint64_t b);
/* Loads the filter into this process, unless `rc` is an error of the caller's rules, and
 * releases it in any case.  Returns rc, or what became of the loading. */
int callfilter_load(scmp_filter_ctx, int rc);

#endif /* COMMON_BASE_CALLFILTER_H */
