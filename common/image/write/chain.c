/* chain.c: the state that each delta names as its base is compared with the state of the image
 * below it.  Whoever puts several images together calls this, in one thread, before their data
 * is read. */
#include "common/image/write/chain.h"

#include <stdio.h>

#include "common/image/write/sigimage.h"

int
chain_check_whole(const struct sectors *s, struct err *e)
{
	if (!ext_is_delta(sectors_ext(s)))
		return 0;
	return err_set(e, ERR_REFUSED,
	    "%s: is a delta; make a whole image of it and its base with --onto",
	    sectors_name(s));
}

/* The state of a base in the form in which the delta names it; a signature is made with the
 * hash and block size that the delta names. */
static int
state_as(struct sectors *base, const struct ext_state *wanted, struct ext_state *have,
    struct err *e)
{
	struct sig sig;

	if (sectors_state(base, have, e) != 0)
		return -1;
	bool measure = wanted->kind == EXT_STATE_SIGNATURE &&
	               !ext_state_same(wanted, have) &&
	               (wanted->hash == SIG_MD5 || wanted->hash == SIG_SHA1) &&
	               wanted->block_sectors > 0 &&
	               wanted->block_sectors <= SIG_BLOCK_MAX;
	if (!measure)
		return 0;
	if (sig_of_image(&sig, base, (enum sig_hash)wanted->hash, wanted->block_sectors,
		NULL, NULL, e) != 0)
		return -1;
	sig_state(&sig, have);
	sig_free(&sig);
	return 0;
}

static int
cannot_tell(const struct sectors *delta, const struct sectors *below,
    chain_warning *warn, struct err *e)
{
	char text[512];

	snprintf(text, sizeof text, "%s does not say whether it is a delta of %s",
	    sectors_name(delta), sectors_name(below));
	if (warn == NULL)
		return err_set(e, ERR_REFUSED, "%s", text);
	warn(text);
	return 0;
}

static int
check_link(struct sectors *delta, struct sectors *below, bool below_is_base,
    chain_warning *warn, struct err *e)
{
	const struct ext *x = sectors_ext(delta);
	struct ext_state have = sectors_ext(below)->state;
	char wanted[128], found[128];

	if (x->present && !ext_is_delta(x))
		return err_set(e, ERR_REFUSED, "%s: is a whole image, not a delta",
		    sectors_name(delta));
	if (below_is_base && x->present && state_as(below, &x->base, &have, e) != 0)
		return -1;
	if (!x->present || have.kind != x->base.kind || have.hash != x->base.hash ||
	    have.block_sectors != x->base.block_sectors)
		return cannot_tell(delta, below, warn, e);
	if (ext_state_same(&have, &x->base))
		return 0;
	return err_set(e, ERR_REFUSED, "%s: is a delta of %s, and %s is %s",
	    sectors_name(delta), ext_state_text(&x->base, wanted, sizeof wanted),
	    sectors_name(below), ext_state_text(&have, found, sizeof found));
}

int
chain_check(
    struct sectors *const images[], size_t n, chain_warning *warn, struct err *e)
{
	if (chain_check_whole(images[0], e) != 0)
		return -1;
	for (size_t i = 1; i < n; i++)
		if (check_link(images[i], images[i - 1], i == 1, warn, e) != 0)
			return -1;
	return 0;
}

int
chain_random(struct random **out, struct sectors *const images[], size_t n,
    uint64_t cache_bytes, chain_warning *warn, struct err *e)
{
	if (chain_check(images, n, warn, e) == 0)
		return random_open_layers(out, images, n, cache_bytes, e);
	for (size_t i = 0; i < n; i++)
		sectors_close(images[i]);
	return -1;
}

static int
done(void *layers, struct err *e)
{
	return layers_done(layers, e);
}

struct rewrite_source
chain_whole(
    const char *program, struct layers *l, struct sectors *const images[], size_t n)
{
	struct sectors *top = images[n - 1];

	return (struct rewrite_source){ .program = program,
		.like = top,
		.total = layers_total(l),
		.data_sectors = rangeset_total(layers_stored(l)),
		.tail = sectors_ext(top)->tail,
		.lost = layers_lost(l),
		.next = layers_next,
		.done = done,
		.arg = l };
}
