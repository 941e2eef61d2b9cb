/* s3_objects.h: a bucket as a place of objects. */
#ifndef EMUSTORE_S3_S3_OBJECTS_H
#define EMUSTORE_S3_S3_OBJECTS_H

#include "emustore/objects/objects.h"

/* url: as s3_open() has it.  Does not ask the server anything. */
int s3_objects_open(struct objects **, const char *url, struct err *);

#endif /* EMUSTORE_S3_S3_OBJECTS_H */
