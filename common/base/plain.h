/* plain.h: text from elsewhere, made harmless for terminals, logs and reports.
 *
 * What comes from an image, a disk, the network, a store or a file's name may hold
 * anything, and a terminal obeys control sequences.  Harmful are: control characters
 * (U+0000-U+001F, U+007F, U+0080-U+009F), those that change the direction of text
 * (U+061C, U+200E, U+200F, U+202A-U+202E, U+2066-U+2069), line and paragraph
 * separators (U+2028, U+2029), and what is not UTF-8 (RFC 3629).  All else stays.
 *
 * Messages need not call this: say.h, log.h and json.h do, for all that is printed.
 */
#ifndef COMMON_BASE_PLAIN_H
#define COMMON_BASE_PLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The character that the len bytes at text begin with: how many of them it takes, 1 to
 * 4, and in *code which one it is; 0 when they begin with none, so that one byte is to
 * be skipped, or when len is 0.  *code is set only with a character. */
size_t plain_char(const char *text, size_t len, uint32_t *code);
/* Must it be kept from a terminal? */
bool plain_is_harmful(uint32_t code);
/* In place, each harmful character and each byte that belongs to none becomes '?', a
 * zero, too: how many of the len bytes are left.  No zero is put behind them. */
size_t plain_bytes(char *text, size_t len);
/* The same up to the zero at the end of text, which it returns. */
char *plain_text(char *text);

#endif /* COMMON_BASE_PLAIN_H */
