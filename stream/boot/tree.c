/* tree.c: reads files of an ext filesystem with libext2fs, or of a folder.  The other files of this
 * folder call it, in the first thread. */
#include "stream/boot/tree.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fsmods/ext_io.h"
#include "stream/boot/mounted.h"

enum { NAME_CAP = 256, READ_BYTES = 1 << 20 };

struct tree {
	int root; /* the folder; -1: the filesystem below is read here */
	struct ext_io io;
	ext2_filsys fs;
};

static int
fail(struct err *e, errcode_t rc, const char *path)
{
	return err_set(e, rc == EXT2_ET_FILE_NOT_FOUND ? ERR_ABSENT : ERR_FORMAT, "%s: %s", path,
	    error_message(rc));
}

int
tree_open(struct tree **out, struct disk *d, struct range part, struct err *e)
{
	struct tree *t = calloc(1, sizeof *t);

	if (t == NULL)
		return err_nomem(e, disk_name(d));
	t->root = -1;
	t->io = (struct ext_io){ d, part };
	errcode_t rc = ext_io_open(&t->io, &t->fs);
	if (rc == 0) {
		*out = t;
		return 0;
	}
	free(t);
	return err_set(e, ERR_UNSUPPORTED, "%s: no ext filesystem: %s", disk_name(d),
	    error_message(rc));
}

int
tree_open_mounted(struct tree **out, const char *folder, struct err *e)
{
	struct tree *t = calloc(1, sizeof *t);

	if (t == NULL)
		return err_nomem(e, folder);
	t->root = mounted_open(folder, e);
	if (t->root < 0) {
		free(t);
		return -1;
	}
	*out = t;
	return 0;
}

void
tree_close(struct tree *t)
{
	if (t == NULL)
		return;
	if (t->root >= 0)
		close(t->root);
	else
		ext2fs_free(t->fs);
	free(t);
}

int
tree_filesystem(struct tree *t, const char *path, const char **name, struct err *e)
{
	if (t->root >= 0)
		return mounted_filesystem(t->root, path, name, e);
	*name = "ext4";
	return 0;
}

static errcode_t
find(struct tree *t, const char *path, ext2_ino_t *ino)
{
	return ext2fs_namei_follow(t->fs, EXT2_ROOT_INO, EXT2_ROOT_INO, path, ino);
}

bool
tree_has(struct tree *t, const char *path)
{
	ext2_ino_t ino;

	return t->root >= 0 ? mounted_has(t->root, path) : find(t, path, &ino) == 0;
}

/* What tree_list() was asked, for list_one(). */
struct listing {
	bool (*each)(void *arg, const char *name);
	void *arg;
};

static int
list_one(struct ext2_dir_entry *entry, int offset, int blocksize, char *buf, void *priv)
{
	struct listing *l = priv;
	char name[NAME_CAP];
	size_t n = (size_t)ext2fs_dirent_name_len(entry);

	(void)offset, (void)blocksize, (void)buf;
	if (n >= sizeof name)
		return 0;
	memcpy(name, entry->name, n);
	name[n] = '\0';
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	return l->each(l->arg, name) ? 0 : DIRENT_ABORT;
}

int
tree_list(struct tree *t, const char *path, bool (*each)(void *arg, const char *name), void *arg,
    struct err *e)
{
	struct listing l = { each, arg };
	ext2_ino_t ino;

	if (t->root >= 0)
		return mounted_list(t->root, path, each, arg, e);
	errcode_t rc = find(t, path, &ino);
	if (rc == 0)
		rc = ext2fs_dir_iterate(t->fs, ino, 0, NULL, list_one, &l);
	return rc == 0 ? 0 : fail(e, rc, path);
}

static int
read_file(ext2_file_t f, const char *path, size_t most_bytes, struct buf *b, struct err *e)
{
	__u64 left;
	unsigned got;
	errcode_t rc = ext2fs_file_get_lsize(f, &left);

	if (rc == 0 && left > most_bytes)
		return err_set(e, ERR_UNSUPPORTED, "%s: has more than %zu bytes", path, most_bytes);
	for (; rc == 0 && left > 0; left -= got) {
		unsigned n = left < READ_BYTES ? (unsigned)left : READ_BYTES;
		uint8_t *to = buf_room(b, n);
		if (to == NULL)
			return err_nomem(e, path);
		rc = ext2fs_file_read(f, to, n, &got);
		if (rc == 0 && got != n)
			return err_set(e, ERR_FORMAT, "%s: is shorter than its inode says", path);
	}
	return rc == 0 ? 0 : fail(e, rc, path);
}

int
tree_read(struct tree *t, const char *path, size_t most_bytes, struct buf *b, struct err *e)
{
	ext2_file_t f;
	ext2_ino_t ino;

	if (t->root >= 0)
		return mounted_read(t->root, path, most_bytes, b, e);
	errcode_t rc = find(t, path, &ino);
	if (rc == 0)
		rc = ext2fs_file_open(t->fs, ino, 0, &f);
	if (rc != 0)
		return fail(e, rc, path);
	int result = read_file(f, path, most_bytes, b, e);
	ext2fs_file_close(f);
	return result;
}
