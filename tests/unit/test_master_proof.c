/* Proofs that a client has a token: made and recognised, in both requests; every changed bit, another
 * token, another length and a name that is too long; challenges of another time, address or server. */
#include "common/wire/master_proof.h"

#include <string.h>

#include "mfrisbeed/master/challenge.h"
#include "tests/t.h"

static struct err e;
static const uint8_t token[MASTER_TOKEN_BYTES] = { 1, 2, 3 }, other[MASTER_TOKEN_BYTES] = { 1, 2 };
static const uint8_t challenge[MASTER_CHALLENGE_BYTES] = { 5, 6, 7 };

static void
test_request(uint8_t *request, size_t bytes)
{
	const uint8_t *got;

	T_CHECK(!master_proof_get(request, bytes, &got));
	T_CHECK(!master_proof_is_by(request, bytes, token));
	T_CHECK(master_proof_put(request, bytes, NULL, token, &e) == 0);
	T_CHECK(master_proof_get(request, bytes, &got));
	T_CHECK(!master_proof_is_by(request, bytes, token));
	T_CHECK(master_proof_put(request, bytes, challenge, token, &e) == 0);
	T_CHECK(master_proof_get(request, bytes, &got));
	T_CHECK(memcmp(got, challenge, sizeof challenge) == 0);
	T_CHECK(master_proof_is_by(request, bytes, token));
	T_CHECK(!master_proof_is_by(request, bytes, other));
	for (size_t n = 0; n < bytes; n++)
		T_CHECK(!master_proof_is_by(request, n, token));
	for (size_t bit = 0; bit < bytes * 8; bit++) {
		request[bit / 8] ^= (uint8_t)(1 << bit % 8);
		T_CHECK(!master_proof_is_by(request, bytes, token));
		request[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	T_CHECK(master_proof_is_by(request, bytes, token));
}

static void
test_requests(void)
{
	uint8_t get[MASTER_GET_BYTES], put[MASTER_PUT_BYTES];
	struct master_get g = { .methods = MASTER_MULTICAST, .name = "web" }, back;
	struct master_put p = { .name = "web", .bytes = 1 << 20 }, put_back;

	master_get_write(&g, get);
	test_request(get, sizeof get);
	T_CHECK(master_get_read(&back, get, sizeof get, &e) == 0);
	T_CHECK(strcmp(back.name, "web") == 0);
	master_put_write(&p, put);
	test_request(put, sizeof put);
	T_CHECK(master_put_read(&put_back, put, sizeof put, &e) == 0);
	T_CHECK(put_back.bytes == 1 << 20);
}

static void
test_long_names(void)
{
	struct master_get g = { .methods = MASTER_MULTICAST };
	uint8_t get[MASTER_GET_BYTES];

	memset(g.name, 'n', MASTER_PROVED_NAME_MAX);
	master_get_write(&g, get);
	T_CHECK(master_proof_put(get, sizeof get, challenge, token, &e) == 0);
	T_CHECK(master_proof_is_by(get, sizeof get, token));
	g.name[MASTER_PROVED_NAME_MAX] = 'n';
	master_get_write(&g, get);
	T_CHECK(master_proof_put(get, sizeof get, challenge, token, &e) == -1);
	T_CHECK(e.kind == ERR_USAGE);
	T_CHECK(!master_proof_is_by(get, sizeof get, token));
}

static void
test_challenges(void)
{
	static const uint8_t here[4] = { 10, 0, 0, 1 }, there[4] = { 10, 0, 0, 2 };
	const uint64_t minute_us = 60000000, at_us = 5 * minute_us;
	uint8_t c[MASTER_CHALLENGE_BYTES];
	struct challenge one, another;

	challenge_init(&one);
	challenge_init(&another);
	challenge_make(&one, at_us, here, c);
	T_CHECK(challenge_holds(&one, at_us, here, c));
	T_CHECK(challenge_holds(&one, at_us + minute_us, here, c));
	T_CHECK(!challenge_holds(&one, at_us + minute_us + 1, here, c));
	T_CHECK(!challenge_holds(&one, at_us - 1, here, c));
	T_CHECK(!challenge_holds(&one, at_us, there, c));
	T_CHECK(!challenge_holds(&another, at_us, here, c));
	for (size_t bit = 0; bit < sizeof c * 8; bit++) {
		c[bit / 8] ^= (uint8_t)(1 << bit % 8);
		T_CHECK(!challenge_holds(&one, at_us, here, c));
		c[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

int
main(void)
{
	test_requests();
	test_long_names();
	test_challenges();
	return t_done();
}
