/* gate.c: decides which streams may be merged into a target, from its state.  merge.c calls
 * gate_decide(), in one thread, before anything is changed. */
#include "dsync/merge/gate.h"

static bool
leads_from(const struct stream_head *h, const struct stream_id *id)
{
	for (unsigned i = 0; i < h->nbases; i++)
		if (stream_id_set(id) && stream_id_same(&h->bases[i], id))
			return true;
	return false;
}

bool
gate_leads_on(const struct target_state *t, const struct stream_head *h)
{
	if (((t->flags & TARGET_INCOMPLETE) != 0 && stream_id_same(&t->next, &h->id)) ||
	    leads_from(h, &t->id))
		return true;
	return (h->flags & STREAM_FULL) != 0 && stream_id_set(&h->lineage) &&
	       stream_id_same(&h->lineage, &t->lineage) && h->made_at > t->made_at;
}

/* A full copy replaces whatever the target holds, unless that is the copy of another source. */
static int
gate_full(const struct target_state *t, const struct stream_head *h, struct err *e)
{
	if (!stream_id_set(&t->lineage) || !stream_id_set(&h->lineage) ||
	    stream_id_same(&t->lineage, &h->lineage))
		return 0;
	return err_set(e, ERR_REFUSED,
	    "the target is the copy of another source, or the states of the source "
	    "were lost; use --force to replace it");
}

/* An incomplete target holds some blocks of a stream and lacks others. */
static int
gate_incomplete(const struct target_state *t, const struct stream_head *h, struct err *e)
{
	bool mixed = (t->flags & TARGET_MIXED) != 0, from = leads_from(h, &t->id);
	/* All that was written since the target's state includes what the other stream has, if that
	 * was extracted before, and from the same source. */
	bool later = (h->flags & STREAM_CUMULATIVE) != 0 && h->made_at > t->next_made_at &&
	             stream_id_set(&h->lineage) && stream_id_same(&h->lineage, &t->next_lineage);

	/* If this is the stream whose merge was interrupted, it has each block that was written.
	 * Otherwise each block now holds the data of one of two states, and a stream that leads
	 * from both states has the blocks that must change. */
	if (stream_id_same(&t->next, &h->id) ||
	    (from && (later || (!mixed && leads_from(h, &t->next)))))
		return 0;
	return err_set(e, ERR_REFUSED,
	    "the target is incomplete, because a stream was merged only in part; it "
	    "needs the same stream again, a later one that leads on from it, or a "
	    "full copy");
}

int
gate_decide(const struct target_state *t, const struct stream_head *h, enum gate_says *says,
    struct err *e)
{
	char has[STREAM_ID_TEXT], wants[STREAM_ID_TEXT];
	bool incomplete = (t->flags & TARGET_INCOMPLETE) != 0;

	*says = !incomplete && stream_id_same(&t->id, &h->id) ? GATE_SAME : GATE_MERGE;
	if (*says == GATE_SAME)
		return 0;
	if ((h->flags & STREAM_FULL) != 0)
		return gate_full(t, h, e);
	if (incomplete)
		return gate_incomplete(t, h, e);
	if (h->nbases == 0 || leads_from(h, &t->id))
		return 0;
	if (!stream_id_set(&t->id))
		return err_set(e, ERR_REFUSED,
		    "it is not known what the target holds, and the stream has only "
		    "what has changed since state %s; send a full copy first, or use "
		    "--force",
		    stream_id_text(&h->bases[0], wants));
	return err_set(e, ERR_REFUSED,
	    "the target has state %s, and the stream has only what has changed since "
	    "state %s; send a full copy, or use --force",
	    stream_id_text(&t->id, has), stream_id_text(&h->bases[0], wants));
}
