/* Is there a server, and does it speak the extension: the two parts without a session. */
#include <string.h>

#include "frisbee/client/client_membership.h"
#include "frisbee/client/client_session.h"
#include "tests/t.h"

enum { MS = 1000, S = 1000 * MS };

static void
test_joining(void)
{
	struct client_membership m;

	client_membership_begin(&m, 1 * S, 2 * S);
	T_CHECK(m.state == CLIENT_JOINING);
	T_CHECK(m.join_at_us == 3 * S);
	T_CHECK(client_membership_silent_at_us(&m, 5 * S, false) == 8 * S);
	client_membership_joins(&m, 3 * S, 500 * MS);
	T_CHECK(m.join_at_us == 3500 * MS);
	client_membership_cookie(&m, 3100 * MS, 77);
	T_CHECK(m.join_at_us == 3100 * MS); /* a new one is answered at once */
	client_membership_joins(&m, 3100 * MS, 500 * MS);
	client_membership_cookie(&m, 3200 * MS, 77);
	T_CHECK(m.join_at_us == 3600 * MS);
	T_CHECK(client_membership_is_fresh(&m, 3200 * MS));
	T_CHECK(!client_membership_is_fresh(&m, 3201 * MS));
}

static void
test_loading(void)
{
	struct client_membership m;

	client_membership_begin(&m, 0, 0);
	client_membership_answered(&m, 1 * S, 1024 + 10, 1034 * 1024 - 5);
	client_membership_load(&m);
	T_CHECK(m.state == CLIENT_LOADING);
	T_CHECK(m.images == 1);
	T_CHECK(client_membership_chunk_blocks(&m, 0) == 1024);
	T_CHECK(client_membership_chunk_blocks(&m, 1) == 10);
	T_CHECK(client_membership_silent_at_us(&m, 5 * S, true) == 6 * S);
	T_CHECK(client_membership_silent_at_us(&m, 5 * S, false) == UINT64_MAX);
	T_CHECK(client_membership_silent_at_us(&m, 0, true) == UINT64_MAX);
	client_membership_heard(&m, 2 * S);
	T_CHECK(client_membership_flushing_at_us(&m) == UINT64_MAX);
	client_membership_complete(&m);
	T_CHECK(client_membership_flushing_at_us(&m) == 4 * S);
	client_membership_flushing(&m, 4 * S);
	T_CHECK(client_membership_flushing_at_us(&m) == 9 * S);
	client_membership_goes_on(&m);
	T_CHECK(m.state == CLIENT_LOADING);
	T_CHECK(m.images == 1);
}

static void
test_ends(void)
{
	struct client_membership m;

	client_membership_begin(&m, 0, 0);
	T_CHECK(m.error[0] == '\0');
	client_membership_give_up(&m, 7 * S);
	T_CHECK(m.state == CLIENT_GAVE_UP);
	T_CHECK(strcmp(m.error, "nothing from the server for 7 s") == 0);
	client_membership_begin(&m, 0, 0);
	client_membership_refuse(&m, "no");
	T_CHECK(m.state == CLIENT_REFUSED);
	client_membership_begin(&m, 0, 0);
	client_membership_starved(&m, true);
	client_membership_starved(&m, false);
	T_CHECK(m.starved);
	client_membership_told(&m);
	T_CHECK(!m.starved);
	client_membership_leave(&m);
	T_CHECK(m.leave_pending);
	client_membership_left(&m);
	T_CHECK(!m.leave_pending);
	T_CHECK(m.state == CLIENT_LEFT);
}

static struct client_session
agreed(void)
{
	struct wirext_answer a = { .flags = WIREXT_CAN_PARITY,
		.port = 5000,
		.session = 9,
		.clients = 3,
		.identity = { 1, 2, 3 } };
	struct client_session s = { 0 };

	client_session_begin(&s, 0, &a, true);
	return s;
}

static void
test_session(void)
{
	struct wirext_answer same = { .session = 10, .identity = { 1, 2, 3 } };
	struct client_session s = { 0 };

	T_CHECK(!client_session_answered(&s, &same));
	s = agreed();
	T_CHECK(s.on);
	T_CHECK(s.parity);
	T_CHECK(client_session_answered(&s, &same));
	T_CHECK(client_session_adopt(&s, 10));
	T_CHECK(!client_session_adopt(&s, 10));
	client_session_moved(&s, 1 * S, 5001);
	T_CHECK(s.port == 5001);
	T_CHECK(!client_session_answered(&s, &same));
}

static void
test_idle(void)
{
	struct client_session s = agreed();

	T_CHECK(!client_session_state(&s, 1, 4, true));
	T_CHECK(s.clients == 4);
	T_CHECK(client_session_state(&s, 2, 4, true));
	client_session_busy(&s);
	T_CHECK(!client_session_state(&s, 3, 4, true));
	T_CHECK(!client_session_state(&s, 4, 4, false));
}

static void
test_silence(void)
{
	struct client_session s = agreed();

	T_CHECK(client_session_listen(&s, 1599 * MS, false) == SESSION_HEARD);
	T_CHECK(client_session_listen(&s, 1600 * MS, false) == SESSION_DOUBTED);
	T_CHECK(
	    client_session_listen(&s, 1601 * MS, false) == SESSION_HEARD); /* once */
	T_CHECK(client_session_asks(&s));
	T_CHECK(
	    client_session_listen(&s, 4 * S, false) == SESSION_HEARD); /* no answer */
	client_session_answered(&s, NULL);
	T_CHECK(!s.on); /* a server without the extension has taken over */
	s = agreed();
	client_session_listen(&s, 2 * S, true);
	client_session_answered(
	    &s, &(struct wirext_answer){ .session = 9, .identity = { 1, 2, 3 } });
	T_CHECK(!client_session_asks(&s));
	T_CHECK(client_session_listen(&s, 5 * S, true) == SESSION_HEARD);
	T_CHECK(client_session_listen(&s, 5 * S, false) == SESSION_LOST);
	T_CHECK(!s.on);
	T_CHECK(s.known);
	client_session_state(&s, 6 * S, 1, false);
	T_CHECK(!s.doubting);
}

int
main(void)
{
	test_joining();
	test_loading();
	test_ends();
	test_session();
	test_idle();
	test_silence();
	return t_done();
}
