/* ptables_sfdisk.h: compares the partitions that were read into `t` with those that sfdisk
 * sees. */
#ifndef TESTS_UNIT_PTABLES_SFDISK_H
#define TESTS_UNIT_PTABLES_SFDISK_H

#include "tests/unit/ptables.h"

enum { FIELD_CAP = 256 };

/* Copies the value after "key=" in a line of sfdisk -d, up to a comma, into the buffer, and
 * returns the buffer; "": there is no such key. */
static inline const char *
field(const char *line, const char *key, char value[FIELD_CAP])
{
	const char *p = strstr(line, key);

	value[0] = '\0';
	if (p != NULL)
		sscanf(p + strlen(key), " %255[^,\n]", value);
	return value;
}

/* Does one partition line of sfdisk -d agree with t? */
static inline bool
line_agrees(const char *line, unsigned number)
{
	const struct partition *p = ptable_find(&t, number);
	uint64_t unit = t.sector_bytes / 512;
	char guid[GUID_TEXT_CAP], name[PTABLE_NAME_CAP * 4] = "\"";
	char v[FIELD_CAP];

	if (p == NULL ||
	    p->sectors.off != strtoull(field(line, "start=", v), NULL, 10) * unit ||
	    p->sectors.len != strtoull(field(line, "size=", v), NULL, 10) * unit)
		return false;
	if (t.kind == PTABLE_MBR)
		return p->mbr_type == strtoul(field(line, "type=", v), NULL, 16) &&
		       p->logical == (number > 4);
	ptype_guid_text(p->type_guid, guid);
	if (strcmp(guid, field(line, "type=", v)) != 0)
		return false;
	ptype_guid_text(p->part_guid, guid);
	if (strcmp(guid, field(line, "uuid=", v)) != 0)
		return false;
	for (const char *c = p->name; *c != '\0'; c++)
		sprintf(name + strlen(name), *c & 0x80 ? "\\x%02x" : "%c", *c & 0xff);
	strcat(name, "\"");
	return p->name[0] == '\0' || strcmp(name, field(line, "name=", v)) == 0;
}

static inline bool
is_extended_line(const char *line)
{
	char v[FIELD_CAP];
	unsigned long type = strtoul(field(line, "type=", v), NULL, 16);

	return t.kind == PTABLE_MBR && (type == 5 || type == 15 || type == 0x85);
}

/* Does sfdisk see the partitions that are in t? */
static inline bool
sfdisk_agrees(const char *path)
{
	char cmd[256], line[512];
	unsigned n = 0;
	bool ok = true;

	snprintf(cmd, sizeof cmd, "sfdisk -d %s 2>/dev/null", path);
	fflush(stdout);
	FILE *p = popen(cmd, "r");
	while (fgets(line, sizeof line, p) != NULL) {
		const char *colon = strstr(line, " : start=");
		if (colon == NULL || is_extended_line(line))
			continue;
		while (colon > line && colon[-1] >= '0' && colon[-1] <= '9')
			colon--;
		ok = ok && line_agrees(line, (unsigned)atoi(colon));
		n++;
	}
	return pclose(p) == 0 && ok && n == t.nparts && n > 0;
}

#endif /* TESTS_UNIT_PTABLES_SFDISK_H */
