/* draw.h: a picture (SVG) of a prediction: the network with the streams of the best way on it, and
 * the rate of each way over the number of nodes. */
#ifndef DOLLY_PLAN_DRAW_H
#define DOLLY_PLAN_DRAW_H

#include "dolly/plan/predict.h"

/* Replaces the file as a whole, but without force only when it is such a picture (ERR_REFUSED).
 * ERR_IO names it; errors of predict.h.  Of more hosts than fit into
 * a picture (64) only the first ones are drawn, and the picture says so. */
int draw_plan(const char *path, bool force, const struct network *,
    const struct route *, const struct predict_config *, const struct prediction *,
    struct err *);

#endif /* DOLLY_PLAN_DRAW_H */
