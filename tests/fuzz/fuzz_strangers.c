/* Any packets of addresses that have not shown that they receive (--unicast): what they get is part
 * of the image, and who sends back the cookie that it was sent has shown it. */
#include <assert.h>
#include <string.h>

#include "common/wire/wirext.h"
#include "frisbeed/serve/clients.h"
#include "frisbeed/serve/strangers.h"
#include "tests/fuzz/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

enum {
	IMAGE_BYTES = 2 * (1 << 20) + 5000,
	BLOCKS = IMAGE_BYTES / 1024 + 1,
	SAMPLE_MAX = 8,
	PORTS = 4,
};

struct town {
	struct strangers *strangers;
	struct clients *clients;
	uint64_t now;
	uint8_t last[WIRE_PACKET_MAX], from[4]; /* the last JOIN that was answered, and who sent it */
	size_t last_bytes;
	uint16_t port;
	uint64_t cookie; /* in the answer to it; 0: none */
};

static void
check_sample(const struct strangers_answer *a)
{
	uint32_t n = blockmap_count(&a->blocks), first = a->chunk * WIRE_CHUNK_BLOCKS;

	assert(n > 0 && n <= SAMPLE_MAX && first < BLOCKS);
	for (uint32_t b = blockmap_next(&a->blocks, 0); b < WIRE_CHUNK_BLOCKS;
	     b = blockmap_next(&a->blocks, b + 1))
		assert(first + b < BLOCKS);
}

static enum strangers_verdict
hear(struct town *t, const uint8_t *pkt, size_t len, const uint8_t from[4], uint16_t port)
{
	struct strangers_answer a = { .reply_bytes = 0 };

	clients_heard(t->clients, t->now, pkt, len, from, port, 0);
	enum strangers_verdict v = strangers_hear(t->strangers, t->now, pkt, len, from, port, &a);
	if (v == STRANGERS_REPLY) {
		assert(a.reply_bytes > 0 && a.reply_bytes <= sizeof a.reply);
		memcpy(t->last, pkt, t->last_bytes = len);
		memcpy(t->from, from, 4);
		t->port = port;
		if (!wirext_get_cookie(a.reply, a.reply_bytes, &t->cookie))
			t->cookie = 0;
	} else if (v == STRANGERS_SAMPLE) {
		check_sample(&a);
	} else if (v == STRANGERS_PROVED) {
		assert(a.join_bytes <= sizeof a.join);
	}
	return v;
}

/* Who sends back the cookie has shown that it receives. */
static void
send_back(struct town *t)
{
	struct wire_msg m;
	uint8_t pkt[WIRE_PACKET_MAX], from[4];
	struct err e;

	if (t->cookie == 0 || wire_get(&m, t->last, t->last_bytes, &e) != 0)
		return;
	size_t n = wire_put(&m, pkt, sizeof pkt);
	n = wirext_put_cookie(pkt, n, sizeof pkt, t->cookie);
	assert(n > 0);
	t->cookie = 0;
	memcpy(from, t->from, 4);
	enum strangers_verdict v = hear(t, pkt, n, from, t->port);
	assert(v == STRANGERS_PROVED);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct strangers_config c = {
		.srcip = { 10, 77, 0, 1 }, .image_bytes = IMAGE_BYTES, .seed = 3
	};
	struct town t = { .now = 1 };
	struct rd r = rd_from(data, len);
	struct script_step step;

	t.strangers = strangers_new(&c, t.now);
	t.clients = clients_new(64);
	assert(t.strangers != NULL && t.clients != NULL);
	while (script_next(&r, &step)) {
		uint8_t from[4];
		if (step.op == OP_PACKET) {
			script_source(&step, from);
			hear(&t, step.pkt, step.arg, from, (uint16_t)(1 + step.arg % PORTS));
		} else if (step.op == OP_TIME_MS) {
			t.now += step.arg * UINT64_C(1000);
		} else {
			send_back(&t);
		}
	}
	strangers_free(t.strangers);
	clients_free(t.clients);
	return 0;
}
