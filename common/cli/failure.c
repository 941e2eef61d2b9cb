/* failure.c: a failure as JSON.  cli_main() and the programs that print reports call this
 * in the first thread; cli_guard.c calls failure_text() in its own thread, because that
 * function allocates nothing. */
#include "common/cli/failure.h"

void
failure_put(struct json *j, const char *error, const char *kind, int exit_status)
{
	json_bool(j, "ok", false);
	json_string(j, "error", error);
	json_string(j, "kind", kind);
	json_int(j, "exit", exit_status);
}

void
failure_put_err(struct json *j, const struct err *e, int exit_status)
{
	failure_put(j, e->text, err_word(e->kind), exit_status);
}

void
failure_told(struct err *e)
{
	e->told = true;
}

int
failure_show(const struct err *failure, int exit_status, FILE *f)
{
	struct json *j = json_new();
	struct err ignored; /* there is no other place to report it */

	json_object(j, NULL);
	failure_put_err(j, failure, exit_status);
	json_end(j);
	return json_show_on(j, f, &ignored);
}

int
failure_text(
    char *buf, size_t cap, const char *error, enum err_kind kind, int exit_status)
{
	return snprintf(buf, cap,
	    "{\n  \"ok\": false,\n  \"error\": \"%s\",\n  \"kind\": \"%s\",\n"
	    "  \"exit\": %d\n}\n",
	    error, err_word(kind), exit_status);
}

int
failure_none_show_on(FILE *f, struct err *e)
{
	struct json *j = json_new();

	json_object(j, NULL);
	json_bool(j, "ok", true);
	json_end(j);
	return json_show_on(j, f, e);
}

int
failure_none_show(struct err *e)
{
	return failure_none_show_on(stdout, e);
}
