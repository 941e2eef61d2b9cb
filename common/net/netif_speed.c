/* netif_speed.c: how fast an interface's card is.  frisbeed asks this for each place before
 * it serves, in the thread that opens sessions, to know the most that it may send.
 * /sys/class/net/NAME/speed has the speed in Mbit/s; for a virtual interface this number
 * means nothing.  Virtual interfaces have no `device`, but links to the interfaces below them. */
#include "common/net/netif_speed.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	LEVELS = 4, /* as in a VLAN on a bridge on a bond of cards */
	MBIT = 1000000,
	SPEED_MOST = 1000000, /* Mbit/s; a larger number is no speed */
};
static const char LOWER[] = "lower_";

static uint64_t
own_speed(const char *sys, const char *name)
{
	char path[512];
	long speed = 0;

	snprintf(path, sizeof path, "%s/%s/device", sys, name);
	if (access(path, F_OK) != 0)
		return 0;
	snprintf(path, sizeof path, "%s/%s/speed", sys, name);
	FILE *f = fopen(path, "re");
	if (f == NULL)
		return 0;
	if (fscanf(f, "%ld", &speed) != 1 || speed < 0 || speed > SPEED_MOST)
		speed = 0;
	fclose(f);
	return (uint64_t)speed * MBIT;
}

static uint64_t
speed_of(const char *sys, const char *name, unsigned levels)
{
	uint64_t most = own_speed(sys, name);
	char path[512];

	snprintf(path, sizeof path, "%s/%s", sys, name);
	DIR *dir = levels > 0 ? opendir(path) : NULL;
	if (dir == NULL)
		return most;
	for (const struct dirent *d; (d = readdir(dir)) != NULL;) {
		if (strncmp(d->d_name, LOWER, sizeof LOWER - 1) != 0)
			continue;
		uint64_t below = speed_of(
		    sys, d->d_name + sizeof LOWER - 1, levels - 1);
		most = below > most ? below : most;
	}
	closedir(dir);
	return most;
}

uint64_t
netif_speed(const char *sys, const char *name)
{
	return speed_of(sys != NULL ? sys : "/sys/class/net", name, LEVELS);
}
