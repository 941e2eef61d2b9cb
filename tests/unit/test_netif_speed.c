/* What a server takes for the speed of its card: of cards, of what lies above them, and
 * of interfaces whose speed means nothing. */
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/net/netif_speed.h"
#include "tests/t.h"
#include "tests/tmp.h"

static char sys_net[256];

static void
interface(const char *name, const char *speed, bool device)
{
	char path[512];

	snprintf(path, sizeof path, "%s/%s", sys_net, name);
	mkdir(path, 0755);
	snprintf(path, sizeof path, "%s/%s/speed", sys_net, name);
	FILE *f = fopen(path, "w");
	if (f != NULL) {
		fputs(speed, f);
		fclose(f);
	}
	snprintf(path, sizeof path, "%s/%s/device", sys_net, name);
	if (device)
		mkdir(path, 0755);
}

static void
above(const char *name, const char *lower)
{
	char path[512];

	snprintf(path, sizeof path, "%s/%s/lower_%s", sys_net, name, lower);
	mkdir(path, 0755);
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

int
main(void)
{
	if (!T_CHECK(tmp_folder(sys_net, sizeof sys_net, "speed")))
		return t_done();
	interface("fast", "10000\n", true);
	interface("slow", "100\n", true);
	interface("down", "-1\n", true);
	interface("odd", "4294967295\n", true);
	interface("empty", "", true);
	interface("veth", "10000\n", false);
	T_CHECK(netif_speed(sys_net, "fast") == UINT64_C(10000000000));
	T_CHECK(netif_speed(sys_net, "slow") == 100000000);
	T_CHECK(netif_speed(sys_net, "down") == 0);
	T_CHECK(netif_speed(sys_net, "odd") == 0);
	T_CHECK(netif_speed(sys_net, "empty") == 0);
	T_CHECK(netif_speed(sys_net, "veth") == 0);
	T_CHECK(netif_speed(sys_net, "none") == 0);
	/* A VLAN on a bridge of two cards and a container's end. */
	interface("br0", "10000\n", false);
	above("br0", "slow");
	above("br0", "fast");
	above("br0", "veth");
	interface("br0.7", "", false);
	above("br0.7", "br0");
	T_CHECK(netif_speed(sys_net, "br0.7") == UINT64_C(10000000000));
	/* What lies above itself does not go on for ever. */
	interface("loop", "", false);
	above("loop", "loop");
	T_CHECK(netif_speed(sys_net, "loop") == 0);
	nftw(sys_net, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	return t_done();
}
