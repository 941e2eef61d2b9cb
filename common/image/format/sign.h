/* sign.h: chunks that only the holder of a key can make.
 *
 * An Ed25519 signature in each chunk's extension area covers the image's UUID, the
 * chunk's number, whether it is the last one and of how many, its header, its stream and
 * its other records.  Key files are PEM: PKCS #8 (private), SubjectPublicKeyInfo
 * (public).  docs/image-format.md has the signed bytes.
 */
#ifndef COMMON_IMAGE_FORMAT_SIGN_H
#define COMMON_IMAGE_FORMAT_SIGN_H

#include <stdint.h>

#include "common/base/err.h"
#include "common/image/format/ext.h"

struct signer;
struct verifier;

/* Make a pair of key files, NAME.key (private, mode 0600) and NAME.pub. */
int sign_make_keys(const char *name, struct err *);

/* Read a private key file.  ERR_REFUSED when others may read it. */
int signer_new(struct signer **, const char *path, struct err *);
void signer_free(struct signer *); /* wipes the key */
/* Add the signature to chunk[NDZ_CHUNK_BYTES], which ends with EXT_SIGNATURE_BYTES
 * of room and whose digest is right. */
int sign_chunk(struct signer *, uint8_t *chunk, struct err *);

/* Read a public key file. */
int verifier_new(struct verifier **, const char *path, struct err *);
void verifier_free(struct verifier *);
/* The first EXT_KEY_ID_BYTES of the SHA-256 of the public key. */
const uint8_t *verifier_key_id(const struct verifier *);
/* Is this chunk `number` of an image that was signed with this key, with every bit as it was?
 * ERR_REFUSED: not signed, or with another key; ERR_FORMAT: damaged or forged. */
int verify_chunk(
    struct verifier *, uint32_t number, const uint8_t *chunk, struct err *);

#endif /* COMMON_IMAGE_FORMAT_SIGN_H */
