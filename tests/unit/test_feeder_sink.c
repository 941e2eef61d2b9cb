/* The feeder and a sink that can do all that sinks do: in which order they end, what is
 * told when one of them fails, and that nothing is put which was not proved.  Chunks are
 * lent, unpacked or decrypted as for dolly; those of frisbee, in the feeder's buffers,
 * are in the other tests. */
#include "common/image/read/feeder.h"

#include <semaphore.h>
#include <string.h>
#include <unistd.h>

#include "common/image/format/crypt.h"
#include "common/image/read/prove.h"
#include "tests/unit/feeder_news.h"
#include "tests/unit/scratch.h"
#include "tests/unit/sealed_chunks.h"

enum { BUFFERS = 4, MOST = 8 };

struct own {
	bool in_order, holds;       /* it holds chunks until it is ended or closed */
	/* The chunks that cannot be put, and that lead to others. */
	uint32_t fails_at, wants_at;
	bool fails_to_open, fails_to_end, waits; /* it ends when `go` says so */
	struct sink_giver giver;
	struct proved *held[MOST];
	uint32_t nheld, nput, put[MOST], length[MOST];
	uint8_t first[MOST], last[MOST]; /* bytes of what was put */
	unsigned ended, closed;
	bool failed; /* in the background */
	sem_t has_put, ends, go;
};

static void
own_info(void *self, struct sink_info *i)
{
	i->in_order = ((struct own *)self)->in_order;
}

static void
own_begin(void *self, uint32_t nchunks, const struct sink_giver *giver)
{
	(void)nchunks;
	((struct own *)self)->giver = *giver;
}

static int
own_put(void *self, struct proved *proved, struct err *why)
{
	const struct sink_chunk *c = proved_chunk(proved);
	const uint32_t number = c->number;
	struct own *o = self;
	const uint8_t *bytes = c->bytes;

	o->put[o->nput] = c->number;
	o->length[o->nput] = c->length;
	o->first[o->nput] = bytes[0];
	o->last[o->nput++] = bytes[c->length - 1];
	if (c->number == o->wants_at) {
		o->giver.wants(o->giver.arg, 5);
		o->giver.wants(o->giver.arg, 6);
	}
	if (o->holds)
		o->held[o->nheld++] = proved;
	else
		proved_free(proved);
	sem_post(&o->has_put);
	return number == o->fails_at ? err_set(why, ERR_IO, "the sink is full") : 0;
}

static void
release_all(struct own *o)
{
	while (o->nheld > 0)
		proved_free(o->held[--o->nheld]);
}

static int
own_end(void *self, struct sink_sum *sum, struct err *why)
{
	struct own *o = self;

	sem_post(&o->ends);
	if (o->waits)
		sem_wait(&o->go);
	release_all(o);
	sum->bytes_written = o->fails_to_end ? 0 : 77;
	o->ended += !o->fails_to_end;
	return o->fails_to_end ? err_set(why, ERR_IO, "the sink cannot be flushed") : 0;
}

static bool
own_close(void *self, struct sink_sum *sum, struct err *why)
{
	struct own *o = self;

	release_all(o);
	o->closed++;
	if (o->failed) {
		sum->bytes_written = 5;
		err_set(why, ERR_IO, "a thread of the sink has failed");
	}
	return o->failed;
}

static int
own_open(void *arg, struct sink *sink, struct err *why)
{
	static const struct sink_ops ops = { .info = own_info,
		.begin = own_begin,
		.put = own_put,
		.end = own_end,
		.close = own_close };
	struct own *o = arg;

	*sink = (struct sink){ &ops, arg };
	sem_init(&o->has_put, 0, 0);
	sem_init(&o->ends, 0, 0);
	sem_init(&o->go, 0, 0);
	return o->fails_to_open ? err_set(why, ERR_IO, "there is no sink") : 0;
}

/* The text "=bytes" is unpacked to "bytes", of every second chunk where it is; one that begins
 * with '!' is a failure of the unpacker, and all others are damaged. */
static int
unpack(void *arg, const struct feeder_chunk *c, void *room, const void **bytes,
    uint32_t *length, struct err *why)
{
	const char *text = c->lent;

	(void)arg;
	if (text[0] == '!')
		return err_set(why, ERR_IO, "it cannot be unpacked now");
	if (text[0] != '=')
		return err_set(why, ERR_FORMAT, "it is not packed");
	*length = c->length - 1;
	*bytes = c->number % 2 == 0 ? memcpy(room, text + 1, *length) : text + 1;
	return 0;
}

static struct own
usual(void)
{
	return (struct own){ .fails_at = UINT32_MAX, .wants_at = UINT32_MAX };
}

static struct feeder *
begin(struct own *o, const struct opener_config *keys)
{
	struct feeder_config c = { .buffers = BUFFERS,
		.keys = keys,
		.open = own_open,
		.open_arg = o };
	struct feeder *f = NULL;

	T_CHECK(mailbox_new(&box, BUFFERS + FEEDER_EVENTS, &e) == 0);
	c.box = box;
	if (keys == NULL)
		c.unpack = unpack;
	T_CHECK(feeder_new(&f, &c, &e) == 0);
	feeder_expect(f, MOST);
	return f;
}

/* Lends the text as the chunk. */
static void
lend(struct feeder *f, uint32_t chunk, uint32_t buf, const char *text)
{
	feeder_put(f, buf,
	    &(struct feeder_chunk){
		.number = chunk, .length = (uint32_t)strlen(text), .lent = text });
}

static bool
is_quiet(void)
{
	struct event ev;

	return !mailbox_take(box, &ev);
}

/* The feeder is closed, and the sink was closed once.  `kind`: ERR_NONE, or how it
 * failed. */
static void
closes(struct feeder *f, const struct own *o, enum err_kind kind, const char *why)
{
	struct sink_sum sum;

	e.kind = ERR_NONE;
	T_CHECK(feeder_close(f, &sum, &e) == (kind == ERR_NONE ? 0 : -1));
	T_CHECK(e.kind == kind && (why == NULL || strstr(e.text, why) != NULL));
	T_CHECK(o->closed == 1 && o->ended == (kind == ERR_NONE));
	T_CHECK(sum.bytes_written == (o->failed ? 5u : 77 * o->ended));
}

static void
leave(void)
{
	mailbox_free(box);
	box = NULL;
}

/* All is told to be where it belongs when the sink says so, and every buffer came before.
 */
static void
test_ends_in_order(void)
{
	struct own o = usual();

	o.holds = o.waits = true;
	struct feeder *f = begin(&o, NULL);
	lend(f, 0, 0, "=a");
	lend(f, 1, 1, "=b");
	feeder_end(f);
	sem_wait(&o.ends);
	T_CHECK(o.nput == 2 && is_quiet());
	sem_post(&o.go);
	T_CHECK(hears(FEEDER_FREE, 1) && hears(FEEDER_FREE, 0));
	T_CHECK(hears(FEEDER_DONE, 0) && o.ended == 1 && o.closed == 0);
	closes(f, &o, ERR_NONE, NULL);
	T_CHECK(is_quiet());
	leave();
}

/* Damaged chunks come back, and never reach the sink; what was unpacked does. */
static void
test_unpacked(void)
{
	struct own o = usual();
	struct feeder *f = begin(&o, NULL);

	for (int i = 0; i < 3; i++) {
		lend(f, 3, 2, "damaged");
		T_CHECK(hears(FEEDER_DAMAGED, 2));
	}
	T_CHECK(strcmp(feeder_back(f, 2)->why.text, "it is not packed") == 0);
	T_CHECK(feeder_back(f, 2)->came.number == 3 && o.nput == 0);
	lend(f, 3, 2, "=right");
	T_CHECK(hears(FEEDER_FREE, 2));
	T_CHECK(o.nput == 1 && o.put[0] == 3 && o.length[0] == 5);
	T_CHECK(o.first[0] == 'r' && o.last[0] == 't');
	feeder_end(f);
	T_CHECK(hears(FEEDER_DONE, 0));
	closes(f, &o, ERR_NONE, NULL);
	leave();
}

/* What is not the chunk's fault ends all, and the buffer is not said to hold what was
 * proved. */
static void
test_unpacker_fails(void)
{
	struct own o = usual();
	struct feeder *f = begin(&o, NULL);

	lend(f, 2, 1, "!");
	T_CHECK(hears(FEEDER_FAILED, 0) && is_quiet());
	T_CHECK(o.nput == 0);
	closes(f, &o, ERR_IO, "chunk 2: it cannot be unpacked now");
	leave();
}

/* Bytes that were lent stay as they are, and are decrypted elsewhere. */
static void
test_decrypted(void)
{
	static uint8_t lent[NDZ_CHUNK_BYTES];
	struct sealer_config cfg = { .encrypt = "a.enc" };
	const struct opener_config keys = { .decrypt = "a.enc" };
	struct feeder_chunk c = { .length = NDZ_CHUNK_BYTES, .lent = lent };
	struct own o = usual();

	make_sealed(&cfg, 1);
	struct feeder *f = begin(&o, &keys);
	memcpy(lent, sealed[0], sizeof lent);
	lent[1000000] ^= 1;
	feeder_put(f, 0, &c);
	T_CHECK(hears(FEEDER_DAMAGED, 0) && o.nput == 0);
	lent[1000000] ^= 1;
	c.length--;
	feeder_put(f, 0, &c);
	T_CHECK(hears(FEEDER_DAMAGED, 0) && o.nput == 0);
	T_CHECK(strstr(feeder_back(f, 0)->why.text, "1048575 bytes") != NULL);
	c.length++;
	feeder_put(f, 0, &c);
	T_CHECK(hears(FEEDER_FREE, 0) && o.nput == 1);
	T_CHECK(memcmp(lent, sealed[0], sizeof lent) == 0);
	T_CHECK(memcmp(feeder_buffer(f, 0), sealed[0], sizeof lent) != 0);
	closes(f, &o, ERR_CANCELLED, "not complete");
	leave();
}

/* Chunks behind a damaged one wait for it. */
static void
test_in_order(void)
{
	static const uint32_t want[] = { 0, 1, 2, 3 };
	struct own o = usual();

	o.in_order = true;
	struct feeder *f = begin(&o, NULL);
	lend(f, 0, 0, "=a");
	T_CHECK(hears(FEEDER_FREE, 0));
	lend(f, 1, 1, "damaged");
	lend(f, 3, 3, "=d");
	lend(f, 2, 2, "=c");
	T_CHECK(hears(FEEDER_DAMAGED, 1) && o.nput == 1);
	lend(f, 1, 1, "=b");
	T_CHECK(hears(FEEDER_FREE, 1) && hears(FEEDER_FREE, 2) && hears(FEEDER_FREE, 3));
	T_CHECK(o.nput == 4 && memcmp(o.put, want, sizeof want) == 0);
	feeder_end(f);
	T_CHECK(hears(FEEDER_DONE, 0));
	closes(f, &o, ERR_NONE, NULL);
	leave();
}

/* What the sink wants is told before the buffer that led to it comes back. */
static void
test_wants(void)
{
	struct own o = usual();
	uint32_t chunk, sum = 0;

	o.wants_at = 0;
	struct feeder *f = begin(&o, NULL);
	T_CHECK(!feeder_wants(f, &chunk));
	lend(f, 0, 3, "=a");
	T_CHECK(hears(FEEDER_WANTS, 0) && hears(FEEDER_FREE, 3));
	while (feeder_wants(f, &chunk))
		sum += chunk;
	T_CHECK(sum == 5 + 6 && is_quiet());
	closes(f, &o, ERR_CANCELLED, NULL);
	leave();
}

static void
test_sink_fails(void)
{
	struct own o = usual();

	o.fails_at = 1;
	struct feeder *f = begin(&o, NULL);
	lend(f, 1, 1, "=b");
	lend(f, 2, 2, "=c"); /* it is put no more */
	T_CHECK(hears(FEEDER_FREE, 1) && hears(FEEDER_FAILED, 0) && is_quiet());
	T_CHECK(o.nput == 1);
	closes(f, &o, ERR_IO, "the sink is full");
	leave();

	o = usual();
	o.fails_to_end = true;
	f = begin(&o, NULL);
	feeder_end(f);
	T_CHECK(hears(FEEDER_FAILED, 0));
	closes(f, &o, ERR_IO, "cannot be flushed");
	leave();
}

/* In a thread of the sink, while nothing comes that would meet the failure. */
static void
test_fails_in_background(void)
{
	struct own o = usual();

	o.holds = true;
	struct feeder *f = begin(&o, NULL);
	lend(f, 0, 0, "=a");
	sem_wait(&o.has_put);
	T_CHECK(is_quiet());
	o.failed = true;
	o.giver.failed(o.giver.arg);
	T_CHECK(hears(FEEDER_FAILED, 0));
	closes(f, &o, ERR_IO, "a thread of the sink has failed");
	T_CHECK(hears(FEEDER_FREE, 0));
	leave();
}

static void
test_cannot_begin(void)
{
	const struct opener_config keys = { .decrypt = "none.enc" };
	struct own o = usual();
	struct feeder_config c = { .buffers = BUFFERS, .open = own_open, .open_arg = &o };
	struct feeder *f;

	T_CHECK(mailbox_new(&box, BUFFERS + FEEDER_EVENTS, &e) == 0);
	c.box = box;
	o.fails_to_open = true;
	T_CHECK(feeder_new(&f, &c, &e) == -1 && strstr(e.text, "no sink") != NULL);
	T_CHECK(o.closed == 0);
	o = usual();
	c.keys = &keys;
	T_CHECK(feeder_new(&f, &c, &e) == -1 && strstr(e.text, "none.enc") != NULL);
	T_CHECK(o.closed == 0 && is_quiet());
	leave();
}

/* The caller gives up: before anything came, while the sink holds a chunk, with a chunk
 * that came damaged, and while the sink is ended, for which is waited. */
static void
test_given_up(void)
{
	struct own o = usual();
	struct feeder *f = begin(&o, NULL);

	closes(f, &o, ERR_CANCELLED, "not complete");
	T_CHECK(is_quiet());
	leave();

	o = usual();
	o.holds = true;
	f = begin(&o, NULL);
	lend(f, 0, 2, "=a");
	sem_wait(&o.has_put);
	closes(f, &o, ERR_CANCELLED, "not complete");
	T_CHECK(hears(FEEDER_FREE, 2) && is_quiet());
	leave();

	o = usual();
	o.in_order = true;
	f = begin(&o, NULL);
	lend(f, 0, 0, "damaged");
	lend(f, 1, 1, "=b");
	T_CHECK(hears(FEEDER_DAMAGED, 0));
	closes(f, &o, ERR_CANCELLED, "not complete");
	T_CHECK(o.nput == 0 && is_quiet());
	leave();

	o = usual();
	o.waits = true;
	f = begin(&o, NULL);
	feeder_end(f);
	sem_wait(&o.ends);
	sem_post(&o.go);
	closes(f, &o, ERR_NONE, NULL);
	T_CHECK(hears(FEEDER_DONE, 0));
	leave();
}

int
main(void)
{
	scratch_init();
	T_CHECK(chdir(scratch_dir) == 0);
	T_CHECK(crypt_make_key("a.enc", &e) == 0);
	test_ends_in_order();
	test_unpacked();
	test_unpacker_fails();
	test_decrypted();
	test_in_order();
	test_wants();
	test_sink_fails();
	test_fails_in_background();
	test_cannot_begin();
	test_given_up();
	return t_done();
}
