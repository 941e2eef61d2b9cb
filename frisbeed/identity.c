#include "frisbeed/identity.h"

#include <openssl/sha.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/wr.h"

int
identity_of(struct disk *d, uint8_t id[WIREXT_IDENTITY_BYTES], struct err *e)
{
	uint8_t text[40], digest[SHA256_DIGEST_LENGTH];
	struct wr w = wr_to(text, sizeof text);
	struct stat st;

	if (disk_digest(d) != NULL) {
		memcpy(id, disk_digest(d), WIREXT_IDENTITY_BYTES);
		return 0;
	}
	if (fstat(disk_fd(d), &st) != 0)
		return err_os(e, "%s", disk_name(d));
	wr_le64(&w, (uint64_t)st.st_dev);
	wr_le64(&w, (uint64_t)st.st_ino);
	wr_le64(&w, (uint64_t)st.st_size);
	wr_le64(&w, (uint64_t)st.st_mtim.tv_sec);
	wr_le64(&w, (uint64_t)st.st_mtim.tv_nsec);
	SHA256(text, wr_len(&w), digest);
	memcpy(id, digest, WIREXT_IDENTITY_BYTES);
	return 0;
}

bool
identity_named(struct disk *d)
{
	struct stat open, named;

	if (disk_digest(d) != NULL)
		return true;
	return fstat(disk_fd(d), &open) == 0 && stat(disk_name(d), &named) == 0 &&
	       open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}
