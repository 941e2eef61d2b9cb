/* diagnose.h: "frisbee --doctor" as a whole. */
#ifndef FRISBEE_DIAGNOSE_H
#define FRISBEE_DIAGNOSE_H

#include "frisbee/doctor/doctor.h"

/* Examines the network and prints the report.  0: all is well; 1: it is not; -1: with the error,
 * the examination has failed.  ERR_USAGE; errors of doctor_probe(), of
 * doctor_file_make() and doctor_file_write(); ERR_NOMEM. */
int diagnose_network(const struct doctor_config *, struct err *);

#endif /* FRISBEE_DIAGNOSE_H */
