/* Chunks that cannot be proved, or are not of the same kind as the first one, are sent
 * back: plain, signed and encrypted images.  The load goes on with what is right. */
#include <stdio.h>
#include <unistd.h>

#include "common/image/format/crypt.h"
#include "common/image/format/ext.h"
#include "common/image/format/sign.h"
#include "tests/unit/feeder_news.h"
#include "tests/unit/feeder_onto.h"
#include "tests/unit/scratch.h"
#include "tests/unit/sealed_chunks.h"

enum { BUFFERS = 4 };

static struct destination onto;

static void
put(struct feeder *s, uint32_t number, const uint8_t *chunk)
{
	memcpy(feeder_buffer(s, 1), chunk, NDZ_CHUNK_BYTES);
	feed(s, number, 1, NDZ_CHUNK_BYTES);
}

static bool
accepted(struct feeder *s, uint32_t number, const uint8_t *chunk)
{
	put(s, number, chunk);
	return hears(FEEDER_FREE, 1);
}

/* All of it is to come again, because of this. */
static bool
sent_back(struct feeder *s, uint32_t number, const uint8_t *chunk, const char *why)
{
	put(s, number, chunk);
	if (!hears(FEEDER_DAMAGED, 1))
		return false;
	const uint32_t told = feeder_back(s, 1)->came.number;
	const struct err *damage = &feeder_back(s, 1)->why;
	printf("# chunk %u: %s\n", told, damage->text);
	return blockmap_count(&feeder_back(s, 1)->bad) == WIRE_CHUNK_BLOCKS &&
	       told == number && strstr(damage->text, why) != NULL;
}

static const uint8_t *
spoiled(const uint8_t *chunk, size_t at, const char *with, size_t n)
{
	static uint8_t bad[NDZ_CHUNK_BYTES];

	memcpy(bad, chunk, sizeof bad);
	memcpy(bad + at, with, n);
	return bad;
}

static size_t
area_at(const uint8_t *chunk)
{
	struct ndz_header h;

	T_CHECK(ndz_header_get(&h, chunk, NDZ_CHUNK_BYTES, &e) == 0);
	return ext_area_at(&h);
}

static struct feeder *
begin(const char *target, const char *verify_key, const char *decrypt)
{
	onto = (struct destination){ .name = target,
		.install.opener = { verify_key, decrypt } };
	T_CHECK(mailbox_new(&box, BUFFERS + FEEDER_EVENTS, &e) == 0);
	struct feeder *s = feeder_onto(&onto, BUFFERS, box);
	feeder_expect(s, CHUNKS);
	return s;
}

static void
end_well(struct feeder *s)
{

	feeder_end(s);
	T_CHECK(hears(FEEDER_DONE, 0));
	T_CHECK(feeder_close(s, NULL, &e) == 0);
	T_CHECK(onto.stats.chunks == CHUNKS);
	mailbox_free(box);
}

/* A single wrong block can make the chunk lack its extension area, be of a codec or a
 * version that nobody knows, or seem to be encrypted. */
static void
test_plain(void)
{
	static uint8_t of_another[CHUNKS][NDZ_CHUNK_BYTES];
	struct sealer_config none = { 0 };

	make_plain(&none, 2);
	memcpy(of_another, plain, sizeof plain);
	make_plain(&none, 1);
	struct feeder *s = begin("plain", NULL, NULL);
	T_CHECK(accepted(s, 0, plain[0]));
	T_CHECK(sent_back(s, 1, spoiled(plain[1], area_at(plain[1]), "\0\0\0\0\0\0\0", 8),
	    "lacks an extension area"));
	T_CHECK(sent_back(s, 1, spoiled(plain[1], 0, "NDZE", 4), "codec"));
	T_CHECK(sent_back(s, 1, spoiled(plain[1], 0, "\4\0\0\0", 4), ""));
	T_CHECK(sent_back(s, 1, spoiled(plain[1], 0, "\6\0\0\0", 4), ""));
	T_CHECK(sent_back(s, 1, plain[2], "is not at its place"));
	T_CHECK(sent_back(s, 1, of_another[1], "belongs to another image"));
	T_CHECK(accepted(s, 1, plain[1]));
	T_CHECK(accepted(s, 2, plain[2]));
	end_well(s);
}

static void
test_signed(void)
{
	struct sealer_config cfg = { .sign = "a.key" };

	make_sealed(&cfg, 1);
	struct feeder *s = begin("signed", "a.pub", NULL);
	T_CHECK(sent_back(s, 0, plain[0], "not signed"));
	T_CHECK(accepted(s, 0, sealed[0]));
	T_CHECK(sent_back(s, 1, plain[1], "not signed"));
	T_CHECK(sent_back(s, 1,
	    spoiled(sealed[1], area_at(sealed[1]), "\0\0\0\0\0\0\0", 8), ""));
	T_CHECK(sent_back(s, 1, sealed[2], ""));
	T_CHECK(accepted(s, 1, sealed[1]));
	T_CHECK(accepted(s, 2, sealed[2]));
	end_well(s);
	/* Who has no key demands no less of the others than of the first. */
	s = begin("signed2", NULL, NULL);
	T_CHECK(accepted(s, 0, sealed[0]));
	T_CHECK(sent_back(s, 1, plain[1], "is not signed, unlike"));
	T_CHECK(accepted(s, 1, sealed[1]));
	T_CHECK(accepted(s, 2, sealed[2]));
	end_well(s);
}

static void
test_encrypted(void)
{
	struct sealer_config cfg = { .encrypt = "a.enc" };

	make_sealed(&cfg, 1);
	struct feeder *s = begin("encrypted", NULL, "a.enc");
	/* Any block, the first one, too. */
	T_CHECK(sent_back(s, 0, spoiled(sealed[0], 8000, "wrong", 5), ""));
	T_CHECK(sent_back(s, 0, spoiled(sealed[0], 1000000, "wrong", 5), ""));
	T_CHECK(sent_back(s, 0, spoiled(sealed[0], 30, "wrong", 5), ""));
	T_CHECK(sent_back(s, 0, plain[0], "not encrypted"));
	T_CHECK(accepted(s, 0, sealed[0]));
	T_CHECK(sent_back(s, 1, sealed[2], "is not at its place"));
	T_CHECK(sent_back(s, 2, plain[2], "not encrypted"));
	T_CHECK(accepted(s, 2, sealed[2]));
	T_CHECK(accepted(s, 1, sealed[1]));
	end_well(s);
	s = begin("no_key", NULL, NULL);
	T_CHECK(sent_back(s, 0, sealed[0], "is encrypted"));
	T_CHECK(feeder_close(s, NULL, &e) == -1);
	mailbox_free(box);
}

int
main(void)
{
	scratch_init();
	T_CHECK(chdir(scratch_dir) == 0);
	T_CHECK(sign_make_keys("a", &e) == 0);
	T_CHECK(crypt_make_key("a.enc", &e) == 0);
	test_plain();
	test_signed();
	test_encrypted();
	return t_done();
}
