/* ptype.h: the names of partition types.
 *
 * Sources: the image format specification, section 14 (codes, GUIDs and the
 * names that are written); for the others what sgdisk shows.
 */
#ifndef COMMON_DISK_PTYPE_H
#define COMMON_DISK_PTYPE_H

#include <stddef.h>
#include <stdint.h>

enum { GUID_BYTES = 16, GUID_TEXT_CAP = 37 };

struct ptype_gpt {
	unsigned code; /* as gdisk has it, 0x8300 */
	const char guid[GUID_TEXT_CAP];
	const char *name; /* ASCII, at most 36 characters */
};

/* The GPT type with this code; NULL: it is not known.  An MBR type finds the GPT type of the
 * same meaning, where that is clear: 131, 130, 165, 166, 7, the types of FAT, of LVM, RAID and
 * EFI, and some more. */
const struct ptype_gpt *ptype_gpt_by_code(unsigned code);
/* The GPT type with this GUID; NULL: it is not known. */
const struct ptype_gpt *ptype_gpt_by_guid(const uint8_t guid[GUID_BYTES]);
/* The i-th type, NULL behind the last. */
const struct ptype_gpt *ptype_gpt_at(size_t i);
/* The name of an MBR type ("Linux", "FAT32"); NULL: it is not known. */
const char *ptype_mbr_name(uint8_t type);

/* Whose data a partition of this type has ("a pool of Windows Storage Spaces"), which
 * lies where that owner says, and not where a filesystem of a former use says; NULL:
 * the type does not tell. */
const char *ptype_gpt_owner(const uint8_t guid[GUID_BYTES]);
const char *ptype_mbr_owner(uint8_t type);

/* Convert a GUID between text and the bytes on the disk (the first three fields little-endian).
 * The text must be right (asserted). */
void ptype_guid_bytes(const char *text, uint8_t guid[GUID_BYTES]);
void ptype_guid_text(const uint8_t guid[GUID_BYTES], char text[GUID_TEXT_CAP]);

#endif /* COMMON_DISK_PTYPE_H */
