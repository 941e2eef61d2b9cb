/* What comes from an object store: lists and tables of packs, whole, cut and altered.
 */
#include <stdlib.h>
#include <string.h>

#include "emustore/s3/s3_list.h"
#include "emustore/s3/s3_role.h"
#include "emustore/store/toc.h"
#include "tests/t.h"

static const char page_text[] =
    "<?xml version=\"1.0\"?><!-- x --><ListBucketResult xmlns='a>b'>"
    "<Contents><Key>p/a&amp;b</Key><LastModified>2026-11-21T11:30:12.000Z</"
    "LastModified>"
    "<ETag>&quot;x1&quot;</ETag><Size>17</Size><Owner><ID>9</ID></Owner></Contents>"
    "<Contents><Key>p/b</Key><LastModified>2026-11-21T11:30:12Z</LastModified>"
    "<Size>0</Size><Odd/></Contents>"
    "<IsTruncated>true</IsTruncated><NextContinuationToken>t&#43;</"
    "NextContinuationToken>"
    "</ListBucketResult>\n";

static int
count(void *arg, const struct object *o, struct err *e)
{
	(void)e;
	++*(int *)arg;
	if (strcmp(o->key, "a&b") == 0) {
		T_CHECK(o->bytes == 17);
		T_CHECK(o->modified == 1795260612);
		T_CHECK(strcmp(o->etag, "x1") == 0);
	}
	return 0;
}

static int
parse(const char *text, size_t n, int *objects, struct s3_page *page)
{
	struct err e;

	*objects = 0;
	memset(page, 0, sizeof *page);
	return s3_list_page(text, n, "p/", page, count, objects, &e);
}

static void
test_list(void)
{
	struct s3_page page;
	struct err e;
	int n;

	T_CHECK(parse(page_text, strlen(page_text), &n, &page) == 0);
	T_CHECK(n == 2);
	T_CHECK(page.more);
	T_CHECK(strcmp(page.token, "t+") == 0);
	T_CHECK(s3_list_page(page_text, strlen(page_text), "p/", &page, count, &n,
		    &e) != 0); /* the same page again */
	bool all = true;
	for (size_t len = 0; len + 1 < strlen(page_text); len++) {
		char *cut = malloc(len + 1);
		memcpy(cut, page_text, len);
		all = all && parse(cut, len, &n, &page) != 0;
		free(cut);
	}
	T_CHECK(all);
	static const char *const bad[] = {
		"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
		"<ListBucketResult>&x;</ListBucketResult>", "<a></a>",
		"<ListBucketResult></ListBucketResult><a/>",
		"<ListBucketResult><Contents><Key>p</Key></Contents></ListBucketResult>"
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		T_CHECK(parse(bad[i], strlen(bad[i]), &n, &page) != 0);
}

/* A server may say that there is more, and send nothing, but not for ever. */
static void
test_empty_pages(void)
{
	static const char text[] =
	    "<ListBucketResult><IsTruncated>true</IsTruncated>"
	    "<NextContinuationToken>t</NextContinuationToken></ListBucketResult>";
	struct s3_page page = { 0 };
	struct err e;
	int n = 0, pages = 0;

	while (pages < 1000 &&
	       s3_list_page(text, strlen(text), "p/", &page, count, &n, &e) == 0)
		pages++;
	T_CHECK(pages >= 10);
	T_CHECK(pages < 1000);
	T_CHECK(n == 0);
}

static void
test_error(void)
{
	static const char text[] =
	    "<Error><Code>No&#x9b;Such</Code><Message>gone</Message></Error>";
	static const char half[] = "<Error><Code>Gone</Code><Message>\033";
	char out[100];

	s3_error_text(text, strlen(text), out, sizeof out);
	T_CHECK(strcmp(out, "No?Such: gone") == 0);
	s3_error_text(half, strlen(half), out, sizeof out);
	T_CHECK(strcmp(out, "Gone") == 0);
	s3_error_text("<Err", 4, out, sizeof out);
	T_CHECK(out[0] == '\0');
}

/* What a machine's role has, whole, cut, and not as it should be. */
static void
test_role(void)
{
	static const char text[] =
	    "{\"Code\": \"Success\", \"AccessKeyId\": \"ASIA1\", \"SecretAccessKey\": "
	    "\"s\\/cr+et\", \"Token\": \"IQo=\", \"Expiration\": \"2026-11-23T10:00:00Z\"}";
	static const char *const bad[] = { "", "{}", "[]", "null", "7", "{\"AccessKeyId\":\"a\"}",
		"{\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"\"}",
		"{\"AccessKeyId\":\"a b\",\"SecretAccessKey\":\"c\"}",
		"{\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"c\\u0000\",\"Token\":\"\\n\"}" };
	struct s3_config c = { 0 };
	struct err e;
	bool all = true;

	T_CHECK(s3_role_parse(&c, text, strlen(text), &e) == 0);
	T_CHECK(strcmp(c.id, "ASIA1") == 0 && strcmp(c.secret, "s/cr+et") == 0);
	T_CHECK(strcmp(c.token, "IQo=") == 0 && c.expires == 1795428000);
	for (size_t n = 0; n < strlen(text); n++)
		all = all && s3_role_parse(&c, text, n, &e) != 0 && c.id[0] == '\0';
	T_CHECK(all);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		T_CHECK(s3_role_parse(&c, bad[i], strlen(bad[i]), &e) != 0);
	/* Without a token, and for ever. */
	static const char plain[] = "{\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"b\"}";
	T_CHECK(s3_role_parse(&c, plain, strlen(plain), &e) == 0);
	T_CHECK(c.token[0] == '\0' && c.expires == 0);
}

static void
test_toc(void)
{
	struct buf pack = { 0 }, list = { 0 }, out = { 0 };
	struct pack_fragment f = { .at = 40, .bytes = 1000 }, g;
	char id[PACK_ID_CHARS + 1], other[PACK_ID_CHARS + 1];
	struct toc t;
	struct err e;

	memset(buf_room(&pack, TOC_BLOCK_BYTES + 5000), 7, TOC_BLOCK_BYTES + 5000);
	toc_add(&list, &f);
	f.at = TOC_BLOCK_BYTES;
	f.head.sha256[0] = 9;
	toc_add(&list, &f);
	T_CHECK(toc_make(&out, pack.base, pack.len, &list, id, &e) == 0);
	T_CHECK(pack_id_ok(id));
	T_CHECK(toc_open(&t, id, out.base, out.len, &e) == 0);
	T_CHECK(t.nblocks == 2);
	T_CHECK(t.nfragments == 2);
	T_CHECK(t.pack_bytes == pack.len);
	T_CHECK(toc_next(&t, &g));
	T_CHECK(g.at == 40);
	T_CHECK(g.bytes == 1000);
	T_CHECK(toc_next(&t, &g));
	T_CHECK(g.at == TOC_BLOCK_BYTES);
	T_CHECK(g.head.sha256[0] == 9);
	T_CHECK(!toc_next(&t, &g));
	bool all = true;
	for (size_t n = 0; n < out.len; n++)
		all = all && toc_open(&t, id, out.base, n, &e) != 0;
	T_CHECK(all);
	for (size_t i = 0; i < out.len; i++) {
		out.base[i] ^= 1;
		all = all && toc_open(&t, id, out.base, out.len, &e) != 0;
		out.base[i] ^= 1;
	}
	T_CHECK(all);
	/* The same fragments again are another pack. */
	out.len = 0;
	T_CHECK(toc_make(&out, pack.base, pack.len, &list, other, &e) == 0);
	T_CHECK(strcmp(id, other) != 0);
	buf_free(&pack), buf_free(&list), buf_free(&out);
}

int
main(void)
{
	test_list();
	test_empty_pages();
	test_error();
	test_role();
	test_toc();
	return t_done();
}
