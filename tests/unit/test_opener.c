/* Signed and encrypted chunks: round trips, and every way to spoil them. */
#include "common/image/format/opener.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/keyfile.h"
#include "common/image/format/crypt.h"
#include "common/image/format/sign.h"
#include "common/image/read/chunk.h"
#include "tests/unit/scratch.h"
#include "tests/unit/sealed_chunks.h"

static uint8_t work[NDZ_CHUNK_BYTES];

static enum err_kind
open_copy(struct opener *p, uint32_t number, const uint8_t *chunk)
{
	memcpy(work, chunk, NDZ_CHUNK_BYTES);
	return opener_open(p, number, work, &e) == 0 ? ERR_NONE : e.kind;
}

static struct opener *
opener_of(const char *verify_key, const char *decrypt)
{
	struct opener_config c = { verify_key, decrypt };
	struct opener *p;

	T_CHECK(opener_new(&p, &c, &e) == 0);
	T_CHECK(p != NULL);
	return p;
}

/* Is it a whole chunk again? */
static bool
reads_well(const uint8_t *bytes)
{
	struct decoder *d = decoder_new();
	struct chunk c;
	bool ok = chunk_parse(&c, bytes, &e) == 0;

	if (ok) {
		ok = chunk_verify(&c, bytes, d, &e) == 0;
		chunk_free(&c);
	}
	decoder_free(d);
	return ok;
}

static void
test_files(void)
{
	struct stat st;
	struct crypt *c;
	struct signer *s;
	struct verifier *v;
	char text[KEYFILE_BYTES_MAX + 1];
	size_t n;

	T_CHECK(sign_make_keys("a", &e) == 0);
	T_CHECK(sign_make_keys("b", &e) == 0);
	T_CHECK(crypt_make_key("a.enc", &e) == 0);
	T_CHECK(crypt_make_key("b.enc", &e) == 0);
	T_CHECK(stat("a.key", &st) == 0);
	T_CHECK((st.st_mode & 0777) == 0600);
	T_CHECK(stat("a.enc", &st) == 0);
	T_CHECK((st.st_mode & 0777) == 0600);
	T_CHECK(sign_make_keys("a", &e) == -1);
	T_CHECK(e.kind == ERR_REFUSED);
	T_CHECK(crypt_make_key("a.enc", &e) == -1);
	T_CHECK(e.kind == ERR_REFUSED);
	T_CHECK(signer_new(&s, "a.pub", &e) == -1);
	T_CHECK(verifier_new(&v, "a.key", &e) == -1);
	T_CHECK(verifier_new(&v, "a.enc", &e) == -1);
	T_CHECK(crypt_new(&c, "a.key", &e) == -1);
	T_CHECK(e.kind == ERR_FORMAT);
	static const mode_t open_to[] = { 0640, 0604, 0620, 0602 };
	for (unsigned i = 0; i < 4; i++) {
		chmod("a.key", open_to[i]);
		chmod("a.enc", open_to[i]);
		T_CHECK(signer_new(&s, "a.key", &e) == -1);
		T_CHECK(e.kind == ERR_REFUSED);
		T_CHECK(crypt_new(&c, "a.enc", &e) == -1);
		T_CHECK(e.kind == ERR_REFUSED);
	}
	chmod("a.key", 0600);
	chmod("a.enc", 0600);
	/* Every truncation of a key file but for its last line end. */
	T_CHECK(keyfile_read("a.enc", KEYFILE_ENCRYPTION, text, &n, &e) == 0);
	bool refused = true;
	for (size_t i = 0; i < n - 1; i++) {
		unlink("cut");
		if (keyfile_write("cut", true, text, i, &e) != 0 ||
		    crypt_new(&c, "cut", &e) == 0)
			refused = false;
	}
	T_CHECK(refused);
}

static void
test_signed(void)
{
	struct opener *p = opener_of("a.pub", NULL), *other = opener_of("b.pub", NULL);

	make_sealed(&(struct sealer_config){ .sign = "a.key" }, 1);
	for (unsigned i = 0; i < CHUNKS; i++) {
		T_CHECK(open_copy(p, i, sealed[i]) == ERR_NONE);
		T_CHECK(memcmp(work, sealed[i], sizeof work) == 0);
		T_CHECK(reads_well(sealed[i]));
		T_CHECK(open_copy(p, i, plain[i]) == ERR_REFUSED); /* left out */
		T_CHECK(open_copy(other, i, sealed[i]) == ERR_REFUSED);
		for (unsigned k = 0; k < CHUNKS; k++)
			T_CHECK(k == i || open_copy(p, k, sealed[i]) == ERR_FORMAT);
	}
	opener_free(p);
	opener_free(other);
}

/* From, to: bytes of which every bit is flipped; of the others, one bit of every
 * step bytes. */
static bool
all_flips_found(
    struct opener *p, uint32_t number, const uint8_t *chunk, size_t to, size_t step)
{
	static uint8_t bad[NDZ_CHUNK_BYTES];
	unsigned missed = 0;

	memcpy(bad, chunk, sizeof bad);
	for (size_t at = 0; at < sizeof bad; at += at < to ? 1 : step) {
		for (unsigned bit = at < to ? 0 : at % 8; bit < 8;
		     bit += at < to ? 1 : 8) {
			bad[at] ^= (uint8_t)(1 << bit);
			if (open_copy(p, number, bad) == ERR_NONE) {
				printf("# byte %zu, bit %u is not covered\n", at, bit);
				missed++;
			}
			bad[at] ^= (uint8_t)(1 << bit);
		}
	}
	return missed == 0 && open_copy(p, number, bad) == ERR_NONE;
}

static size_t
used_bytes(const uint8_t *chunk)
{
	size_t n = NDZ_CHUNK_BYTES;

	while (n > 0 && chunk[n - 1] == 0)
		n--;
	return n;
}

/* Every bit from the stream to the signature's end, without the header's zeros. */
static void
test_flips_signed(void)
{
	struct verifier *v;
	uint8_t *bad = malloc(NDZ_CHUNK_BYTES);
	unsigned missed = 0;

	T_CHECK(verifier_new(&v, "a.pub", &e) == 0);
	make_sealed(&(struct sealer_config){ .sign = "a.key" }, 1);
	memcpy(bad, sealed[2], NDZ_CHUNK_BYTES);
	size_t end = used_bytes(bad);
	T_CHECK(end > NDZ_HEADER_BYTES);
	T_CHECK(end < NDZ_HEADER_BYTES + 1024);
	for (size_t at = 0; at < NDZ_CHUNK_BYTES; at += at < end + 64 ? 1 : 4093)
		for (unsigned bit = 0; bit < 8; bit++) {
			if (at >= 128 && at < NDZ_HEADER_BYTES && bit != at % 8)
				continue;
			bad[at] ^= (uint8_t)(1 << bit);
			missed += verify_chunk(v, 2, bad, &e) == 0;
			bad[at] ^= (uint8_t)(1 << bit);
		}
	T_CHECK(missed == 0);
	T_CHECK(verify_chunk(v, 2, bad, &e) == 0);
	/* Cut short anywhere, the rest zeros. */
	for (size_t at = end; at-- > 0;) {
		if (at >= 128 && at < NDZ_HEADER_BYTES && at % 64 != 0)
			continue;
		bool differs = bad[at] != 0;
		bad[at] = 0;
		missed += differs && verify_chunk(v, 2, bad, &e) == 0;
	}
	T_CHECK(missed == 0);
	verifier_free(v);
	free(bad);
}

static void
test_encrypted(bool with_signature)
{
	const struct sealer_config cfg = { .encrypt = "a.enc",
		.sign = with_signature ? "a.key" : NULL };
	struct opener *p = opener_of(with_signature ? "a.pub" : NULL, "a.enc");
	struct opener *other = opener_of(NULL, "b.enc"),
		     *no_key = opener_of("a.pub", NULL);
	struct ndz_header h;

	make_sealed(&cfg, 1);
	for (unsigned i = 0; i < CHUNKS; i++) {
		T_CHECK(open_copy(p, i, sealed[i]) == ERR_NONE);
		T_CHECK(reads_well(work));
		if (!with_signature)
			T_CHECK(memcmp(work, plain[i], sizeof work) == 0);
		T_CHECK(memmem(sealed[i], NDZ_CHUNK_BYTES, "NDZ-EXT1", 8) == NULL);
		T_CHECK(!reads_well(sealed[i]));
		T_CHECK(e.kind == ERR_UNSUPPORTED);
		T_CHECK(ndz_header_get(&h, sealed[i], NDZ_CHUNK_BYTES, &e) == 0);
		T_CHECK(h.encrypted);
		T_CHECK(open_copy(other, i, sealed[i]) == ERR_REFUSED);
		T_CHECK(open_copy(no_key, i, sealed[i]) == ERR_UNSUPPORTED);
		T_CHECK(open_copy(p, i, plain[i]) == ERR_REFUSED);
		for (unsigned k = 0; k < CHUNKS; k++)
			T_CHECK(k == i || open_copy(p, k, sealed[i]) == ERR_FORMAT);
	}
	T_CHECK(all_flips_found(p, 2, sealed[2], 96, 4093));
	memcpy(work, sealed[2], sizeof work);
	for (unsigned bit = 0; bit < 8 * CRYPT_TAG_BYTES; bit++) {
		sealed[2][NDZ_CHUNK_BYTES - 1 - bit / 8] ^= (uint8_t)(1 << bit % 8);
		T_CHECK(open_copy(p, 2, sealed[2]) == ERR_FORMAT);
		sealed[2][NDZ_CHUNK_BYTES - 1 - bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	/* No two images are encrypted alike, nor two chunks. */
	uint8_t first[64];
	memcpy(first, sealed[0] + NDZ_CHUNK_BYTES / 2, sizeof first);
	T_CHECK(memcmp(first, sealed[1] + NDZ_CHUNK_BYTES / 2, sizeof first) != 0);
	make_sealed(&cfg, 2);
	T_CHECK(memcmp(first, sealed[0] + NDZ_CHUNK_BYTES / 2, sizeof first) != 0);
	opener_free(p);
	opener_free(other);
	opener_free(no_key);
}

/* The bytes of docs/image-format.md, made here by hand. */
static void
test_places(void)
{
	uint8_t id[8];
	struct verifier *v;

	make_sealed(&(struct sealer_config){ .sign = "a.key" }, 1);
	T_CHECK(verifier_new(&v, "a.pub", &e) == 0);
	memcpy(id, verifier_key_id(v), sizeof id);
	verifier_free(v);
	uint8_t *end = sealed[0] + used_bytes(plain[0]);
	uint8_t *r = memmem(end - 8, 64, "\x06\0\0\0\x50\0\0\0\x01\0\0\0\0\0\0\0", 16);
	T_CHECK(r != NULL);
	T_CHECK(memcmp(r + 16, id, 8) == 0);
	make_sealed(&(struct sealer_config){ .encrypt = "a.enc" }, 1);
	T_CHECK(memcmp(sealed[0], "NDZE", 4) == 0);
	T_CHECK(sealed[0][36] == 1);
}

int
main(void)
{
	scratch_init();
	if (chdir(scratch_dir) != 0)
		return 1;
	test_files();
	test_signed();
	test_flips_signed();
	test_encrypted(false);
	test_encrypted(true);
	test_places();
	return t_done();
}
