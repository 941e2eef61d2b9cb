/* swap_who.c: which node a machine is: by the UUID or the serial number that SMBIOS has for it, where
 * the file of nodes names that, or by its MAC address.  The other files of the engine call this, and
 * the writer of orders, in the controller's first thread. */
#include <stdio.h>
#include <string.h>

#include "common/base/zero.h"
#include "controller/engine/swap_impl.h"

bool
swap_by_smbios(const struct swap_node *n)
{
	return n->smbios[0] != '\0' && !n->doubted && !n->of_two;
}

struct swap_node *
swap_confused(const struct swap *w, const struct swap_node *n)
{
	struct swap_node *f = NULL;

	while ((f = swap_index_find(w, SWAP_BY_MAC, n->mac, f)) != NULL)
		if (f != n && (!swap_by_smbios(n) || !swap_by_smbios(f)))
			return f;
	return NULL;
}

struct swap_node *
swap_same_machine(const struct swap *w, const struct swap_node *n)
{
	struct swap_node *f = NULL;

	if (swap_by_smbios(n))
		f = swap_index_find(w, SWAP_BY_SMBIOS, n->smbios, NULL);
	return f != NULL ? f : swap_confused(w, n);
}

void
swap_take_machine(struct swap_node *n, const struct swap_node *other)
{
	n->of_two = n->of_two && strcmp(n->smbios, other->smbios) == 0;
	memcpy(n->mac, other->mac, sizeof n->mac);
	memcpy(n->smbios, other->smbios, sizeof n->smbios);
	n->doubted = other->doubted;
}

static struct swap_node *
node_of_smbios(const struct swap *w, const struct swap_report *r)
{
	const char *const values[] = { r->uuid, r->serial };

	for (int i = 0; i < 2; i++) {
		struct swap_node *n = values[i][0] != '\0' ? swap_index_find(w, SWAP_BY_SMBIOS, values[i], NULL) : NULL;
		if (n != NULL && swap_by_smbios(n))
			return n;
	}
	return NULL;
}

/* The node that is known by this MAC address; or the only one that has it, if the machine says
 * nothing else of itself. */
static struct swap_node *
node_of_address(const struct swap *w, const struct swap_report *r)
{
	struct swap_node *n = swap_index_find(w, SWAP_BY_MAC, r->mac, NULL);

	if (n == NULL || !swap_by_smbios(n))
		return n;
	bool alone = swap_index_find(w, SWAP_BY_MAC, r->mac, n) == NULL;
	return alone && r->uuid[0] == '\0' && r->serial[0] == '\0' ? n : NULL;
}

/* Have two machines what node n is known by?  One of them is another node, or both report of one try. */
static bool
is_of_two(const struct swap *w, struct swap_node *n, const struct swap_report *r)
{
	const struct swap_node *at = swap_index_find(w, SWAP_BY_MAC, r->mac, NULL);
	char order[SWAP_ORDER_BYTES];

	if (at != NULL && !swap_by_smbios(at))
		return true;
	swap_order_name(w, n, order);
	if (strcmp(order, r->order) != 0 || !swap_is_active(n->phase))
		return false;
	if (is_zero(n->seen, sizeof n->seen))
		memcpy(n->seen, r->mac, sizeof n->seen);
	return memcmp(n->seen, r->mac, sizeof n->seen) != 0;
}

/* From now on, the node is known by its MAC address alone. */
static void
doubt(struct swap *w, struct swap_now now, struct swap_node *n)
{
	struct swap_session *s = swap_find_session(w, n->session);
	const struct swap_node *other;

	n->of_two = true;
	swap_touch_node(w, n);
	if (s == NULL || s->state != SWAP_IS_RUNNING)
		return;
	swap_say(w, s, "two machines have %s, so %.60s is known by its MAC address", n->smbios, n->name);
	other = swap_confused(w, n);
	if (other == NULL || !swap_is_active(n->phase))
		return;
	swap_enter(w, now, n, SWAP_FAILED, "another machine has its UUID or serial number, and another one its MAC address");
	swap_settle(w, now, s);
}

struct swap_node *
swap_who(struct swap *w, struct swap_now now, const struct swap_report *r, struct err *e)
{
	struct swap_node *n = node_of_smbios(w, r);
	bool two = n != NULL && is_of_two(w, n, r);

	if (two)
		doubt(w, now, n);
	struct swap_node *at = n == NULL || two ? node_of_address(w, r) : n;
	/* netboot/node/report looks for these words. */
	if (two && at != n)
		err_set(e, ERR_REFUSED, "this order is not for this machine: %s has %s, too", n->name, n->smbios);
	else if (at == NULL)
		err_set(e, ERR_ABSENT, r->uuid[0] == '\0' && r->serial[0] == '\0'
		                           ? "no node has this MAC address"
		                           : "no node has this MAC address, UUID or serial number");
	return two && at != n ? NULL : at;
}
