/* state_log.c: writes and reads the records of digests of a state file (state_log.h).
 * state.c calls this in the threads that open the installation and that write. */
#include "imageunzip/install/state_log.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/base/field.h"
#include "common/base/wr.h"

enum { CRC_AT = 4, CRC_FROM = 8, HEAD_BYTES = 16, PART_BYTES = 40 };

static const char magic[4] = { 'N', 'D', 'Z', 'X' };

int
state_log_add(
    struct state_log *l, uint32_t chunk, const struct ledger_parts *parts, struct err *e)
{
	size_t bytes = HEAD_BYTES + parts->n * PART_BYTES;
	uint8_t *more = realloc(l->bytes, l->n + bytes);

	if (more == NULL)
		return err_nomem(e, "digests of what is written");
	uint8_t *at = more + l->n;
	struct wr w = wr_to(at, bytes);
	wr_bytes(&w, magic, sizeof magic);
	wr_le32(&w, 0);
	wr_le32(&w, chunk);
	wr_le32(&w, (uint32_t)parts->n);
	for (size_t i = 0; i < parts->n; i++) {
		const struct ledger_part *p = &parts->p[i];
		const uint64_t v[] = { p->block, p->has[0], p->has[1], p->sum[0],
			p->sum[1] };
		for (unsigned k = 0; k < sizeof v / sizeof v[0]; k++)
			wr_le64(&w, v[k]);
	}
	put_le32(at + CRC_AT,
	    (uint32_t)crc32_z(0, at + CRC_FROM, bytes - CRC_FROM));
	l->bytes = more;
	l->n += bytes;
	return 0;
}

void
state_log_free(struct state_log *l)
{
	free(l->bytes);
	*l = (struct state_log){ .n = 0 };
}

bool
state_log_next(const struct state_log *l, size_t *at, struct state_record *out)
{
	size_t left = l->n - *at;
	struct rd r = rd_from(l->bytes + *at, left);
	const void *m = rd_bytes(&r, sizeof magic);
	uint32_t crc = rd_le32(&r);

	out->chunk = rd_le32(&r);
	out->left = rd_le32(&r);
	if (!rd_ok(&r) || memcmp(m, magic, sizeof magic) != 0 ||
	    !rd_can_hold(&r, out->left, PART_BYTES))
		return false;
	size_t bytes = HEAD_BYTES + (size_t)out->left * PART_BYTES;
	const uint8_t *from = l->bytes + *at;
	if (crc != (uint32_t)crc32_z(0, from + CRC_FROM, bytes - CRC_FROM))
		return false;
	out->parts = rd_from(from + HEAD_BYTES, bytes - HEAD_BYTES);
	*at += bytes;
	return true;
}

bool
state_record_part(struct state_record *r, struct ledger_part *p)
{
	if (r->left == 0)
		return false;
	r->left--;
	p->block = rd_le64(&r->parts);
	for (unsigned i = 0; i < 2; i++)
		p->has[i] = rd_le64(&r->parts);
	for (unsigned i = 0; i < 2; i++)
		p->sum[i] = rd_le64(&r->parts);
	return rd_ok(&r->parts);
}
