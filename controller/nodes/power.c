/* power.c: wakes nodes (power.h).  The controller's loop calls this, in the program's first
 * thread. */
#include "controller/nodes/power.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/process.h"

enum { AT_ONCE = 16, LIMIT_US = 60000000, WAKE_PORT = 9, MAGIC_BYTES = 102 };

struct job {
	struct power *of;
	struct watch watch; /* of the process; closes its descriptor */
	struct process process; /* none: no job */
	uint64_t since_us;
	struct swap *w;
	char node[SWAP_NAME_BYTES]; /* its name: the table may change meanwhile */
	uint32_t session;
	unsigned tries;
	bool late;
};

struct power {
	struct loop *loop;
	const char *command;
	uint8_t addr[4];
	bool (*may)(void *, const struct swap_node *);
	void (*done)(void *, struct swap_node *, const char *);
	void *arg;
	struct job jobs[AT_ONCE];
};

int
power_open(struct power **out, struct loop *loop, const char *command, const uint8_t addr[4],
    bool (*may)(void *arg, const struct swap_node *),
    void (*done)(void *arg, struct swap_node *, const char *why), void *arg, struct err *e)
{
	struct power *p = calloc(1, sizeof *p);

	*out = p;
	if (p == NULL)
		return err_nomem(e, "power");
	p->loop = loop;
	p->command = command;
	p->may = may;
	p->done = done;
	p->arg = arg;
	memcpy(p->addr, addr, 4);
	for (int i = 0; i < AT_ONCE; i++)
		p->jobs[i].watch.fd = -1;
	return 0;
}

void
power_close(struct power *p)
{
	if (p == NULL)
		return;
	for (int i = 0; i < AT_ONCE; i++)
		loop_forget(p->loop, &p->jobs[i].watch);
	free(p);
}

void
power_magic(const uint8_t mac[6], uint8_t packet[102])
{
	memset(packet, 0xff, 6);
	for (int i = 0; i < 16; i++)
		memcpy(packet + 6 + 6 * i, mac, 6);
}

/* A node that is on already is not started anew by this. */
static void
wake(const struct power *p, const struct swap_node *n)
{
	struct sockaddr_in from = { .sin_family = AF_INET };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(WAKE_PORT) };
	uint8_t packet[MAGIC_BYTES];
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), yes = 1;

	memcpy(&from.sin_addr, p->addr, 4);
	to.sin_addr.s_addr = htonl(INADDR_BROADCAST);
	power_magic(n->mac, packet);
	/* Somebody may switch the node on by hand: what counts is whether it reports. */
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &yes, sizeof yes) != 0 ||
	    bind(fd, (struct sockaddr *)&from, sizeof from) != 0 ||
	    sendto(fd, packet, sizeof packet, 0, (struct sockaddr *)&to, sizeof to) < 0)
		log_warn("wake-on-LAN cannot be sent node=%s: %s", n->name, strerror(errno));
	if (fd >= 0)
		close(fd);
}

/* There is no job any more. */
static void
forget(struct job *j)
{
	loop_forget(j->of->loop, &j->watch);
	j->process = (struct process){ 0 };
}

static void
on_end(void *arg, uint32_t events)
{
	struct job *j = arg;
	char how[PROCESS_WHY_BYTES], why[120];
	(void)events;

	process_wait(&j->process, PROCESS_FOREVER);
	bool failed = process_failed(&j->process, how);
	if (j->late)
		snprintf(how, sizeof how, "took longer than %d s", LIMIT_US / 1000000);
	snprintf(why, sizeof why, "the power command %s", how);
	forget(j);
	struct swap_node *n = swap_find_node(j->w, j->node);
	if (n == NULL || n->session != j->session || n->tries != j->tries)
		return; /* it is of an older try */
	j->of->done(j->of->arg, n, failed ? why : NULL);
}

static void
run(struct job *j, struct swap *w, struct swap_node *n, uint64_t now_us)
{
	struct power *p = j->of;
	char mac[18];
	const uint8_t *m = n->mac;
	struct err e;

	snprintf(mac, sizeof mac, "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5]);
	const char *const argv[] = { p->command, n->name, "cycle", mac, NULL };
	j->w = w;
	strcpy(j->node, n->name);
	j->session = n->session;
	j->tries = n->tries;
	j->since_us = now_us;
	j->late = false;
	if (process_start(
	        &j->process, argv, (struct process_files){ -1, -1, STDERR_FILENO }, true, &e) == 0) {
		j->watch = (struct watch){ j->process.fd, on_end, j, 0 };
		if (loop_watch(p->loop, &j->watch, EPOLLIN, &e) == 0)
			return;
		process_end(&j->process, 0);
		forget(j);
	}
	p->done(p->arg, n, e.text);
}

static bool
in_work(const struct power *p, const struct swap_node *n)
{
	for (int i = 0; i < AT_ONCE; i++)
		if (p->jobs[i].process.pid != 0 && strcmp(p->jobs[i].node, n->name) == 0)
			return true;
	return false;
}

static struct job *
idle_job(struct power *p)
{
	for (int i = 0; i < AT_ONCE; i++)
		if (p->jobs[i].process.pid == 0) {
			p->jobs[i].of = p;
			return &p->jobs[i];
		}
	return NULL;
}

static void
end_late(struct power *p, uint64_t now_us)
{
	for (int i = 0; i < AT_ONCE; i++) {
		struct job *j = &p->jobs[i];
		if (j->process.pid != 0 && now_us > j->since_us + LIMIT_US) {
			j->late = true;
			process_signal(&j->process, SIGKILL); /* on_end() says so */
		}
	}
}

void
power_settle(struct power *p, struct swap *w, uint64_t now_us)
{
	end_late(p, now_us);
	for (size_t i = 0; i < w->nnodes; i++) {
		struct swap_node *n = &w->nodes[i];
		if (!n->power || in_work(p, n))
			continue;
		struct job *j = p->command != NULL ? idle_job(p) : NULL;
		if (p->command != NULL && j == NULL)
			return;
		if (!p->may(p->arg, n))
			continue;
		if (j != NULL) {
			run(j, w, n, now_us);
			continue;
		}
		wake(p, n);
		p->done(p->arg, n, NULL);
	}
}
