/* Where an image is, as people write it. */
#include "stream/sources/place.h"

#include <string.h>

#include "tests/t.h"

static bool
is(const char *text, enum place_kind kind, const char *what)
{
	struct place p;
	struct err e;

	return place_parse(&p, text, &e) == 0 && p.kind == kind && strcmp(p.what, what) == 0;
}

static bool
refused(const char *text)
{
	struct place p;
	struct err e;

	return place_parse(&p, text, &e) != 0 && e.kind == ERR_USAGE;
}

int
main(void)
{
	T_CHECK(is("disk.ndz", PLACE_FILE, "disk.ndz"));
	T_CHECK(is("/srv/a:b/disk.ndz", PLACE_FILE, "/srv/a:b/disk.ndz"));
	T_CHECK(is("./http://x", PLACE_FILE, "./http://x"));
	T_CHECK(is("./store:x", PLACE_FILE, "./store:x"));
	T_CHECK(is("http:x", PLACE_FILE, "http:x"));
	T_CHECK(is("://x", PLACE_FILE, "://x"));
	T_CHECK(is("store:ubuntu24:3", PLACE_STORE, "ubuntu24:3"));
	T_CHECK(is("http://host/disk.ndz", PLACE_HTTP, "http://host/disk.ndz"));
	T_CHECK(is("HTTPS://host:8443/a?b=c", PLACE_HTTP, "HTTPS://host:8443/a?b=c"));
	T_CHECK(is("nbd://host:10810/disk", PLACE_NBD, "nbd://host:10810/disk"));
	T_CHECK(is("nbd+unix:///?socket=/s", PLACE_NBD, "nbd+unix:///?socket=/s"));
	T_CHECK(is("NBDS://host", PLACE_NBD, "NBDS://host"));
	T_CHECK(is("frisbee://239.1.2.3:5000", PLACE_SESSION, "frisbee://239.1.2.3:5000"));
	T_CHECK(is("frisbee://10.1.2.3:5000/", PLACE_SESSION, "frisbee://10.1.2.3:5000/"));
	T_CHECK(is("frisbee://239.1.2.3:5000?interface=eth0", PLACE_SESSION,
	    "frisbee://239.1.2.3:5000?interface=eth0"));
	T_CHECK(is("frisbee://10.1.2.1@239.1.2.3:5000", PLACE_SESSION,
	    "frisbee://10.1.2.1@239.1.2.3:5000"));
	T_CHECK(is("frisbee://10.1.2.1@239.1.2.3:5000?interface=eth0", PLACE_SESSION,
	    "frisbee://10.1.2.1@239.1.2.3:5000?interface=eth0"));
	T_CHECK(refused("frisbee://@239.1.2.3:5000"));
	T_CHECK(refused("frisbee://boss@239.1.2.3:5000"));
	T_CHECK(refused("frisbee://10.1.2.1@10.1.2.1:5000"));
	T_CHECK(refused("frisbee://"));
	T_CHECK(refused("frisbee://239.1.2.3"));
	T_CHECK(refused("frisbee://:5000"));
	T_CHECK(refused("frisbee://239.1.2.3:"));
	T_CHECK(refused("frisbee://239.1.2.3:5000x"));
	T_CHECK(refused("frisbee://239.1.2.3:5000?interface="));
	T_CHECK(refused("frisbee://239.1.2.3:5000?other=x"));
	T_CHECK(refused("frisbee://boss/name"));
	T_CHECK(refused("nbd://"));
	T_CHECK(refused("nbdx://host"));
	T_CHECK(refused(""));
	T_CHECK(refused("-"));
	T_CHECK(refused("store:"));
	T_CHECK(refused("http://"));
	T_CHECK(refused("httpx://a"));
	T_CHECK(refused("ftp://host/disk.ndz"));
	T_CHECK(refused("s3://bucket/disk.ndz"));
	return t_done();
}
