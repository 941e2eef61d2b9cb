/* merging.c: makes one order of reads of the records of many machines.  main.c calls
 * this, in the first thread. */
#include "stream/merging.h"

#include <stdlib.h>

#include "common/disk/output.h"
#include "stream/record/merge.h"
#include "stream/report.h"

static int
check(const struct opts *o, char **records, int n, struct err *e)
{
	if (n < 1)
		return err_misuse(e, "merge-records needs records");
	if (o->stream.order == NULL)
		return err_misuse(
		    e, "merge-records needs --order, the file that is made");
	for (int i = 0; i < n; i++)
		if (output_check_input(o->stream.order, records[i], e) != 0)
			return -1;
	return 0;
}

static int
read_all(struct order *all, char **paths, int n, struct err *e)
{
	for (int i = 0; i < n; i++)
		if (order_read(&all[i], paths[i], e) != 0)
			return -1;
	return 0;
}

static int
write_merged(
    const struct opts *o, const struct order *all, char **names, int n, struct err *e)
{
	struct order made;

	if (merge_records(&made, all, (const char *const *)names, (size_t)n, e) != 0)
		return -1;
	int rc = order_write(&made, o->stream.order, e);
	if (rc == 0)
		rc = report_merged(o, &made, e);
	order_free(&made);
	return rc;
}

int
merging_run(const struct opts *o, char **records, int n, struct err *e)
{
	if (check(o, records, n, e) != 0)
		return -1;
	struct order *all = calloc((size_t)n, sizeof *all);
	if (all == NULL)
		return err_nomem(e, "the records");
	int rc = read_all(all, records, n, e);
	if (rc == 0)
		rc = write_merged(o, all, records, n, e);
	for (int i = 0; i < n; i++)
		order_free(&all[i]);
	free(all);
	return rc;
}
