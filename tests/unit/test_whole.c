/* Answers about a disk that is being filled: whole, not whole, and everything else. */
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stream/switch/whole.h"
#include "tests/t.h"
#include "tests/tmp.h"

static void
interrupt(int number)
{
	(void)number;
}

static void
send_text(int fd, const char *text)
{
	if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		_exit(1);
	nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
}

/* A signal comes between the halves of the answer, as one does to a process that was stopped. */
static void
interrupted(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const struct sigaction act = { .sa_handler = interrupt };
	char folder[100];
	struct err e;
	bool whole = false;

	T_CHECK(tmp_folder(folder, sizeof folder, "whole"));
	snprintf(a.sun_path, sizeof a.sun_path, "%s/status", folder);
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	T_CHECK(bind(listener, (const struct sockaddr *)&a, sizeof a) == 0);
	T_CHECK(listen(listener, 1) == 0 && sigaction(SIGUSR1, &act, NULL) == 0);
	pid_t child = fork();
	if (child == 0) {
		alarm(60); /* nobody may come */
		int fd = accept(listener, NULL, NULL);
		send_text(fd, "{\"complete\":");
		kill(getppid(), SIGUSR1);
		send_text(fd, " true}");
		_exit(0);
	}
	close(listener);
	T_CHECK(whole_ask(a.sun_path, &whole, &e) == 0 && whole);
	waitpid(child, NULL, 0);
	unlink(a.sun_path);
	rmdir(folder);
}

int
main(void)
{
	static const char document[] = "{\"disk_bytes\": 5, \"complete\": true}";
	char cut[sizeof document];
	struct err e;
	bool whole;

	T_CHECK(whole_read(document) == 1);
	T_CHECK(whole_read("{\n  \"complete\":false\n}") == 0);
	T_CHECK(whole_read("{\"complete\": \"true\"}") == -1);
	T_CHECK(whole_read("") == -1);
	T_CHECK(whole_read_number(document, "disk_bytes") == 5);
	T_CHECK(whole_read_number(document, "bytes") == 0);
	T_CHECK(whole_read_number(document, "complete") == 0);
	/* The last two bytes, a brace and the NUL, say nothing. */
	for (size_t n = 0; n < strlen(document) - 1; n++) {
		memcpy(cut, document, n);
		cut[n] = '\0';
		T_CHECK(whole_read(cut) == -1);
	}
	T_CHECK(whole_ask("/no/such/socket", &whole, &e) != 0 && e.kind == ERR_ABSENT);
	char path[200];
	memset(path, 'x', sizeof path);
	path[sizeof path - 1] = '\0';
	T_CHECK(whole_ask(path, &whole, &e) != 0 && e.kind == ERR_USAGE);
	interrupted();
	return t_done();
}
