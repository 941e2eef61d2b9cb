/* Chunks without digests, as all images of Emulab's programs have: the sink decodes them
 * once, which is their proof, and what cannot be decoded comes back to whoever got it. */
#include <semaphore.h>

#include "common/image/format/ext.h"
#include "common/image/read/prove.h"
#include "imageunzip/install/install_sink.h"
#include "tests/unit/feeder_news.h"
#include "tests/unit/feeder_onto.h"
#include "tests/unit/one_chunk.h"
#include "tests/unit/scratch.h"

enum { BUFFERS = 4, ACROSS_STREAM = NDZ_HEADER_BYTES + 200000 };

static struct err e;

/* The chunk loses its extension area. */
static void
take_digests_away(void)
{
	struct ndz_header h;

	T_CHECK(ndz_header_get(&h, good, sizeof good, &e) == 0);
	memset(good + ext_area_at(&h), 0, EXT_HEAD_BYTES);
}

/* --- a sink that decodes when it is told to --- */

struct own {
	bool refuses;
	unsigned asked, put;
	struct proved *last;
	sink_decoded_fn *decoded;
	void *arg;
	sem_t begun;
};

static void
own_info(void *self, struct sink_info *i)
{
	(void)self;
	i->decodes = true;
}

static bool
own_decode(void *self, struct proved *c, sink_decoded_fn *decoded, void *arg)
{
	struct own *o = self;

	if (o->refuses)
		return false;
	o->asked++;
	T_CHECK(proved_undecoded(c));
	o->last = c;
	o->decoded = decoded;
	o->arg = arg;
	sem_post(&o->begun);
	return true;
}

static int
own_put(void *self, struct proved *c, struct err *why)
{
	struct own *o = self;

	(void)why;
	o->refuses = false;
	o->put++;
	T_CHECK(!proved_undecoded(c));
	proved_free(c);
	return 0;
}

static int
own_end(void *self, struct sink_sum *sum, struct err *why)
{
	(void)self, (void)sum, (void)why;
	return 0;
}

static bool
own_close(void *self, struct sink_sum *sum, struct err *why)
{
	(void)self, (void)sum, (void)why;
	return false;
}

static int
own_open(void *arg, struct sink *sink, struct err *why)
{
	static const struct sink_ops ops = { .info = own_info,
		.decode = own_decode,
		.put = own_put,
		.end = own_end,
		.close = own_close };

	(void)why;
	*sink = (struct sink){ &ops, arg };
	return 0;
}

static struct feeder *
begin_own(struct own *o)
{
	static const struct opener_config none;
	struct feeder_config c = { .buffers = BUFFERS,
		.keys = &none,
		.open = own_open,
		.open_arg = o };
	struct feeder *f = NULL;

	sem_init(&o->begun, 0, 0);
	T_CHECK(mailbox_new(&box, BUFFERS + FEEDER_EVENTS, &e) == 0);
	c.box = box;
	T_CHECK(feeder_new(&f, &c, &e) == 0);
	feeder_expect(f, 1);
	return f;
}

/* The sink alone decodes: what it says of a chunk counts, and nobody looks again. */
static void
test_sink_decodes(void)
{
	struct own o = { .put = 0 };
	struct feeder *f = begin_own(&o);
	struct err why;

	memcpy(feeder_buffer(f, 1), good, sizeof good);
	feeder_buffer(f, 1)[ACROSS_STREAM] ^= 4;
	feed(f, 0, 1, NDZ_CHUNK_BYTES);
	sem_wait(&o.begun);
	err_set(&why, ERR_FORMAT, "the sink says so");
	o.decoded(o.arg, &why);
	bool came_back = hears(FEEDER_DAMAGED, 1);
	T_CHECK(came_back && o.put == 0);
	if (!came_back)
		exit(t_done());
	T_CHECK(strcmp(feeder_back(f, 1)->why.text, "the sink says so") == 0);
	T_CHECK(blockmap_count(&feeder_back(f, 1)->bad) == WIRE_CHUNK_BLOCKS);
	feed(f, 0, 1, NDZ_CHUNK_BYTES);
	sem_wait(&o.begun);
	o.decoded(o.arg, NULL);
	T_CHECK(hears(FEEDER_FREE, 1) && o.put == 1 && o.asked == 2);
	feeder_end(f);
	T_CHECK(hears(FEEDER_DONE, 0) && feeder_close(f, NULL, &e) == 0);
	mailbox_free(box);
}

/* What is not the chunk's fault ends all. */
static void
test_no_memory(void)
{
	struct own o = { .put = 0 };
	struct feeder *f = begin_own(&o);
	struct err why;

	memcpy(feeder_buffer(f, 1), good, sizeof good);
	feed(f, 0, 1, NDZ_CHUNK_BYTES);
	sem_wait(&o.begun);
	err_nomem(&why, "a table");
	o.decoded(o.arg, &why);
	T_CHECK(hears(FEEDER_FAILED, 0) && feeder_close(f, NULL, &e) == -1);
	T_CHECK(e.kind == ERR_NOMEM && o.put == 0);
	mailbox_free(box);
}

/* The caller gives up while chunks are decoded. */
static void
test_given_up(void)
{
	struct own o = { .put = 0 };
	struct feeder *f = begin_own(&o);

	memcpy(feeder_buffer(f, 1), good, sizeof good);
	feed(f, 0, 1, NDZ_CHUNK_BYTES);
	sem_wait(&o.begun);
	T_CHECK(feeder_close(f, NULL, &e) == -1 && e.kind == ERR_CANCELLED);
	T_CHECK(o.put == 0);
	mailbox_free(box);
}

/* --- an installation --- */

static struct destination onto;

static struct feeder *
begin(const char *name, uint64_t write_mb)
{
	onto = (struct destination){ .name = in_scratch(name),
		.install.write_mb = write_mb };
	T_CHECK(mailbox_new(&box, BUFFERS + FEEDER_EVENTS, &e) == 0);
	struct feeder *f = feeder_onto(&onto, BUFFERS, box);
	T_CHECK(feeder_info(f)->decodes == (write_mb != 1));
	feeder_expect(f, 1);
	return f;
}

/* It comes damaged twice, and then right; before that, nothing is written. */
static void
test_damaged(const char *name, uint64_t write_mb)
{
	struct feeder *f = begin(name, write_mb);
	uint8_t *buf = feeder_buffer(f, 2);

	memcpy(buf, good, sizeof good);
	buf[ACROSS_STREAM] ^= 4;
	for (unsigned i = 0; i < 2; i++) {
		feed(f, 0, 2, NDZ_CHUNK_BYTES);
		T_CHECK(hears(FEEDER_DAMAGED, 2));
		T_CHECK(feeder_back(f, 2)->why.kind == ERR_FORMAT);
		T_CHECK(feeder_back(f, 2)->came.number == 0);
		T_CHECK(scratch_holds(name, "", 0) || access(in_scratch(name), F_OK) != 0);
	}
	buf[ACROSS_STREAM] ^= 4;
	feed(f, 0, 2, NDZ_CHUNK_BYTES);
	T_CHECK(hears(FEEDER_FREE, 2));
	feeder_end(f);
	T_CHECK(hears(FEEDER_DONE, 0) && feeder_close(f, NULL, &e) == 0);
	T_CHECK(onto.stats.chunks == 1 && scratch_holds(name, raw, sizeof raw));
	mailbox_free(box);
}

/* --- the sink of an installation, chunk by chunk --- */

static sem_t is_decoded;

static void
on_decoded(void *good_or_null, const struct err *why)
{
	if (good_or_null != NULL)
		*(bool *)good_or_null = why == NULL;
	sem_post(&is_decoded);
}

static struct sink
install_onto(const char *name, uint64_t write_mb, bool in_place)
{
	const struct install_sink_config c = { .install = { .state_s = INSTALL_STATE_S,
						   .write_mb = write_mb,
						   .in_place = in_place },
		.target = in_scratch(name) };
	struct sink s = { NULL, NULL };

	T_CHECK(sink_to_install(&s, &c, &e) == 0);
	sink_begin(&s, 1, NULL);
	return s;
}

static struct proved *
prove(struct prover *p, uint32_t number)
{
	const struct sink_chunk c = {
		.number = number, .length = NDZ_CHUNK_BYTES, .bytes = good
	};
	struct blockmap bad;
	struct proved *proved = NULL;

	T_CHECK(prover_chunk(p, &c, true, &proved, &bad, &e) == 0);
	T_CHECK(proved_undecoded(proved));
	return proved;
}

static struct prover *
prover(void)
{
	static const struct opener_config none;
	struct prover *p = NULL;

	T_CHECK(prover_new(&p, &none, false, &e) == 0);
	return p;
}

/* When the chunk was decoded, its stream is needed no more, unless no buffer was large
 * enough. */
static int
rc_without_stream(const char *name, uint64_t write_mb)
{
	static uint8_t kept[sizeof good];
	struct sink s = install_onto(name, write_mb, false);
	struct prover *p = prover();
	struct proved *c = prove(p, 0);

	bool decoded = false;
	T_CHECK(sink_decode(&s, c, on_decoded, &decoded));
	sem_wait(&is_decoded);
	T_CHECK(decoded && prover_decoded(p, c, &e) == 0);
	memcpy(kept, good, sizeof good);
	memset(good + ACROSS_STREAM, 0x55, 100);
	int rc = sink_put(&s, c, &e);
	if (rc == 0)
		rc = sink_end(&s, NULL, &e);
	memcpy(good, kept, sizeof good);
	sink_close(&s, NULL, NULL);
	prover_free(p);
	return rc;
}

static void
test_decoded_once(void)
{
	T_CHECK(rc_without_stream("once", 0) == 0);
	T_CHECK(scratch_holds("once", raw, sizeof raw));
	T_CHECK(rc_without_stream("twice", 2) == -1);
}

/* Until chunk 0 is there, others take no buffer; and not all buffers are for what is not
 * proved. */
static void
test_buffers(void)
{
	FILE *file = fopen(in_scratch("buffers"), "wb");
	T_CHECK(fwrite(raw, sizeof raw, 1, file) == 1 && fclose(file) == 0);
	struct sink s = install_onto("buffers", 4, true);
	struct prover *p = prover();
	struct proved *c[8] = { NULL };
	unsigned n = 0;

	T_CHECK(!sink_decode(&s, c[7] = prove(p, 1), on_decoded, NULL));
	do
		c[n] = prove(p, 0);
	while (sink_decode(&s, c[n], on_decoded, NULL) && ++n < 7);
	T_CHECK(n == 3);
	for (unsigned i = 0; i < n; i++)
		sem_wait(&is_decoded);
	proved_give_back(c[0]);
	T_CHECK(sink_decode(&s, c[n], on_decoded, NULL));
	sem_wait(&is_decoded);
	sink_close(&s, NULL, NULL);
	for (unsigned i = 1; i <= n; i++)
		proved_give_back(c[i]);
	proved_give_back(c[7]);
	prover_free(p);
}

int
main(void)
{
	scratch_init();
	make_chunk();
	take_digests_away();
	sem_init(&is_decoded, 0, 0);
	test_sink_decodes();
	test_no_memory();
	test_given_up();
	test_damaged("whole", 0);
	test_damaged("streamed", 2);
	test_damaged("alone", 1);
	test_decoded_once();
	test_buffers();
	return t_done();
}
