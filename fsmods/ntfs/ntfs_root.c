/* ntfs_root.c: finds a few files in the root directory. ntfs_scan() calls this, in the
 * child. The child has one thread.
 *
 * The library reads the directory's index from end to end, that is, the index root and
 * all blocks that the index's bitmap calls in use, in the order of the disk. A wrong
 * order in the tree cannot hide a name, and no table of upper case is needed.
 */
#include "fsmods/ntfs/ntfs_impl.h" /* first: the library's headers need it */

#include <stdlib.h>
#include <string.h>

#include <ntfs-3g/dir.h>

static const char *const names[NT_SPECIALS] = {
	[NT_PAGEFILE] = "pagefile.sys",
	[NT_SWAPFILE] = "swapfile.sys",
	[NT_HIBERFIL] = "hiberfil.sys",
};

/* Compare with an ASCII name without regard to case, as Windows does. */
static bool
name_is(const ntfschar *utf16, int n, const char *want)
{
	if (n < 0 || (size_t)n != strlen(want))
		return false;
	for (int i = 0; i < n; i++) {
		uint16_t c = le16_to_cpu(utf16[i]);
		if (c >= 'A' && c <= 'Z')
			c += 'a' - 'A';
		if (c != (uint8_t)want[i])
			return false;
	}
	return true;
}

static int
note(void *arg, const ntfschar *name, const int n, const int type, const s64 pos,
    const MFT_REF ref, const unsigned kind)
{
	struct nt_found *found = arg;

	(void)type, (void)pos, (void)kind;
	for (unsigned i = 0; i < NT_SPECIALS; i++)
		if (name_is(name, n, names[i])) {
			found[i].n++;
			found[i].ref = ref;
		}
	return 0;
}

int
nt_root_find(struct nt *v, struct nt_found found[NT_SPECIALS], struct err *e)
{
	ntfs_inode *root;
	s64 pos = 0;

	memset(found, 0, NT_SPECIALS * sizeof found[0]);
	if (nt_file(v, FILE_root, &root, e) != 0)
		return -1;
	nt_ask(v);
	int rc = ntfs_readdir(root, &pos, found, note);
	if (rc != 0)
		nt_fail(v, e, "the root directory");
	ntfs_inode_close(root);
	return rc != 0 ? -1 : 0;
}
