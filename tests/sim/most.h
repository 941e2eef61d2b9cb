/* most.h: instrumented code is slow: no more machines and chunks in a run than this,
 * and no more seeds of each of the small cases with bad clients. */
#ifndef TESTS_SIM_MOST_H
#define TESTS_SIM_MOST_H

#include "tests/instrumented.h"

#if defined(__SANITIZE_THREAD__)
enum { MOST_CLIENTS = 4, MOST_CHUNKS = 24, MOST_SERVERS = 2, BAD_SEEDS = 1 };
#elif defined(__SANITIZE_ADDRESS__)
enum { MOST_CLIENTS = 6, MOST_CHUNKS = 24, MOST_SERVERS = 2, BAD_SEEDS = 1 };
#else
enum { MOST_CLIENTS = 20000, MOST_CHUNKS = 1000, MOST_SERVERS = 8, BAD_SEEDS = 20 };
#endif

#endif /* TESTS_SIM_MOST_H */
