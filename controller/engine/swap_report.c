/* swap_report.c: the line that a node sends, "report MACHINE ORDER PHASE TEXT" (netboot/README.md).
 * The controller's loop calls this in the program's first thread. */
#include <stdio.h>
#include <string.h>

#include "common/base/plain.h"
#include "common/base/rd.h"
#include "controller/engine/swap.h"

/* The next word, up to this sign, which is passed.  *n: its bytes. */
static const char *
take_word(struct rd *r, char end, size_t *n)
{
	const char *at = (const char *)r->base + r->off;
	size_t left = rd_left(r);

	for (*n = 0; *n < left && at[*n] != end; ++*n)
		;
	rd_skip(r, *n);
	if (rd_left(r) > 0)
		rd_skip(r, 1);
	return at;
}

static int
hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* 52-54-00-00-00-0a */
static bool
read_mac(const char *at, size_t n, uint8_t mac[6])
{
	if (n != 17)
		return false;
	for (int i = 0; i < 6; i++) {
		int high = hex(at[3 * i]), low = hex(at[3 * i + 1]);
		if (high < 0 || low < 0 || (i < 5 && at[3 * i + 2] != '-'))
			return false;
		mac[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

/* MAC[,UUID][,serial:NUMBER].  A placeholder is none of these: it counts as not there. */
static int
read_machine(const char *at, size_t n, struct swap_report *out, struct err *e)
{
	struct rd r = rd_from(at, n);
	char is[SMBIOS_BYTES];

	at = take_word(&r, ',', &n);
	if (!read_mac(at, n, out->mac))
		return err_set(e, ERR_FORMAT, "the report names no machine's MAC address");
	while (rd_left(&r) > 0) {
		at = take_word(&r, ',', &n);
		if (smbios_read(at, n, is, e) != 0 && e->kind != ERR_REFUSED)
			return -1;
		char *to = is[0] == 's' ? out->serial : out->uuid;
		if (is[0] != '\0' && to[0] != '\0')
			return err_set(e, ERR_FORMAT, "the report names two machines, %s and %s", to, is);
		if (is[0] != '\0')
			strcpy(to, is);
	}
	return 0;
}

static bool
read_name(const char *at, size_t n, char *out, size_t cap, bool letters_only)
{
	if (n == 0 || n >= cap)
		return false;
	for (size_t i = 0; i < n; i++) {
		bool lower = at[i] >= 'a' && at[i] <= 'z';
		bool other = (at[i] >= 'A' && at[i] <= 'Z') || (at[i] >= '0' && at[i] <= '9') ||
		             at[i] == '-';
		if (!lower && (letters_only || !other))
			return false;
	}
	memcpy(out, at, n);
	out[n] = '\0';
	return true;
}

static void
read_text(struct rd *r, char text[SWAP_TEXT_BYTES])
{
	size_t n = rd_left(r) < SWAP_TEXT_BYTES - 1 ? rd_left(r) : SWAP_TEXT_BYTES - 1;

	rd_copy(r, text, n);
	text[plain_bytes(text, n)] = '\0';
}

int
swap_report_read(const char *line, size_t bytes, struct swap_report *out, struct err *e)
{
	struct rd r = rd_from(line, bytes);
	size_t n;

	*out = (struct swap_report){ 0 };
	const char *at = take_word(&r, ' ', &n);
	if (n != 6 || memcmp(at, "report", 6) != 0)
		return err_set(e, ERR_FORMAT, "this is not a report");
	at = take_word(&r, ' ', &n);
	if (read_machine(at, n, out, e) != 0)
		return -1;
	at = take_word(&r, ' ', &n);
	if (!read_name(at, n, out->order, sizeof out->order, false))
		return err_set(e, ERR_FORMAT, "the report names no order");
	at = take_word(&r, ' ', &n);
	if (!read_name(at, n, out->phase, sizeof out->phase, true))
		return err_set(e, ERR_FORMAT, "the phase is not known");
	read_text(&r, out->text);
	return 0;
}

size_t
swap_report_write(const struct swap_report *r, char *line, size_t cap)
{
	const uint8_t *m = r->mac;
	int n = snprintf(line, cap, "report %02x-%02x-%02x-%02x-%02x-%02x%s%s%s%s %s %s %s", m[0], m[1], m[2],
	    m[3], m[4], m[5], r->uuid[0] != '\0' ? "," : "", r->uuid, r->serial[0] != '\0' ? "," : "", r->serial,
	    r->order, r->phase, r->text);

	return n > 0 && (size_t)n < cap ? (size_t)n : 0;
}
