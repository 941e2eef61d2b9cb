/* confined_impl.h: the child's side of confined.c. */
#ifndef COMMON_BASE_CONFINED_IMPL_H
#define COMMON_BASE_CONFINED_IMPL_H

#include "common/base/confined.h"

#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
/* The shadow of a sanitizer is larger than any limit, and what it finds it says on
 * standard error. */
enum { CONFINED_SHADOWED = 1 };
#else
enum { CONFINED_SHADOWED = 0 };
#endif

/* Kinds of frames that confined.c hears itself. */
enum {
	CONFINED_FILTER = CONFINED_KINDS, /* le32: errno of why there is none, or 0 */
	CONFINED_DONE,
	CONFINED_FAILED, /* u8: enum err_kind; the sentence */
};

/* Runs the job in this process, which is the child, and never returns.  Signals that end
 * programs are blocked. */
_Noreturn void confined_child(const struct confined_job *, int pipe);
/* From now on only system calls that read what is open, write to these descriptors (asks_fd
 * 0: to `pipe` alone), or manage memory: 0, or the errno of why they are not filtered. */
int confined_filter(int pipe, int asks_fd);

#endif /* COMMON_BASE_CONFINED_IMPL_H */
