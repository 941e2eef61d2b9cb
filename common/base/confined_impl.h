/* confined_impl.h: what confined.c, confined_child.c and confined_filter.c share; rights.c
 * uses CONFINED_SHADOWED. */
#ifndef COMMON_BASE_CONFINED_IMPL_H
#define COMMON_BASE_CONFINED_IMPL_H

#include <sys/types.h>

#include "common/base/confined.h"

#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
/* A sanitizer's shadow memory is larger than any limit, and the sanitizer reports what it
 * finds on standard error. */
enum { CONFINED_SHADOWED = 1 };
#else
enum { CONFINED_SHADOWED = 0 };
#endif

/* The kinds of frames that confined.c handles itself. */
enum {
	CONFINED_FILTER = CONFINED_KINDS, /* le32: 0, or the errno of why there is no filter */
	CONFINED_DONE,
	CONFINED_FAILED, /* u8: enum err_kind; then the sentence, without a NUL */
};

/* Runs the job in this process, which is the child of `parent`, and never returns.  Signals
 * that end programs are blocked. */
_Noreturn void confined_child(const struct confined_job *, pid_t parent, int pipe);
/* From now on this process can only make system calls that read what is open at a place
 * that they name, write to these descriptors (asks_fd 0: to `pipe` alone), or manage memory
 * of its own.  Returns 0, or the errno of why the calls are not filtered. */
int confined_filter(int pipe, int asks_fd);

#endif /* COMMON_BASE_CONFINED_IMPL_H */
