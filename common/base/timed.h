/* timed.h: waits that end at a time, all by the clock of clock_us(): they become
 * neither longer nor shorter when somebody sets the system's clock, as happens soon
 * after a machine has started. */
#ifndef COMMON_BASE_TIMED_H
#define COMMON_BASE_TIMED_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

/* Wait as pthread_cond_wait(3) does, at most until that time.  False: the time came
 * first.  The condition needs no attributes. */
bool timed_wait(pthread_cond_t *, pthread_mutex_t *, uint64_t until_us);
/* Take the semaphore.  False: until that time it was not free. */
bool timed_take(sem_t *, uint64_t until_us);
/* Join the thread.  False: it has not ended until that time, and may still be joined. */
bool timed_join(pthread_t, uint64_t until_us);
/* Sleep for that long.  A signal that this thread handles cuts it short. */
void timed_sleep(uint64_t us);
/* Sleep until that time, or until the work of this thread is to end (cancel.h), which
 * is noticed within 50 ms. */
void timed_pause(uint64_t until_us);

#endif /* COMMON_BASE_TIMED_H */
