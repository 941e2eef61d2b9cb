/* ntfs_state.c: checks whether $Bitmap can be trusted, and looks for shadow copies.
 * ntfs_scan() calls this in the child. The child has one thread.
 *
 * $Bitmap is not trusted when the volume is marked dirty or $LogFile has something to
 * replay. When the MFT and its mirror differ, the library does not open the volume; the
 * checks that the library makes only before it writes are made here. A log of version 2.0
 * is left by Windows 8 and later while they keep metadata elsewhere for a fast start; a
 * clean shutdown leaves version 1.1.
 *
 * A shadow copy does not hold a cluster that was freed since and not written to again:
 * its data is only in that free cluster. The header of the shadow copies is in the last
 * sector of $Boot: a GUID, u32 version, u32 kind, u64 x 3, u64 place of the catalog, or 0
 * (libvshadow's "Volume Shadow Snapshot (VSS) format").
 */
#include "fsmods/ntfs/ntfs_impl.h" /* first: the library's headers need it */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ntfs-3g/logfile.h>

#include "common/base/rd.h"

enum {
	VOLUME_DIRTY = 0x0001,
	VOLUME_CHKDSK_RUNNING = 0x4000,
	LOG_MAJOR = 1, /* the version that a clean shutdown leaves */
	SHADOWS_AT = 0x1e00,
	SHADOWS_BYTES = 56,
	SHADOWS_CATALOG_AT = 48,
};

static int
check_volume(const struct nt *v, struct err *e)
{
	unsigned major = v->vol->major_ver, minor = v->vol->minor_ver,
		 flags = le16_to_cpu(v->vol->flags);

	if (!(major == 1 && minor == 2) && !(major == 3 && minor <= 1))
		return err_set(e, ERR_UNSUPPORTED, "NTFS version %u.%u", major, minor);
	if (flags & VOLUME_DIRTY)
		return err_set(e, ERR_FORMAT, "the volume is marked dirty");
	if (flags & VOLUME_CHKDSK_RUNNING)
		return err_set(e, ERR_FORMAT, "chkdsk did not finish on it");
	return 0;
}

static int
ask_log(struct nt *v, ntfs_attr *log, struct err *e)
{
	RESTART_PAGE_HEADER *page = NULL;
	int rc = 0;

	nt_ask(v);
	if (!ntfs_check_logfile(log, &page))
		rc = nt_fail(v, e, "it is damaged");
	else if (page != NULL && le16_to_cpu(page->major_ver) != LOG_MAJOR)
		rc = err_set(e, ERR_FORMAT,
		    "Windows keeps metadata elsewhere, for a fast start");
	else if (!ntfs_is_logfile_clean(log, page))
		rc = err_set(e, ERR_FORMAT, "it is to be replayed");
	free(page);
	return rc;
}

/* Check $LogFile. The library reads its beginning only, and would take a part that was
 * never written for zeros. */
static int
check_log(struct nt *v, struct err *e)
{
	struct nt_stream log;
	ntfs_inode *ni;
	uint8_t first[SECTOR_BYTES];

	if (nt_file(v, FILE_LogFile, &ni, e) != 0)
		return -1;
	int rc = nt_stream_open(v, ni, AT_DATA, "", &log, e);
	if (rc >= 0)
		rc = rc == 1 ? nt_stream_read(v, &log, first, sizeof first, 0, e)
		             : err_set(e, ERR_FORMAT, "there is none");
	if (rc == 0)
		rc = ask_log(v, log.attr, e);
	nt_stream_close(&log);
	ntfs_inode_close(ni);
	return rc < 0 && e->kind != ERR_NOMEM ? err_ctx(e, "$LogFile") : rc;
}

/* Ask the library whether Windows is hibernated; ntfs.c looks at hiberfil.sys more
 * closely. */
static int
check_hibernation(struct nt *v, struct err *e)
{
	nt_ask(v);
	if (ntfs_volume_check_hiberfile(v->vol, 1) == 0)
		return 0;
	if (errno != EPERM)
		return nt_fail(v, e, "hiberfil.sys");
	return err_set(
	    e, ERR_REFUSED, "Windows is hibernated, or was shut down for a fast start");
}

int
nt_check_clean(struct nt *v, struct err *e)
{
	if (check_volume(v, e) != 0 || check_log(v, e) != 0)
		return -1;
	return check_hibernation(v, e);
}

int
nt_has_shadows(const struct nt *v, bool *has, struct err *e)
{
	static const uint8_t id[16] = { 0x6b, 0x87, 0x08, 0x38, 0x76, 0xc1, 0x48, 0x4e,
		0xb7, 0xae, 0x04, 0x04, 0x6e, 0x6c, 0xc7, 0x52 };
	uint8_t header[SHADOWS_BYTES];

	*has = false;
	if (v->boot.sectors * SECTOR_BYTES < SHADOWS_AT + sizeof header)
		return 0;
	if (disk_read(v->disk, header, sizeof header,
		v->part.off * SECTOR_BYTES + SHADOWS_AT, e) != 0)
		return -1;
	struct rd catalog = rd_from(header + SHADOWS_CATALOG_AT, 8);
	*has = memcmp(header, id, sizeof id) == 0 && rd_le64(&catalog) != 0;
	return 0;
}
