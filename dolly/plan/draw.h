/* draw.h: a picture (SVG) of a prediction: the network with the streams of the best way, and
 * the rate of each way over the number of nodes. */
#ifndef DOLLY_PLAN_DRAW_H
#define DOLLY_PLAN_DRAW_H

#include "dolly/plan/predict.h"

/* Writes the picture into the file, which is replaced as a whole; without `force` only a file
 * that is such a picture is replaced (else ERR_REFUSED).  Only the first 64 hosts are drawn, and
 * the picture says so when there are more.  ERR_IO names the file; ERR_NOMEM; errors of
 * predict.h. */
int draw_plan(const char *path, bool force, const struct network *,
    const struct route *, const struct predict_config *, const struct prediction *,
    struct err *);

#endif /* DOLLY_PLAN_DRAW_H */
