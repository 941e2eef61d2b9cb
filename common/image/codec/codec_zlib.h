/* codec_zlib.h: what the codecs deflate and igzip share.  The fragments of both make up a
 * zlib stream, and both are decoded in the same way. */
#ifndef COMMON_IMAGE_CODEC_CODEC_ZLIB_H
#define COMMON_IMAGE_CODEC_CODEC_ZLIB_H

#include "common/image/codec/codec.h"

/* decoder_new(), decoder_free() and decode() of struct codec. */
void *codec_zlib_decoder_new(void);
void codec_zlib_decoder_free(void *);
int codec_zlib_decode(
    void *decoder, const void *in, size_t in_bytes, void *out, size_t n, struct err *);
/* end() of struct codec.  It does nothing, since a deflate fragment ends on a byte. */
void codec_zlib_end(void *fragment, size_t n);

/* The members of struct codec that these codecs share.  ratio_max: one byte of deflate
 * holds at most 1032 bytes. */
#define CODEC_ZLIB_STREAM \
	.id = CODEC_DEFLATE, .windows = 1, .ratio_max = 1032, .end = codec_zlib_end, \
	.head_bytes = STREAM_HEAD_BYTES, .tail_bytes = STREAM_TAIL_BYTES, \
	.tail = deflate_stream_tail, .zeros_bytes = deflate_zeros_bytes, \
	.zeros = deflate_zeros, .is_zeros = deflate_is_zeros, \
	.decoder_new = codec_zlib_decoder_new, \
	.decoder_free = codec_zlib_decoder_free, .decode = codec_zlib_decode

#endif /* COMMON_IMAGE_CODEC_CODEC_ZLIB_H */
