/* What a client counts, when it is told what happened. */
#include "frisbee/client/client.h"
#include "frisbee/client/client_counters.h"
#include "tests/t.h"

static struct client_counters
begin(void)
{
	struct client_config cfg = { .readahead = 2,
		.in_progress = 8,
		.tick_us = 30000,
		.idle_ticks = 3,
		.redo_us = 1000000,
		.start_delay_us = 2500000,
		.sequential = true };
	struct client_counters k;

	client_counters_begin(&k, &cfg);
	return k;
}

static void
test_configuration(void)
{
	struct client_counters k = begin();

	T_CHECK(k.wire.readahead == 2);
	T_CHECK(k.wire.max_in_progress == 8);
	T_CHECK(k.wire.idle_delay_us == 90000);
	T_CHECK(k.wire.start_delay_s == 2);
	T_CHECK(k.wire.start_delay_ms == 2500);
	T_CHECK(k.wire.randomised == 0);
	T_CHECK(k.wire.requests == 0);
}

static void
test_requests(void)
{
	struct client_counters k = begin();

	client_counters_request(
	    &k, false, true, 0); /* a whole chunk, for the first time */
	T_CHECK(k.wire.requests == 1);
	T_CHECK(k.wire.prequests == 0);
	client_counters_request(&k, true, true, 1024);
	T_CHECK(k.wire.requests == 2);
	T_CHECK(k.wire.prequests == 1);
	T_CHECK(k.wire.blocks_by_prequest == 1024);
	T_CHECK(k.wire.full_rerequests == 1);
	client_counters_request(&k, true, false, 6);
	T_CHECK(k.wire.rerequests == 2);
	T_CHECK(k.wire.full_rerequests == 1);
	client_counters_report(&k, 10);
	T_CHECK(k.wire.blocks_by_prequest == 1040);
	client_counters_message(&k);
	T_CHECK(k.wire.requests == 5);
	T_CHECK(k.wire.prequests == 3);
}

static void
test_blocks(void)
{
	struct client_counters k = begin();

	client_counters_duplicates(&k, 3, 4);
	T_CHECK(k.wire.dup_in_progress == 3);
	T_CHECK(k.wire.dup_finished == 4);
	client_counters_parity(&k, true);
	client_counters_parity(&k, true);
	client_counters_parity(&k, false);
	T_CHECK(k.parity_used == 2);
	T_CHECK(k.parity_unused == 1);
	client_counters_left_out(&k, 100);
	client_counters_not_asked(&k, 900);
	client_counters_asked_after_all(&k, 50);
	T_CHECK(k.not_asked == 850);
	client_counters_forget_image(&k);
	T_CHECK(k.left_out == 0);
	T_CHECK(k.not_asked == 0);
	T_CHECK(k.parity_used == 2);
}

static void
test_end(void)
{
	struct wire_stats shell = {
		.bytes_written = 7, .writer_idle = 8, .requests = 9
	};
	struct client_counters k = begin();

	client_counters_end(&k, 61500000, &shell);
	T_CHECK(k.wire.run_s == 61);
	T_CHECK(k.wire.run_ms == 500);
	T_CHECK(k.wire.bytes_written == 7);
	T_CHECK(k.wire.writer_idle == 8);
	T_CHECK(k.wire.requests == 0); /* the engine's own */
}

int
main(void)
{
	test_configuration();
	test_requests();
	test_blocks();
	test_end();
	return t_done();
}
