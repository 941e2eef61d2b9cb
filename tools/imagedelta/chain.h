/* chain.h: is each delta one of what is below it? */
#ifndef TOOLS_IMAGEDELTA_CHAIN_H
#define TOOLS_IMAGEDELTA_CHAIN_H

#include "common/image/read/sectors.h"

/* images[0] is the base.  ERR_REFUSED when a delta says that it belongs to
 * something else; where that cannot be known, a warning. */
int chain_check(struct sectors *const images[], size_t n,
    void (*warn)(const char *sentence), struct err *);
/* Only whole images: ERR_REFUSED for a delta. */
int chain_check_whole(const struct sectors *, struct err *);

#endif /* TOOLS_IMAGEDELTA_CHAIN_H */
