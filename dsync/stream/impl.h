/* impl.h: what the writer and the reader of a stream share. */
#ifndef DSYNC_STREAM_IMPL_H
#define DSYNC_STREAM_IMPL_H

#include "dsync/stream/stream.h"

enum { STREAM_VERSION = 1, STREAM_MAGIC_BYTES = 8 };

/* The magic number holds line ends, which a program that takes the stream for text changes. */
extern const uint8_t stream_magic[STREAM_MAGIC_BYTES];

/* The first STREAM_RECORD_HEAD bytes of a record. */
struct stream_record_head {
	enum stream_type type;
	enum stream_encoding encoding;
	struct range bytes;
	uint32_t stored;
};

/* Decode a head, or the head of a record, and check what it alone can show.  Ranges must lie on
 * the device.  ERR_FORMAT, ERR_UNSUPPORTED. */
int stream_get_head(
    struct stream_head *, const uint8_t in[STREAM_TOP_BYTES], struct err *);
int stream_get_record(struct stream_record_head *,
    const uint8_t in[STREAM_RECORD_HEAD], uint64_t device_bytes, struct err *);
/* Decode the payload of an end. */
void stream_get_end(struct stream_end *, const uint8_t in[STREAM_END_PAYLOAD]);
/* Whether the digest behind the first n bytes of a record is theirs. */
bool stream_proves(const uint8_t *at, size_t n);

#endif /* DSYNC_STREAM_IMPL_H */
