/* What the doctor's report hides: whose addresses are in it, and nothing else. */
#include <stdio.h>
#include <string.h>

#include "frisbee/doctor/doctor_file.h"
#include "tests/t.h"

static bool
masks(const char *text, const char *wanted)
{
	char copy[200];

	snprintf(copy, sizeof copy, "%s", text);
	doctor_mask(copy);
	if (strcmp(copy, wanted) != 0)
		printf("# \"%s\" became \"%s\"\n", text, copy);
	return strcmp(copy, wanted) == 0;
}

int
main(void)
{
	T_CHECK(masks("", ""));
	T_CHECK(masks("10.9.0.1", "*.*.*.1"));
	T_CHECK(masks("1.2.3.4", "*.*.*.4"));
	T_CHECK(masks("from 192.168.100.254, not 10.0.0.7:", "from *.*.*.254, not *.*.*.7:"));
	T_CHECK(masks("group 239.192.7.7 and 224.0.0.1", "group 239.192.7.7 and 224.0.0.1"));
	T_CHECK(masks("mask 255.255.255.0", "mask 255.255.255.0"));
	T_CHECK(masks("52:54:00:00:00:0a", "52:54:00:xx:xx:xx"));
	T_CHECK(masks("at 52:54:00:Ab:cd:0a.", "at 52:54:00:xx:xx:xx."));
	/* What is no address stays. */
	T_CHECK(masks("6.1.0 of 12.5 %, 300.1.1.1", "6.1.0 of 12.5 %, 300.1.1.1"));
	T_CHECK(masks("v1.2.3.4", "v1.2.3.4"));
	T_CHECK(masks("1. 2. 3. 4", "1. 2. 3. 4"));
	T_CHECK(masks("52:54:00:00:00", "52:54:00:00:00"));
	T_CHECK(masks("10.9.0.", "10.9.0."));
	return t_done();
}
