/* fit_impl.h: the plan of an installation, for fit.c and fit_finish.c. */
#ifndef IMAGEUNZIP_INSTALL_FIT_IMPL_H
#define IMAGEUNZIP_INSTALL_FIT_IMPL_H

#include "imageunzip/install/fit.h"

struct imgtable;

struct fit {
	struct imgtable *table;  /* owned: the image's */
	struct reach *reach;     /* owned: what chunk 0 says; NULL: it did not come yet */
	uint64_t source_sectors; /* of the image's disk */
	char filesystems[256];   /* as chunk 0 has them */
	bool known;              /* the members below are valid */
	struct fitplan plan;
	struct maps maps;
};

/* Write the table with the places of the plan; `stays`: partitions, by their index in the
 * plan, that keep their length all the same, or NULL. */
int fit_write_table(const struct fit *, struct disk *, const bool *stays, struct err *);

#endif /* IMAGEUNZIP_INSTALL_FIT_IMPL_H */
