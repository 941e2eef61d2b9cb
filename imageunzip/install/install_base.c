/* install_base.c: compares what a delta replaces with the target before the first chunk is
 * fed, where all chunks can be read, so that a target that is not the base's stays as it is.
 * from.c calls this in the thread that feeds chunks. */
#include "common/image/read/only.h"
#include "imageunzip/install/install_impl.h"
#include "imageunzip/install/parts_impl.h"

bool
install_compares_base(const struct install *in)
{
	return !in->cfg.force;
}

/* Compare a chunk with the sectors of one installation. */
static int
compare(struct install *in, const struct chunk *c, struct err *e)
{
	struct target *t = &in->target;
	struct ndz_header at = c->h;

	if (install_check_delta(in, c, e) != 0)
		return -1;
	if (t->only.len != 0)
		only_header(&c->h, t->only, &at);
	in->gate.begun = install_begun(in);
	return gate_check_chunk(&in->gate, t, c, at.nregions > 0, e);
}

static int
compare_parts(struct parts *x, const struct chunk *c, struct err *e)
{
	for (unsigned i = 0; i < x->n; i++)
		if (only_touches(&c->h, x->part[i].sectors) &&
		    compare(x->part[i].in, c, e) != 0)
			return -1;
	return 0;
}

int
install_compare_base(
    struct install *in, uint32_t number, const void *bytes, struct err *e)
{
	struct chunk c;

	if (chunk_parse(&c, bytes, e) != 0)
		return err_ctx(e, "chunk %u", number);
	int rc = in->parts != NULL ? compare_parts(in->parts, &c, e)
	                           : compare(in, &c, e);
	chunk_free(&c);
	return rc == 0 ? 0 : err_ctx(e, "chunk %u", number);
}

void
install_base_compared(struct install *in)
{
	for (unsigned i = 0; in->parts != NULL && i < in->parts->n; i++)
		in->parts->part[i].in->gate.all_compared = true;
	in->gate.all_compared = true;
}
