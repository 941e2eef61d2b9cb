/* Signed and encrypted chunks.  Nothing passes that was not made with the keys; what
 * is sealed comes out as it was; a signature's record behind a right CRC-32 is
 * parsed. */
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "common/base/rd.h"
#include "common/base/wr.h"
#include "common/image/format/crypt.h"
#include "common/image/format/opener.h"
#include "common/image/format/sign.h"
#include "tests/fuzz/chunk_target.h"
#include "tests/tmp.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static struct opener *signature, *both;
static struct crypt *crypt_key;
static struct signer *signer;

static void
must(int rc)
{
	if (rc != 0)
		abort();
}

static void
make_keys(void)
{
	char dir[200], key[220], pub[220], enc[220], name[220];
	struct err e;

	if (!tmp_folder(dir, sizeof dir, "fuzz-keys"))
		abort();
	snprintf(name, sizeof name, "%s/k", dir);
	snprintf(key, sizeof key, "%s/k.key", dir);
	snprintf(pub, sizeof pub, "%s/k.pub", dir);
	snprintf(enc, sizeof enc, "%s/enc", dir);
	must(sign_make_keys(name, &e));
	must(crypt_make_key(enc, &e));
	must(opener_new(&signature, &(struct opener_config){ .verify_key = pub }, &e));
	must(opener_new(&both, &(struct opener_config){ pub, enc }, &e));
	must(crypt_new(&crypt_key, enc, &e));
	must(signer_new(&signer, key, &e));
	must(unlink(key) | unlink(pub) | unlink(enc) | rmdir(dir));
}

static void
right_crc(uint8_t *bytes)
{
	struct rd r = rd_from(bytes + 4, 4);
	size_t at = (NDZ_HEADER_BYTES + (size_t)rd_le32(&r) + 7) / 8 * 8;

	if (at + EXT_HEAD_BYTES > NDZ_CHUNK_BYTES)
		return;
	r = rd_from(bytes + at + 8, 4);
	uint32_t total = rd_le32(&r);
	if (total < EXT_HEAD_BYTES || total > NDZ_CHUNK_BYTES - at)
		return;
	struct wr w = wr_to(bytes + at + 12, 4);
	wr_le32(&w, (uint32_t)crc32(0, bytes + at + 16, total - 16));
}

/* Whatever can be sealed is opened again. */
static void
round_trip(const uint8_t *bytes)
{
	static uint8_t a[NDZ_CHUNK_BYTES], b[NDZ_CHUNK_BYTES];
	struct ndz_header h;
	struct err e;

	memcpy(a, bytes, sizeof a);
	memcpy(b, bytes, sizeof b);
	if (crypt_seal(crypt_key, a, &e) == 0) {
		memset(b + 24, 0, CRYPT_ID_BYTES);
		if (crypt_open(crypt_key, a, &e) != 0 || memcmp(a, b, sizeof a) != 0)
			abort();
	}
	memcpy(a, bytes, sizeof a);
	/* The rest may hold what a signature does not cover. */
	if (sign_chunk(signer, a, &e) == 0 && ndz_header_get(&h, a, sizeof a, &e) == 0)
		opener_open(signature, (uint32_t)h.index, a, &e);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint8_t work[NDZ_CHUNK_BYTES];
	uint8_t *bytes = chunk_input(data, len);
	struct err e;

	if (signer == NULL)
		make_keys();
	if (len >= NDZ_HEADER_BYTES)
		right_crc(bytes);
	memcpy(work, bytes, sizeof work);
	if (opener_open(signature, 0, work, &e) == 0 ||
	    opener_open(both, 0, work, &e) == 0)
		abort();
	round_trip(bytes);
	return 0;
}
