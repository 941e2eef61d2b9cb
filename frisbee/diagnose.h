/* diagnose.h: "frisbee --doctor" as a whole. */
#ifndef FRISBEE_DIAGNOSE_H
#define FRISBEE_DIAGNOSE_H

#include "frisbee/doctor/doctor.h"

/* All of it; 0 all is well, 1 it is not, -1. */
int diagnose(const struct doctor_config *, struct err *);

#endif /* FRISBEE_DIAGNOSE_H */
