/* auth.c: measures in nanoseconds what it costs one processor to authenticate a packet with a
 * block of 1 KiB: first each algorithm of libcrypto that could do it, then all that a sender and a
 * receiver do (--group-key).  bench/ runs this program; it has one thread.
 * A session at 1 Gbit/s has about 115,000 such packets a second. */
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/net/auth.h"

enum { ROUNDS = 200000, BATCH = 64, BYTES = 1048, SECOND = 115000 };

static uint8_t pkt[AUTH_HEADER_BYTES + BYTES];
static uint8_t key[32] = { 1 }, tag[16], out[AUTH_HEADER_BYTES + BYTES];

static double
cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void
must(bool ok)
{
	if (ok)
		return;
	fprintf(stderr, "auth: libcrypto fails\n");
	exit(1);
}

static void
print(const char *what, double ns)
{
	printf("%-44s %6.0f ns  %5.1f %% of a processor at 1 Gbit/s\n", what, ns,
	    ns * SECOND / 1e7);
}

/* The best of many short stretches, since others use the machine, too. */
static void
measure(const char *what, void (*once)(void *, unsigned), void *arg)
{
	double best = 1e9;

	for (unsigned k = 0; k < ROUNDS / BATCH; k++) {
		double start = cpu_ns();
		for (unsigned i = 0; i < BATCH; i++)
			once(arg, k * BATCH + i);
		double ns = (cpu_ns() - start) / BATCH;
		best = ns < best ? ns : best;
	}
	print(what, best);
}

static void
once_gmac(void *g, unsigned i)
{
	struct gmac_part part = { pkt, sizeof pkt };

	must(gmac_tag(g, key, i, &part, 1, tag));
}

static void
once_gmac_rekeyed(void *g, unsigned i)
{
	key[0] = (uint8_t)i;
	once_gmac(g, i);
}

static void
once_aead(void *ctx, unsigned i)
{
	uint8_t nonce[12] = { (uint8_t)i, (uint8_t)(i >> 8), (uint8_t)(i >> 16) };
	int n;

	must(EVP_EncryptInit_ex2(ctx, NULL, NULL, nonce, NULL) == 1 &&
	     EVP_EncryptUpdate(ctx, NULL, &n, pkt, AUTH_HEADER_BYTES) == 1 &&
	     EVP_EncryptUpdate(ctx, out, &n, pkt + AUTH_HEADER_BYTES, BYTES) == 1 &&
	     EVP_EncryptFinal_ex(ctx, out + n, &n) == 1 &&
	     EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, tag) == 1);
}

static void
measure_aead(const char *what, const char *name)
{
	EVP_CIPHER *c = EVP_CIPHER_fetch(NULL, name, NULL);
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	uint8_t nonce[12] = { 0 };

	must(c != NULL && EVP_EncryptInit_ex2(ctx, c, key, nonce, NULL) == 1);
	measure(what, once_aead, ctx);
	EVP_CIPHER_CTX_free(ctx);
	EVP_CIPHER_free(c);
}

static void
once_mac(void *ctx, unsigned i)
{
	size_t n;

	(void)i;
	must(EVP_MAC_init(ctx, key, 16, NULL) == 1 &&
	     EVP_MAC_update(ctx, pkt, sizeof pkt) == 1 &&
	     EVP_MAC_final(ctx, tag, &n, sizeof tag) == 1);
}

static void
measure_siphash(void)
{
	EVP_MAC *m = EVP_MAC_fetch(NULL, "SIPHASH", NULL);
	EVP_MAC_CTX *ctx = EVP_MAC_CTX_new(m);

	must(ctx != NULL);
	measure("SipHash-2-4", once_mac, ctx);
	EVP_MAC_CTX_free(ctx);
	EVP_MAC_free(m);
}

/* A server and a client that it has welcomed. */
struct pair {
	struct auth *server, *client;
};

static void
once_seal(void *arg, unsigned i)
{
	struct pair *p = arg;
	struct gmac_part part[] = { { pkt + AUTH_HEADER_BYTES, 24 },
		{ pkt + AUTH_HEADER_BYTES + 24, BYTES - 24 } };
	struct err e;

	(void)i;
	must(auth_seal(p->server, AUTH_FIRST, part, 2, pkt, &e) == 0);
}

/* The packets are sealed before the time is taken. */
static void
measure_open(struct pair *p)
{
	static uint8_t came[BATCH][sizeof pkt];
	static const uint8_t from[4];
	double best = 1e9;

	for (unsigned k = 0; k < ROUNDS / BATCH; k++) {
		size_t n;
		for (unsigned i = 0; i < BATCH; i++) {
			once_seal(p, i);
			memcpy(came[i], pkt, sizeof pkt);
		}
		double start = cpu_ns();
		for (unsigned i = 0; i < BATCH; i++)
			must(auth_open(p->client, AUTH_FIRST, came[i], sizeof pkt, from, 0,
				 &n) != NULL);
		double ns = (cpu_ns() - start) / BATCH;
		best = ns < best ? ns : best;
	}
	print("receiver: auth_open()", best);
}

/* Of a sender that is not known: its key has to be made before it is seen to be wrong. */
static void
once_forged(void *arg, unsigned i)
{
	static const uint8_t from[4];
	struct pair *p = arg;
	size_t n;

	memcpy(pkt + 8, &i, sizeof i);
	must(auth_open(p->client, AUTH_FIRST, pkt, sizeof pkt, from, 0, &n) == NULL);
}

static void
measure_pair(void)
{
	struct auth_config c = {
		.server = true, .key = key, .id = 1 << 30, .session = 7, .senders = 8
	};
	struct pair p;
	uint8_t hello[AUTH_PACKET_MAX];
	const uint8_t from[4] = { 0 };
	struct err e;
	size_t n;

	must(auth_new(&p.server, &c, &e) == 0);
	c.server = false;
	c.id++;
	c.session = 0;
	must(auth_new(&p.client, &c, &e) == 0);
	n = auth_put_hello(p.client, hello);
	auth_open(p.server, AUTH_FIRST, hello, n, from, 0, &n);
	n = auth_put_welcome(p.server, hello);
	auth_open(p.client, AUTH_FIRST, hello, n, from, 0, &n);
	must(auth_was_welcomed(p.client));
	measure("sender: auth_seal()", once_seal, &p);
	measure_open(&p);
	measure("receiver, of a forged unknown sender", once_forged, &p);
	auth_free(p.server);
	auth_free(p.client);
}

int
main(void)
{
	struct gmac g;
	struct err e;

	must(gmac_init(&g, &e) == 0);
	measure("AES-128-GMAC", once_gmac, &g);
	measure("AES-128-GMAC, another key each time", once_gmac_rekeyed, &g);
	measure_aead("AES-128-GCM, which encrypts", "AES-128-GCM");
	measure_aead("ChaCha20-Poly1305, which encrypts", "ChaCha20-Poly1305");
	measure_siphash();
	measure_pair();
	gmac_fini(&g);
	return 0;
}
