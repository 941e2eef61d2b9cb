/* callfilter.c: makes and loads a filter of system calls (callfilter.h).  The filters of
 * servers (rights_calls.c) and of confined children (confined_filter.c) are made with it, in
 * the thread that is to be limited. */
#include "common/base/callfilter.h"

#include <errno.h>

static int
add_allowed(scmp_filter_ctx f, const int *allowed, size_t n)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = seccomp_rule_add_array(f, SCMP_ACT_ALLOW, allowed[i], 0, NULL);
	return -rc;
}

int
callfilter_begin(scmp_filter_ctx *out, const int *allowed, size_t n)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(EPERM));

	if (f == NULL)
		return ENOMEM;
	/* Else libseccomp says ECANCELED, whatever the kernel has answered. */
	int rc = -seccomp_attr_set(f, SCMP_FLTATR_API_SYSRAWRC, 1);
	if (rc == 0)
		rc = add_allowed(f, allowed, n);
	if (rc != 0)
		seccomp_release(f);
	*out = f;
	return rc;
}

int
callfilter_allow_arg(scmp_filter_ctx f, int call, unsigned arg, enum scmp_compare how,
    uint64_t a, uint64_t b)
{
	struct scmp_arg_cmp same = { arg, how, a, b };

	return -seccomp_rule_add_array(f, SCMP_ACT_ALLOW, call, 1, &same);
}

int
callfilter_load(scmp_filter_ctx f, int rc)
{
	if (rc == 0)
		rc = -seccomp_load(f);
	seccomp_release(f);
	return rc;
}
