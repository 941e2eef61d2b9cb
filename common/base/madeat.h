/* madeat.h: the time that is written into new images. */
#ifndef COMMON_BASE_MADEAT_H
#define COMMON_BASE_MADEAT_H

#include <stdint.h>

/* Seconds since 1970: SOURCE_DATE_EPOCH where it is set, so that the same input
 * gives the same bytes, else now. */
uint64_t made_at(void);

#endif /* COMMON_BASE_MADEAT_H */
