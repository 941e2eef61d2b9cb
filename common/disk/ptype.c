/* ptype.c: the names of partition types, and GUIDs as text.  ptable.c, gpt.c and
 * bootimage.c call this, in any thread: the tables are constant. */
#include "common/disk/ptype.h"

#include <assert.h>
#include <string.h>
#include <uuid/uuid.h>

static const struct ptype_gpt gpt_types[] = {
	{ 0x0700, "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7", "Microsoft basic data" },
	{ 0x0701, "558D43C5-A1AC-43C0-AAC8-D1472B2923D1", "Microsoft Storage Replica" },
	{ 0x0c01, "E3C9E316-0B5C-4DB8-817D-F92DF00215AE", "Microsoft reserved" },
	{ 0x2700, "DE94BBA4-06D1-4D40-A16A-BFD50179D6AC", "Windows RE" },
	{ 0x4100, "9E1A2D38-C612-4316-AA26-8B49521E5A8B", "PowerPC PReP boot" },
	{ 0x4200, "AF9B60A0-1431-4F62-BC68-3311714A69AD", "Windows LDM data" },
	{ 0x4201, "5808C8AA-7E8F-42E0-85D2-E1E90434CFB3", "Windows LDM metadata" },
	{ 0x4202, "E75CAF8F-F680-4CEE-AFA3-B001E56EFC2D", "Windows Storage Spaces" },
	{ 0x7501, "37AFFC90-EF7D-4E96-91C3-2D7AE055B174", "IBM GPFS" },
	{ 0x8200, "0657FD6D-A4AB-43C4-84E5-0933C84B4F4F", "Linux swap" },
	{ 0x8300, "0FC63DAF-8483-4772-8E79-3D69D8477DE4", "Linux filesystem" },
	{ 0x8301, "8DA63339-0007-60C0-C436-083AC8230908", "Linux reserved" },
	{ 0x8302, "933AC7E1-2EB4-4F13-B844-0E14E2AEF915", "Linux /home" },
	{ 0x8303, "44479540-F297-41B2-9AF7-D131D5F0458A", "Linux x86 root (/)" },
	{ 0x8304, "4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709", "Linux x86-64 root (/)" },
	{ 0x8305, "B921B045-1DF0-41C3-AF44-4C6F280D3FAE", "Linux ARM64 root (/)" },
	{ 0x8306, "3B8F8425-20E0-4F3B-907F-1A25A76F98E8", "Linux /srv" },
	{ 0x8307, "69DAD710-2CE4-4E3C-B16C-21A1D49ABED3", "Linux ARM32 root (/)" },
	{ 0x8308, "7FFEC5C9-2D00-49B7-8941-3EA10A5586B7", "Linux dm-crypt" },
	{ 0x8309, "CA7D7CCB-63ED-4C53-861C-1742536059CC", "Linux LUKS" },
	{ 0x8310, "4D21B016-B534-45C2-A9FB-5C16E091FD2D", "Linux /var" },
	{ 0x8e00, "E6D6D379-F507-44C2-A23C-238F2A3DF928", "Linux LVM" },
	{ 0xa500, "516E7CB4-6ECF-11D6-8FF8-00022D09712B", "FreeBSD disklabel" },
	{ 0xa501, "83BD6B9D-7F41-11DC-BE0B-001560B84F0F", "FreeBSD boot" },
	{ 0xa502, "516E7CB5-6ECF-11D6-8FF8-00022D09712B", "FreeBSD swap" },
	{ 0xa503, "516E7CB6-6ECF-11D6-8FF8-00022D09712B", "FreeBSD UFS" },
	{ 0xa504, "516E7CBA-6ECF-11D6-8FF8-00022D09712B", "FreeBSD ZFS" },
	{ 0xa505, "516E7CB8-6ECF-11D6-8FF8-00022D09712B", "FreeBSD Vinum/RAID" },
	{ 0xa600, "824CC7A0-36A8-11E3-890A-952519AD3F61", "OpenBSD disklabel" },
	{ 0xa901, "49F48D32-B10E-11DC-B99B-0019D1879648", "NetBSD swap" },
	{ 0xa902, "49F48D5A-B10E-11DC-B99B-0019D1879648", "NetBSD FFS" },
	{ 0xa906, "49F48DAA-B10E-11DC-B99B-0019D1879648", "NetBSD RAID" },
	{ 0xaf00, "48465300-0000-11AA-AA11-00306543ECAC", "Apple HFS/HFS+" },
	{ 0xaf01, "52414944-0000-11AA-AA11-00306543ECAC", "Apple RAID" },
	{ 0xaf02, "52414944-5F4F-11AA-AA11-00306543ECAC", "Apple RAID offline" },
	{ 0xaf05, "53746F72-6167-11AA-AA11-00306543ECAC", "Apple Core Storage" },
	{ 0xaf0a, "7C3457EF-0000-11AA-AA11-00306543ECAC", "Apple APFS" },
	{ 0xbf01, "6A898CC3-1DD2-11B2-99A6-080020736631", "Solaris /usr & Mac ZFS" },
	{ 0xea00, "BC13C2FF-59E6-4262-A352-B275FD6F7172", "XBOOTLDR partition" },
	{ 0xef00, "C12A7328-F81F-11D2-BA4B-00A0C93EC93B", "EFI System" },
	{ 0xef01, "024DEE41-33E7-11D3-9D69-0008C781F39F", "MBR partition scheme" },
	{ 0xef02, "21686148-6449-6E6F-744E-656564454649", "Grub BIOS boot partition" },
	{ 0xfb00, "AA31E02A-400F-11DB-9590-000C2911D1B8", "VMWare VMFS" },
	{ 0xf800, "4FBD7E29-9D25-41B8-AFD0-062C0CEFF05D", "Ceph OSD" },
	{ 0xf801, "4FBD7E29-9D25-41B8-AFD0-5EC00CEFF05D", "Ceph dm-crypt OSD" },
	{ 0xf802, "45B0969E-9B03-4F30-B4C6-B4B80CEFF106", "Ceph journal" },
	{ 0xf803, "45B0969E-9B03-4F30-B4C6-5EC00CEFF106", "Ceph dm-crypt journal" },
	{ 0xf806, "CAFECAFE-9B03-4F30-B4C6-B4B80CEFF106", "Ceph block" },
	{ 0xf807, "30CD0809-C2B2-499C-8879-2D6B78529876", "Ceph block DB" },
	{ 0xf808, "5CE17FCE-4087-4169-B7FF-056CC58473F9", "Ceph block write-ahead log" },
	{ 0xfb01, "9198EFFC-31C0-11DB-8F78-000C2911D1B8", "VMWare reserved" },
	{ 0xfc00, "9D275380-40AD-11DB-BF97-000C2911D1B8", "VMWare crash protection" },
	{ 0xfd00, "A19D880F-05FC-4D3B-A006-743F0F84911E", "Linux RAID" },
};

/* The first four are those of the specification. */
static const struct {
	uint8_t mbr;
	unsigned code;
} same_meaning[] = {
	{ 0x83, 0x8300 },
	{ 0x82, 0x8200 },
	{ 0xa5, 0xa500 },
	{ 0x07, 0x0700 },
	{ 0x06, 0x0700 },
	{ 0x0b, 0x0700 },
	{ 0x0c, 0x0700 },
	{ 0x0e, 0x0700 },
	{ 0x27, 0x2700 },
	{ 0x8e, 0x8e00 },
	{ 0xa6, 0xa600 },
	{ 0xaf, 0xaf00 },
	{ 0xef, 0xef00 },
	{ 0xfb, 0xfb00 },
	{ 0xfd, 0xfd00 },
};

static const char *const mbr_names[256] = {
	[0x00] = "Empty",
	[0x01] = "FAT12",
	[0x04] = "FAT16 up to 32M",
	[0x05] = "Extended",
	[0x06] = "FAT16",
	[0x07] = "NTFS or exFAT",
	[0x0b] = "FAT32",
	[0x0c] = "FAT32 (LBA)",
	[0x0e] = "FAT16 (LBA)",
	[0x0f] = "Extended (LBA)",
	[0x27] = "Windows RE",
	[0x39] = "Plan 9",
	[0x41] = "PReP boot",
	[0x82] = "Linux swap",
	[0x83] = "Linux",
	[0x85] = "Linux extended",
	[0x8e] = "Linux LVM",
	[0xa5] = "FreeBSD",
	[0xa6] = "OpenBSD",
	[0xa8] = "Darwin UFS",
	[0xa9] = "NetBSD",
	[0xab] = "Darwin boot",
	[0xaf] = "HFS or HFS+",
	[0xbe] = "Solaris boot",
	[0xbf] = "Solaris",
	[0xeb] = "BeOS",
	[0xee] = "GPT",
	[0xef] = "EFI system",
	[0xfb] = "VMware VMFS",
	[0xfc] = "VMware kcore",
	[0xfd] = "Linux RAID",
};

/* Types of partitions whose data lies where their owner says.  Types of RAID and LVM
 * are not among them, because their metadata is always found: md.h, lvm2/. Sources: as
 * for the types above, and for Virtual SAN the list of VMware. */
static const struct {
	const char *guid, *owner;
} gpt_owners[] = {
	{ "AF9B60A0-1431-4F62-BC68-3311714A69AD", "a dynamic disk of Windows (LDM)" },
	{ "5808C8AA-7E8F-42E0-85D2-E1E90434CFB3", "a dynamic disk of Windows (LDM)" },
	{ "E75CAF8F-F680-4CEE-AFA3-B001E56EFC2D", "a pool of Windows Storage Spaces" },
	{ "558D43C5-A1AC-43C0-AAC8-D1472B2923D1", "Windows Storage Replica" },
	{ "E3C9E316-0B5C-4DB8-817D-F92DF00215AE", "Windows, which has reserved it" },
	{ "37AFFC90-EF7D-4E96-91C3-2D7AE055B174", "IBM GPFS" },
	{ "7FFEC5C9-2D00-49B7-8941-3EA10A5586B7", "dm-crypt, and is encrypted" },
	{ "52414944-0000-11AA-AA11-00306543ECAC", "an Apple RAID" },
	{ "52414944-5F4F-11AA-AA11-00306543ECAC", "an Apple RAID" },
	{ "53746F72-6167-11AA-AA11-00306543ECAC", "Apple Core Storage" },
	{ "48465300-0000-11AA-AA11-00306543ECAC", "macOS (HFS+)" },
	{ "7C3457EF-0000-11AA-AA11-00306543ECAC", "macOS (APFS)" },
	{ "6A898CC3-1DD2-11B2-99A6-080020736631", "Solaris or ZFS" },
	{ "516E7CBA-6ECF-11D6-8FF8-00022D09712B", "a pool of ZFS" },
	{ "516E7CB8-6ECF-11D6-8FF8-00022D09712B", "a volume of FreeBSD's Vinum" },
	{ "49F48DAA-B10E-11DC-B99B-0019D1879648", "a RAID of NetBSD" },
	{ "4FBD7E29-9D25-41B8-AFD0-062C0CEFF05D", "Ceph" },
	{ "4FBD7E29-9D25-41B8-AFD0-5EC00CEFF05D", "Ceph" },
	{ "45B0969E-9B03-4F30-B4C6-B4B80CEFF106", "Ceph" },
	{ "45B0969E-9B03-4F30-B4C6-5EC00CEFF106", "Ceph" },
	{ "CAFECAFE-9B03-4F30-B4C6-B4B80CEFF106", "Ceph" },
	{ "30CD0809-C2B2-499C-8879-2D6B78529876", "Ceph" },
	{ "5CE17FCE-4087-4169-B7FF-056CC58473F9", "Ceph" },
	{ "AA31E02A-400F-11DB-9590-000C2911D1B8", "VMware (VMFS)" },
	{ "9198EFFC-31C0-11DB-8F78-000C2911D1B8", "VMware, which has reserved it" },
	{ "9D275380-40AD-11DB-BF97-000C2911D1B8", "VMware (crash dumps)" },
	{ "381CFCCC-7288-11E0-92EE-000C2911D0B2", "VMware's Virtual SAN" },
};

static const struct {
	uint8_t type;
	const char *owner;
} mbr_owners[] = {
	{ 0x42, "a dynamic disk of Windows (LDM)" },
	{ 0xab, "macOS (its boot partition)" },
	{ 0xaf, "macOS (HFS+)" },
	{ 0xbf, "Solaris" },
	{ 0xfb, "VMware (VMFS)" },
	{ 0xfc, "VMware (crash dumps)" },
};

const char *
ptype_gpt_owner(const uint8_t guid[GUID_BYTES])
{
	char text[GUID_TEXT_CAP];

	ptype_guid_text(guid, text);
	for (size_t i = 0; i < sizeof gpt_owners / sizeof gpt_owners[0]; i++)
		if (strcmp(gpt_owners[i].guid, text) == 0)
			return gpt_owners[i].owner;
	return NULL;
}

const char *
ptype_mbr_owner(uint8_t type)
{
	for (size_t i = 0; i < sizeof mbr_owners / sizeof mbr_owners[0]; i++)
		if (mbr_owners[i].type == type)
			return mbr_owners[i].owner;
	return NULL;
}

const struct ptype_gpt *
ptype_gpt_at(size_t i)
{
	return i < sizeof gpt_types / sizeof gpt_types[0] ? &gpt_types[i] : NULL;
}

const struct ptype_gpt *
ptype_gpt_by_code(unsigned code)
{
	const struct ptype_gpt *p;

	for (size_t i = 0; i < sizeof same_meaning / sizeof same_meaning[0]; i++)
		if (same_meaning[i].mbr == code)
			code = same_meaning[i].code;
	for (size_t i = 0; (p = ptype_gpt_at(i)) != NULL && p->code != code; i++)
		;
	return p;
}

const struct ptype_gpt *
ptype_gpt_by_guid(const uint8_t guid[GUID_BYTES])
{
	const struct ptype_gpt *p;
	char text[GUID_TEXT_CAP];

	ptype_guid_text(guid, text);
	for (size_t i = 0; (p = ptype_gpt_at(i)) != NULL; i++)
		if (strcmp(p->guid, text) == 0)
			break;
	return p;
}

const char *
ptype_mbr_name(uint8_t type)
{
	return mbr_names[type];
}

/* The text of a UUID has all fields big-endian; on the disk the first three are
 * little-endian. */
static void
swap_fields(const uint8_t in[GUID_BYTES], uint8_t out[GUID_BYTES])
{
	static const uint8_t from[8] = { 3, 2, 1, 0, 5, 4, 7, 6 };

	for (size_t i = 0; i < GUID_BYTES; i++)
		out[i] = in[i < sizeof from ? from[i] : i];
}

void
ptype_guid_bytes(const char *text, uint8_t guid[GUID_BYTES])
{
	uuid_t u;

	int bad = uuid_parse(text, u);
	assert(bad == 0);
	swap_fields(u, guid);
}

void
ptype_guid_text(const uint8_t guid[GUID_BYTES], char text[GUID_TEXT_CAP])
{
	uuid_t u;

	swap_fields(guid, u);
	uuid_unparse_upper(u, text);
}
