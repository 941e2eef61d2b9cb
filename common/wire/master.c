/* master.c: the four messages of the master server and the verdict about an upload, to and from
 * bytes.  mfrisbeed and clients call this, in any thread. */
#include "common/wire/master.h"

#include <string.h>

#include "common/base/rd.h"
#include "common/base/wr.h"

static const uint8_t version[4] = { 'V', '0', '1', 0 };

static const size_t lengths[] = { [MASTER_GET] = MASTER_GET_BYTES,
	[MASTER_GET_REPLY] = MASTER_GET_REPLY_BYTES,
	[MASTER_PUT] = MASTER_PUT_BYTES,
	[MASTER_PUT_REPLY] = MASTER_PUT_REPLY_BYTES };

int
master_message_bytes(
    const void *header, enum master_type *type, size_t *bytes, struct err *e)
{
	struct rd r = rd_from(header, MASTER_HEADER_BYTES);
	const void *v = rd_bytes(&r, sizeof version);
	uint32_t t = rd_be32(&r);

	if (memcmp(v, version, sizeof version) != 0)
		return err_set(e, ERR_FORMAT, "is not a message of version 01");
	if (t < MASTER_GET || t > MASTER_PUT_REPLY)
		return err_set(e, ERR_FORMAT, "has the type %u, which is not known", t);
	*type = (enum master_type)t;
	*bytes = lengths[t];
	return 0;
}

/* Let r read the body of a message, which must be of the type `wanted`.  ERR_FORMAT. */
static int
begin_read(
    struct rd *r, const void *msg, size_t len, enum master_type wanted, struct err *e)
{
	enum master_type type;
	size_t bytes;

	if (len < MASTER_HEADER_BYTES)
		return err_set(e, ERR_FORMAT, "is too short to be a message");
	if (master_message_bytes(msg, &type, &bytes, e) != 0)
		return -1;
	if (type != wanted || len != bytes)
		return err_set(e, ERR_FORMAT, "is a message of type %d with %zu bytes",
		    (int)type, len);
	*r = rd_from(msg, len);
	rd_skip(r, MASTER_HEADER_BYTES);
	return 0;
}

static int
read_name(struct rd *r, char name[MASTER_NAME_MAX + 1], struct err *e)
{
	uint16_t len = rd_be16(r);

	rd_copy(r, name, MASTER_NAME_MAX);
	if (len == 0 || len > MASTER_NAME_MAX)
		return err_set(e, ERR_FORMAT, "has a name of %u bytes: 1 to %d can be",
		    (unsigned)len, MASTER_NAME_MAX);
	name[len] = '\0';
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)name[i] < ' ' || name[i] == 0x7f)
			return err_set(
			    e, ERR_FORMAT, "has a control character in its name");
	return 0;
}

static void
write_name(struct wr *w, const char *name)
{
	size_t len = strnlen(name, MASTER_NAME_MAX);

	wr_be16(w, (uint16_t)len);
	wr_bytes(w, name, len);
	wr_zero(w, MASTER_NAME_MAX - len);
}

static void
read_signature(struct rd *r, struct master_signature *s)
{
	s->type = rd_be16(r);
	rd_copy(r, s->bytes, sizeof s->bytes);
}

static void
write_signature(struct wr *w, const struct master_signature *s)
{
	wr_be16(w, s->type);
	wr_bytes(w, s->bytes, sizeof s->bytes);
}

static void
write_be64(struct wr *w, uint64_t v)
{
	wr_be32(w, (uint32_t)(v >> 32));
	wr_be32(w, (uint32_t)v);
}

static struct wr
begin_write(uint8_t *out, enum master_type type)
{
	struct wr w = wr_to(out, lengths[type]);

	wr_bytes(&w, version, sizeof version);
	wr_be32(&w, type);
	return w;
}

int
master_get_read(struct master_get *m, const void *msg, size_t len, struct err *e)
{
	struct rd r;

	if (begin_read(&r, msg, len, MASTER_GET, e) != 0)
		return -1;
	rd_copy(&r, m->host, sizeof m->host);
	m->methods = rd_u8(&r);
	m->status_only = rd_u8(&r) != 0;
	return read_name(&r, m->name, e);
}

void
master_get_write(const struct master_get *m, uint8_t out[MASTER_GET_BYTES])
{
	struct wr w = begin_write(out, MASTER_GET);

	wr_bytes(&w, m->host, sizeof m->host);
	wr_u8(&w, m->methods);
	wr_u8(&w, m->status_only);
	write_name(&w, m->name);
}

int
master_get_reply_read(
    struct master_get_reply *m, const void *msg, size_t len, struct err *e)
{
	struct rd r;

	if (begin_read(&r, msg, len, MASTER_GET_REPLY, e) != 0)
		return -1;
	m->method = rd_u8(&r);
	m->running = rd_u8(&r) != 0;
	m->error = rd_be16(&r);
	rd_copy(&r, m->server, sizeof m->server);
	rd_copy(&r, m->addr, sizeof m->addr);
	m->port = rd_be16(&r);
	read_signature(&r, &m->signature);
	m->bytes = rd_be64(&r);
	return 0;
}

void
master_get_reply_write(
    const struct master_get_reply *m, uint8_t out[MASTER_GET_REPLY_BYTES])
{
	struct wr w = begin_write(out, MASTER_GET_REPLY);

	wr_u8(&w, m->method);
	wr_u8(&w, m->running);
	wr_be16(&w, m->error);
	wr_bytes(&w, m->server, sizeof m->server);
	wr_bytes(&w, m->addr, sizeof m->addr);
	wr_be16(&w, m->port);
	write_signature(&w, &m->signature);
	write_be64(&w, m->bytes);
}

int
master_put_read(struct master_put *m, const void *msg, size_t len, struct err *e)
{
	struct rd r;

	if (begin_read(&r, msg, len, MASTER_PUT, e) != 0)
		return -1;
	rd_copy(&r, m->host, sizeof m->host);
	m->status_only = rd_u8(&r) != 0;
	if (read_name(&r, m->name, e) != 0)
		return -1;
	m->bytes = rd_be64(&r);
	m->mtime = rd_be32(&r);
	m->timeout_s = rd_be32(&r);
	return 0;
}

void
master_put_write(const struct master_put *m, uint8_t out[MASTER_PUT_BYTES])
{
	struct wr w = begin_write(out, MASTER_PUT);

	wr_bytes(&w, m->host, sizeof m->host);
	wr_u8(&w, m->status_only);
	write_name(&w, m->name);
	write_be64(&w, m->bytes);
	wr_be32(&w, m->mtime);
	wr_be32(&w, m->timeout_s);
}

int
master_put_reply_read(
    struct master_put_reply *m, const void *msg, size_t len, struct err *e)
{
	struct rd r;

	if (begin_read(&r, msg, len, MASTER_PUT_REPLY, e) != 0)
		return -1;
	m->error = rd_be16(&r);
	rd_copy(&r, m->addr, sizeof m->addr);
	m->port = rd_be16(&r);
	m->exists = rd_u8(&r) != 0;
	read_signature(&r, &m->signature);
	m->bytes = rd_be64(&r);
	m->bytes_max = rd_be64(&r);
	return 0;
}

void
master_put_reply_write(
    const struct master_put_reply *m, uint8_t out[MASTER_PUT_REPLY_BYTES])
{
	struct wr w = begin_write(out, MASTER_PUT_REPLY);

	wr_be16(&w, m->error);
	wr_bytes(&w, m->addr, sizeof m->addr);
	wr_be16(&w, m->port);
	wr_u8(&w, m->exists);
	write_signature(&w, &m->signature);
	write_be64(&w, m->bytes);
	write_be64(&w, m->bytes_max);
}

static const uint8_t verdict_magic[4] = { 'F', 'B', 'X', 'U' };

void
master_verdict_write(const struct master_verdict *v, uint8_t out[MASTER_VERDICT_BYTES])
{
	struct wr w = wr_to(out, MASTER_VERDICT_BYTES);
	size_t len = strnlen(v->reason, sizeof v->reason - 1);

	wr_bytes(&w, verdict_magic, sizeof verdict_magic);
	wr_u8(&w, v->taken);
	wr_bytes(&w, v->reason, len);
	wr_zero(&w, MASTER_VERDICT_BYTES - wr_len(&w));
}

int
master_verdict_read(struct master_verdict *v, const void *bytes, size_t len, struct err *e)
{
	struct rd r = rd_from(bytes, len);
	const void *magic = rd_bytes(&r, sizeof verdict_magic);

	v->taken = rd_u8(&r) == 1;
	rd_copy(&r, v->reason, sizeof v->reason - 1);
	v->reason[sizeof v->reason - 1] = '\0';
	if (!rd_ok(&r) || memcmp(magic, verdict_magic, sizeof verdict_magic) != 0)
		return err_set(e, ERR_FORMAT, "is not a message about an upload");
	return 0;
}

const char *
master_error_text(uint16_t error)
{
	static const char *const texts[] = { [MASTER_OK] = "has granted it",
		[MASTER_FAILED] = "could not do it",
		[MASTER_NO_HOST] = "does not know this host",
		[MASTER_NO_IMAGE] = "has no such image",
		[MASTER_NO_ACCESS] = "does not allow it to this host",
		[MASTER_NO_METHOD] = "does not serve it in any of these ways",
		[MASTER_INVALID] = "does not understand the request",
		[MASTER_TRY_AGAIN] = "asks to try again later",
		[MASTER_TOO_BIG] = "takes no image of this size",
		[MASTER_BAD_MTIME] = "says that the time of the image is wrong",
		[MASTER_NOT_IMPLEMENTED] = "does not do that" };

	return error < sizeof texts / sizeof texts[0] ? texts[error]
	                                              : "answers with an unknown error";
}
