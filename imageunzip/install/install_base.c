/* install_base.c: compares what a delta replaces with the target before the first chunk is
 * fed, where all chunks can be read, so that a target that is not the base's stays as it is.
 * install_from.c calls this in the thread that feeds chunks. */
#include "common/image/read/only.h"
#include "imageunzip/install/install_impl.h"

bool
install_compares_base(const struct install *in)
{
	return !in->cfg.force;
}

/* Compare a chunk with the sectors of one place. */
static int
compare(struct place *p, const struct chunk *c, struct err *e)
{
	struct target *t = &p->target;
	struct ndz_header at = c->h;

	if (install_check_delta(p, c, e) != 0)
		return -1;
	if (p->number != 0)
		only_header(&c->h, t->only, &at);
	p->gate.begun = install_begun(p);
	return gate_check_chunk(&p->gate, t, c, at.nregions > 0, e);
}

int
install_compare_base(
    struct install *in, uint32_t number, const void *bytes, struct err *e)
{
	struct chunk c;
	int rc = 0;

	if (chunk_parse(&c, bytes, e) != 0)
		return err_ctx(e, "chunk %u", number);
	for (unsigned i = 0; rc == 0 && i < in->n; i++) {
		struct place *p = &in->place[i];
		if (p->number == 0 || only_touches(&c.h, p->target.only))
			rc = compare(p, &c, e);
	}
	chunk_free(&c);
	return rc == 0 ? 0 : err_ctx(e, "chunk %u", number);
}

void
install_base_compared(struct install *in)
{
	for (unsigned i = 0; i < in->n; i++)
		in->place[i].gate.all_compared = true;
}
