/* swap_index.c: finds nodes by name, by MAC address, by UUID or serial number, and by IP address, in a
 * time that does not grow with their number: a thousand nodes report, and frisbeed sees each of them once a second.  The other
 * files of the engine call this, in the controller's first thread.
 *
 * For each of these keys, nodes with the same hash are a chain of their numbers plus one; 0 ends it. */
#include <stdlib.h>
#include <string.h>

#include "common/base/zero.h"
#include "controller/engine/swap_impl.h"

enum { CHAINS_MIN = 64 };

/* FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/ */
static uint64_t
hash_of(const uint8_t *value, size_t n)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < n; i++)
		h = (h ^ value[i]) * UINT64_C(0x100000001b3);
	return h ^ h >> 32;
}

static const uint8_t *
key_of(const struct swap_node *n, enum swap_key key)
{
	const void *const keys[SWAP_KEYS] = { n->name, n->mac, n->smbios, n->ip };

	return keys[key];
}

static size_t
bytes_of(const uint8_t *value, enum swap_key key)
{
	return key == SWAP_BY_MAC ? 6 : key == SWAP_BY_IP ? 4 : strlen((const char *)value);
}

/* The beginning of the chain that has nodes with this value. */
static uint32_t *
chain_of(const struct swap *w, enum swap_key key, const uint8_t *value)
{
	return &w->index.first[key][hash_of(value, bytes_of(value, key)) & (w->index.chains - 1)];
}

/* Nodes that have not reported yet have no IP address. */
static bool
has_key(const struct swap_node *n, enum swap_key key)
{
	return key == SWAP_BY_IP ? !is_zero(n->ip, 4) : key != SWAP_BY_SMBIOS || n->smbios[0] != '\0';
}

static void
put(struct swap *w, enum swap_key key, uint32_t number)
{
	const struct swap_node *n = &w->nodes[number];

	if (!has_key(n, key))
		return;
	uint32_t *first = chain_of(w, key, key_of(n, key));
	w->index.next[key][number] = *first;
	*first = number + 1;
}

static void
take(struct swap *w, enum swap_key key, uint32_t number)
{
	const struct swap_node *n = &w->nodes[number];

	if (!has_key(n, key))
		return;
	uint32_t *at = chain_of(w, key, key_of(n, key));
	while (*at != number + 1)
		at = &w->index.next[key][*at - 1];
	*at = w->index.next[key][number];
}

void
swap_index_free(struct swap *w)
{
	for (int key = 0; key < SWAP_KEYS; key++) {
		free(w->index.first[key]);
		free(w->index.next[key]);
	}
	w->index = (struct swap_index){ 0 };
}

int
swap_index_room(struct swap *w, size_t nodes, struct err *e)
{
	struct swap was = { .index = w->index };
	size_t chains = CHAINS_MIN;

	if (nodes <= w->index.chains)
		return 0;
	while (chains < nodes)
		chains *= 2;
	w->index = (struct swap_index){ .chains = chains };
	bool all = true;
	for (int key = 0; key < SWAP_KEYS; key++) {
		w->index.first[key] = calloc(chains, sizeof **w->index.first);
		w->index.next[key] = calloc(chains, sizeof **w->index.next);
		all = all && w->index.first[key] != NULL && w->index.next[key] != NULL;
	}
	if (!all) {
		swap_index_free(w);
		w->index = was.index;
		return err_nomem(e, "the nodes");
	}
	swap_index_free(&was);
	swap_index_fill(w);
	return 0;
}

void
swap_index_fill(struct swap *w)
{
	if (w->index.chains == 0)
		return;
	for (int key = 0; key < SWAP_KEYS; key++) {
		memset(w->index.first[key], 0, w->index.chains * sizeof **w->index.first);
		for (size_t i = 0; i < w->nnodes; i++)
			put(w, (enum swap_key)key, (uint32_t)i);
	}
}

void
swap_index_add(struct swap *w, const struct swap_node *n)
{
	for (int key = 0; key < SWAP_KEYS; key++)
		put(w, (enum swap_key)key, (uint32_t)(n - w->nodes));
}

void
swap_index_address(struct swap *w, struct swap_node *n, const uint8_t ip[4])
{
	uint8_t copy[4];

	memcpy(copy, ip, 4); /* it may be the node's own */
	take(w, SWAP_BY_IP, (uint32_t)(n - w->nodes));
	memcpy(n->ip, copy, 4);
	put(w, SWAP_BY_IP, (uint32_t)(n - w->nodes));
}

struct swap_node *
swap_index_find(const struct swap *w, enum swap_key key, const void *value, const struct swap_node *after)
{
	size_t bytes = bytes_of(value, key);

	if (w->index.chains == 0)
		return NULL;
	uint32_t at = after != NULL ? w->index.next[key][after - w->nodes] : *chain_of(w, key, value);
	for (; at != 0; at = w->index.next[key][at - 1]) {
		struct swap_node *n = &w->nodes[at - 1];
		const uint8_t *is = key_of(n, key);
		if (bytes_of(is, key) == bytes && memcmp(is, value, bytes) == 0)
			return n;
	}
	return NULL;
}
