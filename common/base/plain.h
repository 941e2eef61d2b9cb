/* plain.h: makes text from elsewhere harmless for terminals, logs and reports.
 *
 * Text from an image, a disk, the network, a store or a file's name may hold anything, and
 * a terminal obeys control sequences.  Harmful are: control characters (U+0000-U+001F,
 * U+007F, U+0080-U+009F), characters that change the direction of text (U+061C, U+200E,
 * U+200F, U+202A-U+202E, U+2066-U+2069), line and paragraph separators (U+2028, U+2029),
 * and bytes that are not UTF-8 (RFC 3629).  Everything else stays.
 *
 * Code that prints messages need not call this: say.h, log.h and json.h do, for all that is
 * printed. */
#ifndef COMMON_BASE_PLAIN_H
#define COMMON_BASE_PLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads the character that text[len] begins with.  Returns how many bytes it takes, 1 to 4,
 * and puts its code point into *code.  Returns 0, and leaves *code alone, when the text
 * begins with no character (then one byte is to be skipped), or when len is 0. */
size_t plain_char(const char *text, size_t len, uint32_t *code);
/* Must this character be kept from a terminal? */
bool plain_is_harmful(uint32_t code);
/* Replaces in place: each harmful character, a NUL included, and each byte that belongs to
 * no character becomes one '?'.  Returns how many of the len bytes are left.  No NUL is put
 * behind them. */
size_t plain_bytes(char *text, size_t len);
/* plain_bytes() for a string, up to its final NUL.  Returns text. */
char *plain_text(char *text);

#endif /* COMMON_BASE_PLAIN_H */
