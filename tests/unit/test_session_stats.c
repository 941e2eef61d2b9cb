/* What a session's frisbeed says: that it serves, why it has failed, and which loads have ended; a
 * document that is cut anywhere is none, or says no more than it has. */
#include "mfrisbeed/master/session_stats.h"

#include <string.h>

#include "tests/unit/scratch.h"

static const char whole[] =
    "{\"image_bytes\": 4096, \"image_time\": 77, \"sessions\": [{\"image\": \"x\","
    " \"address\": \"239.1.1.1:5005\", \"state\": \"serving\", \"seconds\": 2, \"chunks\": 9,"
    " \"rate_bits_per_s\": 5000, \"blocks_sent\": 70, \"blocks_resent\": 7, \"chunk_map\": \"0f\", \"clients\": ["
    "{\"address\": \"10.0.0.7\", \"state\": \"loading\", \"joins\": 2, \"has_left\": false,"
    " \"last_load\": {\"number\": 3, \"outcome\": \"done\", \"began_us\": 1000000,"
    " \"ended_us\": 3000000, \"seconds\": 2, \"bytes_written\": 512},"
    " \"began_us\": 4000000, \"heard_us\": 5000000},"
    "{\"address\": \"10.0.0.8\", \"state\": \"gone\", \"joins\": 1, \"has_left\": false},"
    "{\"address\": \"10.0.0.9\", \"state\": \"slow disk\", \"progress\": 0.5, \"share_lost\": 0.25,"
    " \"silence_s\": 1, \"rate_bits_per_s\": 100, \"seconds_left\": 3},"
    "{\"address\": \"10.0.0.10\", \"state\": \"set aside\", \"progress\": 77, \"share_lost\": -4},"
    "{\"address\": \"none\", \"joins\": 1}]}]}";
static const char failed[] =
    "{\"sessions\": [{\"image\": \"x\", \"address\": \"239.1.1.1:5005\", \"state\": \"failed\","
    " \"seconds\": 0, \"clients\": []}], \"ok\": false, \"error\": \"x: was replaced\","
    " \"kind\": \"refused\", \"exit\": 1}";

static struct session_stats_client seen[8];
static unsigned nseen;
static struct err e;

static void
see(void *arg, const struct session_stats_client *c)
{
	(void)arg;
	if (T_CHECK(nseen < 8))
		seen[nseen++] = *c;
}

static int
look(const char *text, size_t n, struct session_stats *s)
{
	FILE *f = fopen(in_scratch("said"), "w");

	T_CHECK(f != NULL && fwrite(text, 1, n, f) == n && fclose(f) == 0);
	nseen = 0;
	*s = (struct session_stats){ .serves = false };
	return session_stats_read(in_scratch("said"), s, see, NULL, &e);
}

static void
test_whole(void)
{
	struct session_stats s;

	T_CHECK(look(whole, sizeof whole - 1, &s) == 0);
	T_CHECK(s.serves && s.port == 5005);
	T_CHECK(s.bytes == 4096 && s.mtime == 77 && s.err.kind == ERR_NONE);
	T_CHECK(s.chunks == 9 && s.rate == 5000 && s.blocks_sent == 70 && s.blocks_resent == 7);
	T_CHECK(s.share_lost == 0.125 && strcmp(s.chunk_map, "0f") == 0);
	T_CHECK(nseen == 4);
	T_CHECK(memcmp(seen[0].ip, "\x0a\0\0\7", 4) == 0);
	T_CHECK(seen[0].ending == 3 && seen[0].how == HISTORY_DONE && seen[0].loading);
	T_CHECK(seen[0].began_us == 1000000 && seen[0].ended_us == 3000000);
	T_CHECK(seen[0].seconds == 2 && seen[0].bytes_written == 512);
	T_CHECK(seen[0].loading_since_us == 4000000 && seen[0].heard_us == 5000000);
	T_CHECK(seen[1].ending == 0 && !seen[1].loading && !seen[0].progresses);
	T_CHECK(seen[2].progresses && seen[2].progress == 0.5 && seen[2].share_lost == 0.25);
	T_CHECK(seen[2].silence_s == 1 && seen[2].rate == 100 && seen[2].seconds_left == 3);
	T_CHECK(seen[2].slow_disk && !seen[2].slow_link && seen[3].slow_link && !seen[3].slow_disk);
	T_CHECK(seen[3].progress == 1 && seen[3].share_lost == 0);
}

static void
test_failed(void)
{
	struct session_stats s;

	T_CHECK(look(failed, sizeof failed - 1, &s) == 0);
	T_CHECK(!s.serves);
	T_CHECK(s.err.kind == ERR_REFUSED && strcmp(s.err.text, "x: was replaced") == 0);
}

static void
test_bad(void)
{
	static const char *const none[] = { "", "7", "[]", "{\"sessions\": 5}", "{\"sessions\": [7]}",
		"{\"sessions\": [{\"address\": 7, \"clients\": {\"address\": 3}}]}",
		"{\"sessions\": [{\"chunks\": -1, \"rate_bits_per_s\": 1e300, \"chunk_map\": \"<b>\"}]}",
		"{\"error\": 7, \"image_bytes\": -5, \"sessions\": [{\"address\": \":\"}]}" };
	unsigned serves = 0;
	struct session_stats s;

	for (size_t n = 0; n < sizeof whole - 1; n++)
		serves += look(whole, n, &s) == 0;
	T_CHECK(serves == 0);
	for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
		(void)look(none[i], strlen(none[i]), &s);
		serves += s.serves || s.err.kind != ERR_NONE || s.bytes != 0 || nseen > 0 || s.chunks != 0 ||
		          s.rate != 0 || s.chunk_map[0] != '\0';
	}
	T_CHECK(serves == 0);
	T_CHECK(session_stats_read(in_scratch("absent"), &s, see, NULL, &e) == -1 &&
	    e.kind == ERR_ABSENT);
	T_CHECK(session_stats_read(scratch_dir, &s, see, NULL, &e) == -1 && e.kind == ERR_IO);
}

int
main(void)
{
	scratch_init();
	test_whole();
	test_failed();
	test_bad();
	return t_done();
}
