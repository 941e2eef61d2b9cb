/* All chunks of a load are of one image and of one kind.  Called by sink_prove.c in the
 * sink's thread. */
#include "frisbee/load/sink_impl.h"

/* What the first chunk that was accepted is, all are. */
int
sink_kind_check(struct sink_kind *k, uint32_t number, const struct chunk *c,
    bool encrypted, struct err *e)
{
	if (c->ext.present && (uint32_t)c->h.index != number)
		return err_set(e, ERR_FORMAT,
		    "is not in its place: it says that it is chunk %d", c->h.index);
	if (k->id.known && k->encrypted != encrypted)
		return err_set(e, ERR_FORMAT, "is%s encrypted, unlike the chunks before it",
		    encrypted ? "" : " not");
	if (k->id.known && k->is_signed != c->ext.has_signature)
		return err_set(e, ERR_FORMAT, "is%s signed, unlike the chunks before it",
		    c->ext.has_signature ? "" : " not");
	if (image_identity_check(&k->id, &c->h, &c->ext, e) != 0)
		return -1;
	k->encrypted = encrypted;
	k->is_signed = c->ext.has_signature;
	return 0;
}
