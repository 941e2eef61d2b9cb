/* A client that has received all chunks and still writes them: it tells the server so at the second
 * port, and says nothing where it could not open one.  What became of its disk, it says at the end. */
#include "tests/t.h"
#include "tests/unit/client_ext_talk.h"

enum { SECOND = 1000 * MS };

static void
receive_all(struct client *c, uint64_t now)
{
	uint32_t chunk, buf, bytes, taken = 0;

	for (uint32_t i = 0; i < CHUNKS; i++)
		for (uint32_t b = 0; b < WIRE_CHUNK_BLOCKS; b++)
			block_comes(c, now, i, b);
	while (client_take(c, &chunk, &buf, &bytes))
		taken++;
	T_CHECK(taken == CHUNKS);
	T_CHECK(client_state(c) == CLIENT_COMPLETE);
}

/* The number of packets that the client says within this time, of which *second are for the second
 * port. */
static unsigned
count_said(struct client *c, uint64_t *now, uint64_t us, unsigned *second)
{
	uint8_t pkt[WIRE_PACKET_MAX];
	unsigned said = 0;
	size_t n;

	*second = 0;
	for (uint64_t end = *now + us; *now < end; *now += 10 * MS)
		while ((n = client_output(c, *now, pkt)) > 0) {
			said++;
			*second += wirext_is(pkt, n);
		}
	return said;
}

static void
test_says(bool has_port)
{
	struct client *c = make_client(true);
	uint64_t now = 10 * MS;
	unsigned second;

	if (!has_port)
		client_no_second_port(c);
	receive_all(c, now);
	T_CHECK(count_said(c, &now, 8 * SECOND, &second) == (has_port ? 2 : 0));
	T_CHECK(second == (has_port ? 2 : 0));
	T_CHECK(has_port || client_deadline(c, now) == CLIENT_NEVER);
	client_free(c);
}

/* The disk may fail when all chunks have come. */
static void
test_outcome(bool whole)
{
	struct client *c = make_client(true);
	uint64_t now = 10 * MS;
	uint8_t pkt[WIRE_PACKET_MAX];
	bool said = !whole;
	size_t n;

	receive_all(c, now);
	client_set_outcome(c, whole);
	client_finish(c, now, &(struct wire_stats){ 0 });
	while ((n = client_output(c, now, pkt)) > 0 && !wirext_get_outcome(pkt, n, &said))
		;
	T_CHECK(n > 0);
	T_CHECK(said == whole);
	client_free(c);
}

int
main(void)
{
	test_says(true);
	test_says(false);
	test_outcome(true);
	test_outcome(false);
	return t_done();
}
