/* keys.h: the keys (names) of the objects of a store. */
#ifndef EMUSTORE_STORE_KEYS_H
#define EMUSTORE_STORE_KEYS_H

#include <inttypes.h>
#include <stdbool.h>

#include "emustore/store/name.h"
#include "emustore/store/toc.h"

enum { KEY_BYTES = 300, GIVEN_KEY_BYTES = 40 };

#define KEY_FORMAT "format"
#define KEYS_IMAGES "images/"
#define KEYS_TABLES "tables/"
#define KEYS_PACKS "packs/"
#define KEYS_CONDEMNED "condemned/"
#define KEYS_CLAIMS "claims/"
#define KEYS_GIVEN "given/" /* given.h */
#define GIVEN_FORMAT "-%010" PRIu32 "-%010" PRIu32 /* behind KEYS_GIVEN and a name */
#define KEYS_CHANGES "changes/" /* only in a bucket: changes.h */
#define CHANGES_OPEN "open-" /* behind KEYS_CHANGES, before the id of a writer */
#define CHANGES_DONE "done-"
#define KEYS_NEW "new/" /* only in a folder: files that have no name yet */

enum { KEY_RANDOM_CHARS = 32 };
/* Write a random name, which no other object has, to out. */
void key_random(char out[KEY_RANDOM_CHARS + 1]);
/* Write the key of an object to out.  An id is that of a pack: PACK_ID_CHARS hexadecimal
 * digits; the name of an image has a version from 1. */
void key_of_pack(const char *id, char out[KEY_BYTES]);
void key_of_table(const char *id, char out[KEY_BYTES]);
void key_of_condemned(const char *id, char out[KEY_BYTES]);
void key_of_image(const struct store_name *, char out[KEY_BYTES]);
/* Is this the key of an image, a table or a pack, without KEYS_IMAGES, KEYS_TABLES or
 * KEYS_PACKS before it?  If it is, the image's name and version, or the pack's id, is
 * filled in. */
bool key_is_image(const char *key, struct store_name *);
bool key_is_table(const char *key, char id[PACK_ID_CHARS + 1]);
bool key_is_pack(const char *key, char id[PACK_ID_CHARS + 1]);

#endif /* EMUSTORE_STORE_KEYS_H */
