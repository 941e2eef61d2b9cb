/* instrumented.h: which sanitizer a test is built with, said as gcc does by clang, too.
 * Instrumented code is slow: what is repeated with other numbers is repeated less. */
#ifndef TESTS_INSTRUMENTED_H
#define TESTS_INSTRUMENTED_H

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#elif __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { T_INSTRUMENTED = 1 };
#else
enum { T_INSTRUMENTED = 0 };
#endif

#endif /* TESTS_INSTRUMENTED_H */
