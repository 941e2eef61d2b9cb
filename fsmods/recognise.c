/* recognise.c: names the content of a partition that no module understands, with
 * foreign.h and libblkid.
 *
 * imagezip's layout calls this, and so do the modules of containers for what is inside,
 * in the thread that scans. libblkid reads from the file descriptor of the disk; a disk
 * without one (a volume put together from pieces) is not shown to it.
 */
#include "fsmods/recognise.h"

#include <blkid/blkid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fsmods/foreign.h"

static const char *
value(blkid_probe pr, const char *name)
{
	const char *v;

	return blkid_probe_lookup_value(pr, name, &v, NULL) == 0 ? v : "";
}

static bool
name_it(blkid_probe pr, char *buf, size_t cap)
{
	const char *type = value(pr, "TYPE"), *usage = value(pr, "USAGE");

	if (type[0] == '\0')
		return false;
	if (strcmp(usage, "filesystem") == 0)
		snprintf(buf, cap, "a filesystem of type %.40s", type);
	else if (strcmp(usage, "raid") == 0)
		snprintf(buf, cap, "a member of an array (%.40s)", type);
	else
		snprintf(buf, cap, "what libblkid calls %.40s", type);
	return true;
}

/* A probe of these sectors, to be freed; NULL: they cannot be probed. */
static blkid_probe
probe_of(struct disk *d, struct range part)
{
	uint64_t size = disk_size_bytes(d), at = part.off * SECTOR_BYTES;
	blkid_probe pr = disk_fd(d) >= 0 ? blkid_new_probe() : NULL;

	if (pr == NULL)
		return NULL;
	/* libblkid takes a length of 0 for all the rest of the disk. */
	if (part.len > 0 && range_within(part, size / SECTOR_BYTES) &&
	    blkid_probe_set_device(pr, disk_fd(d), (blkid_loff_t)at,
		(blkid_loff_t)(part.len * SECTOR_BYTES)) == 0) {
		blkid_probe_enable_superblocks(pr, 1);
		blkid_probe_set_superblocks_flags(
		    pr, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_USAGE | BLKID_SUBLKS_MAGIC);
		return pr;
	}
	blkid_free_probe(pr);
	return NULL;
}

static bool
ask_blkid(struct disk *d, struct range part, char *buf, size_t cap)
{
	blkid_probe pr = probe_of(d, part);

	if (pr == NULL)
		return false;
	bool named = blkid_do_safeprobe(pr) == 0 && name_it(pr, buf, cap);
	blkid_free_probe(pr);
	return named;
}

size_t
recognise_magics(
    struct disk *d, struct range part, struct recognised_magic v[RECOGNISED_MAGICS])
{
	blkid_probe pr = probe_of(d, part);
	size_t n = 0;

	if (pr == NULL)
		return 0;
	while (n < RECOGNISED_MAGICS && blkid_do_probe(pr) == 0)
		if (name_it(pr, v[n].name, sizeof v[n].name))
			v[n++].at_bytes = strtoull(value(pr, "SBMAGIC_OFFSET"), NULL, 10);
	blkid_free_probe(pr);
	return n;
}

struct recognised
recognise_content(struct disk *d, struct range part)
{
	const char *name = foreign_find(d, part);
	struct recognised r = { .known = true };
	char other[80];

	if (name == NULL && ask_blkid(d, part, other, sizeof other))
		name = other;
	r.known = name != NULL;
	if (name == NULL)
		snprintf(r.text, sizeof r.text, "no known filesystem");
	else
		snprintf(r.text, sizeof r.text, "%s, which is not looked into", name);
	return r;
}
