/* waiting.c: the handshakes of all connections that have not shown the key yet, side by side.
 * serve.c calls this, in its first thread. */
#include "dsync/serve/waiting.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct stranger {
	int fd;
	struct tls_wire *wire;
	bool writes; /* the handshake waits for a chance to write */
	uint64_t since_us;
	char name[LISTENER_NAME_BYTES];
};

struct waiting {
	struct tls *key;
	struct stranger all[STRANGERS_MAX]; /* oldest first */
	size_t n;
	unsigned turned_away;
	char last[LISTENER_NAME_BYTES];
};

int
waiting_new(struct waiting **out, struct tls *key, struct err *e)
{
	*out = calloc(1, sizeof **out);
	if (*out == NULL)
		return err_nomem(e, "connections");
	(*out)->key = key;
	return 0;
}

/* Take the i-th out of the list. */
static struct stranger
take(struct waiting *s, size_t i)
{
	struct stranger one = s->all[i];

	memmove(s->all + i, s->all + i + 1, (--s->n - i) * sizeof *s->all);
	return one;
}

static void
turn_away(struct waiting *s, size_t i)
{
	struct stranger one = take(s, i);

	tls_wire_free(one.wire);
	close(one.fd);
	s->turned_away++;
	memcpy(s->last, one.name, sizeof s->last);
}

void
waiting_free(struct waiting *s)
{
	while (s != NULL && s->n > 0)
		turn_away(s, s->n - 1);
	free(s);
}

/* Make room for one more from this address. */
static void
make_room(struct waiting *s, const char *name)
{
	size_t from_one = 0, oldest = s->n;

	for (size_t i = s->n; i-- > 0;)
		if (strcmp(s->all[i].name, name) == 0)
			from_one++, oldest = i;
	if (from_one >= STRANGERS_FROM_ONE)
		turn_away(s, oldest);
	else if (s->n == STRANGERS_MAX)
		turn_away(s, 0);
}

void
waiting_add(struct waiting *s, int fd, const char *name, uint64_t now_us)
{
	make_room(s, name);
	struct stranger *x = &s->all[s->n];
	*x = (struct stranger){ .fd = fd, .since_us = now_us };
	strncpy(x->name, name, sizeof x->name - 1);
	x->wire = tls_wire_new(s->key, fd, false);
	if (x->wire != NULL)
		s->n++;
	else
		close(fd);
}

void
waiting_sweep(struct waiting *s, uint64_t now_us)
{
	while (s->n > 0 && now_us - s->all[0].since_us > STRANGERS_US)
		turn_away(s, 0);
}

size_t
waiting_polls(const struct waiting *s, struct pollfd polls[STRANGERS_MAX])
{
	for (size_t i = 0; i < s->n; i++)
		polls[i] = (struct pollfd){ .fd = s->all[i].fd,
			.events = s->all[i].writes ? POLLOUT : POLLIN };
	return s->n;
}

void
waiting_serve(struct waiting *s, const struct pollfd polls[STRANGERS_MAX],
    void (*known)(void *arg, struct known *), void *arg)
{
	/* From the last to the first, because the list closes up behind those that leave it. */
	for (size_t i = s->n; i-- > 0;) {
		struct stranger *x = &s->all[i];
		int rc = polls[i].revents != 0 ? tls_wire_shake(x->wire, &x->writes) : 0;
		if (rc < 0)
			turn_away(s, i);
		if (rc <= 0)
			continue;
		struct stranger one = take(s, i);
		struct known k = { .fd = one.fd, .wire = one.wire };
		memcpy(k.name, one.name, sizeof k.name);
		known(arg, &k);
	}
}

unsigned
waiting_turned_away(struct waiting *s, const char **name)
{
	unsigned n = s->turned_away;

	*name = s->last;
	s->turned_away = 0;
	return n;
}
