/* volume.c: grows a physical volume of LVM, and a volume in it.  follow.c calls this, in its
 * caller's thread. */
#include "common/resize/volume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/tmpfolder.h"
#include "common/disk/disk.h"
#include "common/resize/script.h"

/* The label of a volume that is in a group keeps the length that it had at first. */
#define SIZE \
	"echo size $(l pvs --noheadings --nosuffix --units b -o pv_size \"$dev\")\n"

/* Each script gets $1, the partition.  This one gets $2, the volume that is wished for, or "",
 * and $3, an empty folder.  It prints "alone" and why nothing may be done, or "note" and why
 * no volume is grown, or "volume", which is active then, and which runs with this tag; "tagged"
 * says that an earlier run was interrupted. */
static const char begin_script[] = SCRIPT_LVM
    "want=$2 dir=$3 tag= keep=\n"
    "say() { echo \"$@\"; exit 0; }\n"
    "list() { l \"$@\" --noheadings --separator : | sed 's/^ *//'; }\n"
    "group=$(list vgs -o vg_name,vg_missing_pv_count,vg_exported,vg_free_count,vg_tags)\n"
    "[ -n \"$group\" ] || say 'note it is in no group, so no volume is grown'\n"
    "IFS=: read -r vg missing exported free tags << END\n$group\nEND\n"
    SIZE "[ \"$missing\" = 0 ] || say \"alone the group $vg has physical volumes elsewhere\"\n"
    "[ -z \"$exported\" ] || say \"alone the group $vg is exported\"\n"
    /* What is active has a folder of this name. */
    "[ ! -e \"/dev/$vg\" ] || say \"alone this machine has a group $vg already\"\n"
    "lvm vgs --readonly --noheadings --separator : -o vg_name,pv_name"
    " < /dev/null 2> /dev/null | sed 's/^ *//' |\n"
    "    grep \"^$vg:\" | grep -q -v -x -F \"$vg:$dev\" &&\n"
    "	say \"alone this machine has a group $vg already\"\n"
    "case ,$tags, in *,growfs/*)\n"
    "	tag=${tags#*growfs/} tag=growfs/${tag%%,*} keep=${tag##*/}\n"
    "	tag=${tag%/*} want=$vg/${tag#*/} ;;\n"
    "esac\n"
    "modprobe -q dm_mod 2> /dev/null || :\n"
    "grep -q -w device-mapper /proc/misc /proc/devices || {\n"
    "	[ -z \"$want\" ] ||\n"
    "		say \"alone the kernel has no device mapper, by which $want is reached\"\n"
    "	say 'note the kernel has no device mapper, so no volume is grown'\n"
    "}\n"
    "plain() { list lvs -o lv_name,lv_layout,lv_role \"$vg\" |"
    " sed -n 's/:linear:public$//p'; }\n"
    /* A journal is not replayed for that.  mount of busybox tries no filesystem whose module
     * is not loaded, unless it is named. */
    "is_root() {\n"
    "	l lvchange -q -q -a y \"$vg/$1\" || return 1\n"
    "	found=1\n"
    "	for o in ext4:noload xfs:norecovery,nouuid btrfs:rescue=nologreplay; do\n"
    "		mount -t \"${o%:*}\" -o \"ro,${o#*:}\" \"/dev/$vg/$1\" \"$dir\""
    " 2> /dev/null || continue\n"
    "		for r in \"$dir\" \"$dir/@\" \"$dir/root\"; do\n"
    "			[ ! -e \"$r/usr/lib/os-release\" ] || found=0\n"
    "			[ ! -e \"$r/etc/os-release\" ] || found=0\n"
    "			! grep -q '^[^#].*[[:space:]]/[[:space:]]' \"$r/etc/fstab\""
    " 2> /dev/null || found=0\n"
    "		done\n"
    "		umount \"$dir\"\n"
    "		break\n"
    "	done\n"
    "	l lvchange -q -q -a n \"$vg/$1\"\n"
    "	return $found\n"
    "}\n"
    "if [ -n \"$want\" ] && [ \"${want%%/*}\" = \"$vg\" ]; then\n"
    "	plain | grep -q -x -F \"${want#*/}\" || {\n"
    "		echo \"lvm: $want is no linear volume of its own\" >&2; exit 1; }\n"
    "	roots=${want#*/}\n"
    "elif [ -n \"$want\" ]; then\n"
    "	say \"note the volume $want is in another group\"\n"
    "else\n"
    "	roots=\n"
    "	for v in $(plain); do ! is_root \"$v\" || roots=\"$roots $v\"; done\n"
    "fi\n"
    "set -- $roots\n"
    "[ $# != 0 ] || say \"note no volume of $vg holds the root of a system: the room is"
    " free in the group (--fit-lv)\"\n"
    "[ $# = 1 ] || say \"note $# volumes of $vg hold the root of a system: the room is free"
    " in the group (--fit-lv)\"\n"
    "l lvchange -q -q -a y \"$vg/$1\"\n"
    "echo \"volume $vg/$1\"\n"
    "[ -z \"$keep\" ] || echo \"keep $keep\"\n"
    "[ -n \"$keep\" ] || echo \"free $free\"\n";

/* $2: the volume; $3: the extents of the group that stay free. */
static const char tag_script[] =
    SCRIPT_LVM "l vgchange -q -q --addtag \"growfs/${2#*/}/$3\" \"${2%%/*}\"\n";
static const char extend_script[] = SCRIPT_LVM
    "free=$(l vgs --noheadings -o vg_free_count \"${2%%/*}\")\n"
    "[ $((free)) -le $3 ] || l lvextend -q -q -l +$((free - $3)) \"$2\"\n";
static const char untag_script[] =
    SCRIPT_LVM "l vgchange -q -q --deltag \"growfs/${2#*/}/$3\" \"${2%%/*}\"\n";
static const char size_script[] = SCRIPT_LVM SIZE;
static const char end_script[] = SCRIPT_LVM SIZE "l vgchange -q -q -a n \"${2%%/*}\"\n";

/* A volume that is grown. */
struct volume {
	const char *path; /* of the partition */
	struct follow_part *p;
	char keep[24]; /* extents of its group that stay free */
	uint64_t pv_bytes; /* of the physical volume, when the last script looked */
	bool tagged;   /* an earlier run was interrupted */
	bool installs; /* it begins anew, whatever tag there is */
};

static void
hear(void *arg, const char *line)
{
	struct volume *v = arg;

	if (strncmp(line, "alone ", 6) == 0)
		snprintf(v->p->fs.left_alone, sizeof v->p->fs.left_alone, "%.255s", line + 6);
	else if (strncmp(line, "note ", 5) == 0)
		snprintf(v->p->volume_note, sizeof v->p->volume_note, "%.299s", line + 5);
	else if (strncmp(line, "volume ", 7) == 0)
		snprintf(v->p->volume, sizeof v->p->volume, "%.255s", line + 7);
	else if (strncmp(line, "free ", 5) == 0 || strncmp(line, "keep ", 5) == 0)
		snprintf(v->keep, sizeof v->keep, "%.20s", line + 5);
	else if (strncmp(line, "size ", 5) == 0)
		v->pv_bytes = strtoull(line + 5, NULL, 10);
	v->tagged |= strncmp(line, "keep ", 5) == 0;
}

static int
begin(const struct follow *f, struct volume *v, struct err *e)
{
	char folder[TMPFOLDER_CAP];
	struct cancel *owner = cancel_owner();
	struct args a = { 0 };

	v->p->volume[0] = v->p->volume_note[0] = '\0';
	if (tmpfolder_make(folder, "volume", e) != 0)
		return -1;
	script_begin(&a, begin_script, v->path);
	args_add(&a, f->fit_lv != NULL ? f->fit_lv : "");
	args_add(&a, folder);
	cancel_work_for(NULL); /* what is active amid it would stay so */
	int rc = script_run(&a, v->path, hear, v, e);
	cancel_work_for(owner);
	rmdir(folder);
	return rc;
}

static int
do_script(struct volume *v, const char *script, struct err *e)
{
	struct args a = { 0 };

	script_begin(&a, script, v->path);
	args_add(&a, v->p->volume);
	args_add(&a, v->keep);
	return script_run(&a, v->path, hear, v, e);
}

/* Can what is in the volume be grown?  Otherwise the room stays free in the group. */
static int
look_into(struct volume *v, const char *device, struct err *e)
{
	struct follow_part *p = v->p;

	if (resize_look(device, &p->volume_fs, e) != 0)
		return -1;
	if (p->volume_fs.left_alone[0] != '\0')
		snprintf(p->volume_note, sizeof p->volume_note, "left alone: %s",
		    p->volume_fs.left_alone);
	return 0;
}

/* What a later run makes of it, and who wants none. */
static int
stays_tagged(const struct volume *v, struct err *e)
{
	const char *name = strchr(v->p->volume, '/') + 1;
	int n = (int)(name - 1 - v->p->volume);

	if (v->installs)
		return -1;
	return err_add(e, "the next run goes on, as a tag says: vgchange --deltag growfs/%.100s/%s %.*s takes it away",
	    name, v->keep, n, v->p->volume);
}

/* Nothing has grown, so no later run has to go on. */
static int
take_back(struct volume *v, struct err *e)
{
	struct err ignored;

	if (!v->tagged && do_script(v, untag_script, &ignored) == 0)
		return -1;
	return stays_tagged(v, e);
}

/* The physical volume, the volume and its filesystem, in this order. */
static int
grow_all(struct volume *v, struct err *e)
{
	struct follow_part *p = v->p;
	char device[sizeof p->volume + 8];

	snprintf(device, sizeof device, "/dev/%s", p->volume);
	if (look_into(v, device, e) != 0)
		return -1;
	if (p->volume_note[0] != '\0')
		return resize_grow(v->path, &p->fs, e);
	if (!v->tagged && do_script(v, tag_script, e) != 0)
		return -1;
	if (resize_grow(v->path, &p->fs, e) != 0)
		return take_back(v, e);
	if (do_script(v, extend_script, e) != 0)
		return stays_tagged(v, e);
	if (resize_grow(device, &p->volume_fs, e) != 0) {
		err_ctx(e, "volume %s", p->volume);
		return stays_tagged(v, e);
	}
	return do_script(v, untag_script, e);
}

/* Nothing stays active, also when a signal has come. */
static int
end(struct volume *v, bool alone, struct err *e)
{
	struct cancel *owner = cancel_owner();

	cancel_work_for(NULL);
	int rc = do_script(v, alone ? size_script : end_script, e);
	cancel_work_for(owner);
	return rc;
}

int
volume_grow(
    const struct follow *f, struct follow_part *p, const char *path, struct err *e)
{
	struct volume v = { .path = path, .p = p, .installs = f->installs };
	struct err ending;

	if (begin(f, &v, e) != 0)
		return -1;
	if (p->fs.left_alone[0] != '\0')
		return 0;
	uint64_t was_bytes = v.pv_bytes;
	bool alone = p->volume[0] == '\0';
	int rc = alone ? resize_grow(path, &p->fs, e) : grow_all(&v, e);
	if (was_bytes == 0) /* in no group, the label has the length */
		return rc;
	if (end(&v, alone, &ending) != 0 && rc == 0) {
		*e = ending;
		rc = -1;
	}
	p->fs.was_bytes = was_bytes;
	p->fs.is_bytes = v.pv_bytes;
	return rc;
}

bool
volume_is_begun(const char *path, struct range bytes)
{
	enum { METADATA_BYTES = 1 << 20 };
	static const char tag[] = "\"growfs/";
	struct disk *d;
	struct err ignored;
	uint8_t *head = malloc(METADATA_BYTES);
	size_t cap = bytes.len < METADATA_BYTES ? (size_t)bytes.len : METADATA_BYTES;
	bool found = false;

	if (head != NULL && disk_open(&d, path, DISK_READ, &ignored) == 0) {
		ssize_t n = disk_read_upto(d, head, cap, bytes.off, &ignored);
		found = n > 0 && memmem(head, (size_t)n, tag, sizeof tag - 1) != NULL;
		disk_close(d, &ignored);
	}
	free(head);
	return found;
}
