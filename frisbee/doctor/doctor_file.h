/* doctor_file.h: the doctor's findings, with the card and the system that they were made on, as
 * one text file to be sent to others: "frisbee --doctor --report FILE". */
#ifndef FRISBEE_DOCTOR_DOCTOR_FILE_H
#define FRISBEE_DOCTOR_DOCTOR_FILE_H

#include <stdbool.h>

#include "frisbee/doctor/doctor.h"

/* Makes the file, which must not exist, and returns its descriptor.  -1, ERR_USAGE: it exists;
 * ERR_IO: it cannot be made. */
int doctor_file_make(const char *path, struct err *);
/* Writes the report to the descriptor of `path`, and closes it.  Without `names` the name of the
 * host is left out, and doctor_mask() hides addresses.  ERR_IO; ERR_NOMEM. */
int doctor_file_write(int fd, const char *path, const struct doctor_facts *,
    const struct doctor_report *, bool names, struct err *);

/* Hides in the text, in place, whose addresses these are: of an Ethernet address the last
 * three bytes become "xx" (the first three name the maker), and of an IPv4 address the
 * first three numbers become "*".  Addresses of groups (224 to 239) and masks (255) stay.
 */
void doctor_mask(char *text);

#endif /* FRISBEE_DOCTOR_DOCTOR_FILE_H */
