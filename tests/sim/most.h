/* most.h: instrumented code is slow: no more machines and chunks in a run than this. */
#ifndef TESTS_SIM_MOST_H
#define TESTS_SIM_MOST_H

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#elif __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
enum { MOST_CLIENTS = 4, MOST_CHUNKS = 24, MOST_SERVERS = 2 };
#elif defined(__SANITIZE_ADDRESS__)
enum { MOST_CLIENTS = 6, MOST_CHUNKS = 24, MOST_SERVERS = 2 };
#else
enum { MOST_CLIENTS = 20000, MOST_CHUNKS = 1000, MOST_SERVERS = 8 };
#endif

#endif /* TESTS_SIM_MOST_H */
