/* probe.c: reads and writes the probes of "frisbee --doctor" and the answers to
 * them.  The doctor calls this in its only thread, and the server's shell in the
 * thread of a session; nothing is kept. */
#include "common/wire/probe.h"

#include <string.h>

#include "common/base/rd.h"
#include "common/base/wr.h"
#include "common/wire/wirext.h"

static const uint8_t magic[4] = { 'F', 'B', 'X', '1' };

bool
probe_is(const void *pkt, size_t len)
{
	struct rd r = rd_from(pkt, len);

	rd_skip(&r, sizeof magic);
	unsigned kind = rd_u8(&r);
	return wirext_is(pkt, len) && (kind == PROBE_KIND || kind == PROBE_ECHO_KIND);
}

int
probe_get(struct probe *p, const void *pkt, size_t len, struct err *e)
{
	struct rd r = rd_from(pkt, len);

	memset(p, 0, sizeof *p);
	if (!probe_is(pkt, len) || len < PROBE_BYTES_MIN || len > PROBE_BYTES_MAX)
		return err_set(
		    e, ERR_FORMAT, "packet of %zu bytes is not a probe", len);
	rd_skip(&r, sizeof magic);
	p->echo = rd_u8(&r) == PROBE_ECHO_KIND;
	rd_skip(&r, 3);
	rd_copy(&r, p->srcip, sizeof p->srcip);
	p->session = rd_le32(&r);
	p->id = rd_le32(&r);
	p->number = rd_le16(&r);
	p->flags = rd_le16(&r);
	p->heard = rd_le32(&r);
	p->by_group = rd_le32(&r);
	p->direct = rd_le32(&r);
	p->port = rd_le16(&r);
	rd_skip(&r, 2);
	rd_copy(&r, p->group, sizeof p->group);
	p->blocks = rd_le32(&r);
	return rd_ok(&r) ? 0 : err_set(e, ERR_FORMAT, "probe is too short");
}

bool
probe_put(const struct probe *p, void *pkt, size_t len)
{
	struct wr w = wr_to(pkt, len);

	if (len < PROBE_BYTES_MIN || len > PROBE_BYTES_MAX)
		return false;
	wr_bytes(&w, magic, sizeof magic);
	wr_u8(&w, p->echo ? PROBE_ECHO_KIND : PROBE_KIND);
	wr_zero(&w, 3);
	wr_bytes(&w, p->srcip, sizeof p->srcip);
	wr_le32(&w, p->session);
	wr_le32(&w, p->id);
	wr_le16(&w, p->number);
	wr_le16(&w, p->flags);
	wr_le32(&w, p->heard);
	wr_le32(&w, p->by_group);
	wr_le32(&w, p->direct);
	wr_le16(&w, p->port);
	wr_zero(&w, 2);
	wr_bytes(&w, p->group, sizeof p->group);
	wr_le32(&w, p->blocks);
	wr_zero(&w, len - wr_len(&w));
	return wr_ok(&w);
}
