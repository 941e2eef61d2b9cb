/* What a machine is known by: the forms of a UUID and a serial number, placeholders, every truncation;
 * and which node a machine is that reports. */
#include "controller/engine/smbios.h"

#include <stdio.h>
#include <string.h>

#include "controller/engine/swap_impl.h"
#include "controller/nodes/table.h"
#include "tests/t.h"

static const char uuid[] = "4c4c4544-0042-3510-8054-b4c04f4a3132";
static const char other_uuid[] = "4c4c4544-0042-3510-8054-b4c04f4a3133";

static bool
reads(const char *text, const char *wanted)
{
	char out[SMBIOS_BYTES];
	struct err e;

	return smbios_read(text, strlen(text), out, &e) == 0 && strcmp(out, wanted) == 0;
}

static bool
fails(const char *text, int kind)
{
	char out[SMBIOS_BYTES] = "x";
	struct err e;

	return smbios_read(text, strlen(text), out, &e) != 0 && (int)e.kind == kind && out[0] == '\0';
}

static void
forms(void)
{
	static const char option[] = "00:44:45:4c:4c:42:00:10:35:80:54:b4:c0:4f:4a:31:32";
	char out[SMBIOS_BYTES];
	struct err e;

	T_CHECK(reads(uuid, uuid));
	T_CHECK(reads("4C4C4544-0042-3510-8054-B4C04F4A3132", uuid));
	T_CHECK(reads(option, uuid)); /* as DHCP has it: the first three fields are the other way round */
	T_CHECK(reads("0044454C4C420010358054B4C04F4A3132", uuid));
	T_CHECK(reads("serial:5B4TJ12", "serial:5B4TJ12") && reads("serial:a.B_c-9", "serial:a.B_c-9"));
	for (size_t n = 0; n < strlen(uuid); n++) /* every truncation */
		T_CHECK(smbios_read(uuid, n, out, &e) != 0 && e.kind == ERR_FORMAT);
	for (size_t n = 0; n < strlen(option); n++)
		T_CHECK(smbios_read(option, n, out, &e) != 0 && e.kind == ERR_FORMAT);
	static const char *const bad[] = { "4c4c454-40042-3510-8054-b4c04f4a3132", "4c4c4544-0042-3510-8054-b4c04f4a313g",
		"0144454c4c420010358054b4c04f4a3132", "serial:", "serial:a b", "serial:a/b", "serial:a,b", "5B4TJ12", "",
		"serial:12345678901234567890123456789012345678901234567890123456789012345" };
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		if (!T_CHECK(fails(bad[i], ERR_FORMAT)))
			printf("# %s\n", bad[i]);
}

static void
placeholders(void)
{
	static const char *const many[] = { "00000000-0000-0000-0000-000000000000", "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
		"03000200-0400-0500-0006-000700080009", "00020003-0004-0005-0006-000700080009",
		"00:00:02:00:03:00:04:00:05:00:06:00:07:00:08:00:09", "serial:None", "serial:0", "serial:XXXXXXX", "serial:-",
		"serial:To_be_filled_by_O.E.M.", "serial:TO-BE-FILLED-BY-OEM", "serial:Default_string",
		"serial:System-Serial-Number", "serial:0123456789", "serial:unknown" };

	for (size_t i = 0; i < sizeof many / sizeof many[0]; i++)
		if (!T_CHECK(fails(many[i], ERR_REFUSED)))
			printf("# %s\n", many[i]);
	T_CHECK(reads("serial:NONE1", "serial:NONE1") && reads("serial:01234567890", "serial:01234567890"));
}

/* A session of all nodes of this table runs. */
static struct swap_session *
set_up(struct swap *w, const char *table)
{
	static const struct swap_config config = { .salt = "5a17", .patience_s = 60, .patience_boot_s = 150 };
	struct swap_wish wish = { .image = "a.ndz", .timeout_s = 3600, .tries = 1 };
	struct err e;
	uint32_t id;
	bool again;

	swap_init(w, &config);
	if (!T_CHECK(table_parse(w, table, strlen(table), "nodes", &e) == 0))
		printf("# %s\n", e.text);
	for (size_t i = 0; i < w->nnodes; i++)
		strcat(strcat(wish.nodes, i > 0 ? "," : ""), w->nodes[i].name);
	T_CHECK(swap_start(w, (struct swap_now){ 1, 1 }, &wish, &id, &again, &e) == 0);
	return swap_find_session(w, 1);
}

static int
report(struct swap *w, const char *machine, const char *phase, struct err *e)
{
	struct swap_report r;
	char line[300];

	snprintf(line, sizeof line, "report %s 5a17-1-1 %s x", machine, phase);
	if (!T_CHECK(swap_report_read(line, strlen(line), &r, e) == 0))
		return -1;
	return swap_reported(w, (struct swap_now){ 2, 2 }, &r, (uint8_t[]){ 10, 0, 0, 1 }, e);
}

/* Two nodes have one USB card in turn. */
static void
shared(void)
{
	static const char nodes[] = "node a 52:54:00:00:00:01 4C4C4544-0042-3510-8054-B4C04F4A3132\n"
				    "node b 52:54:00:00:00:01 serial:B7\n"
				    "node c 52:54:00:00:00:03\n";
	struct swap w;
	struct err e;

	const struct swap_session *s = set_up(&w, nodes);
	T_CHECK(report(&w, "52-54-00-00-00-01,4c4c4544-0042-3510-8054-b4c04f4a3132", "loading", &e) == 0);
	T_CHECK(w.nodes[0].phase == SWAP_LOADING && w.nodes[1].phase == SWAP_BOOTING);
	T_CHECK(report(&w, "52-54-00-00-00-01,4c4c4544-0042-3510-8054-b4c04f4a3133,serial:B7", "loading", &e) == 0);
	T_CHECK(w.nodes[1].phase == SWAP_LOADING);
	T_CHECK(report(&w, "52-54-00-00-00-01", "done", &e) != 0 && e.kind == ERR_ABSENT); /* which of them? */
	T_CHECK(report(&w, "52-54-00-00-00-01,4c4c4544-0042-3510-8054-b4c04f4a3139", "done", &e) != 0 && e.kind == ERR_ABSENT);
	/* What c says of itself is not in its line, or a placeholder. */
	T_CHECK(report(&w, "52-54-00-00-00-03,4c4c4544-0042-3510-8054-b4c04f4a3134", "loading", &e) == 0);
	T_CHECK(report(&w, "52-54-00-00-00-03,00000000-0000-0000-0000-000000000000", "done", &e) == 0);
	T_CHECK(w.nodes[2].phase == SWAP_DONE && s->count[SWAP_DONE] == 1 && swap_by_smbios(&w.nodes[0]));
	swap_free(&w);
}

/* A machine comes with another card than the last time. */
static void
any_card(void)
{
	struct swap w;
	struct err e;

	set_up(&w, "node a 52:54:00:00:00:01 4c4c4544-0042-3510-8054-b4c04f4a3132\n");
	T_CHECK(report(&w, "52-54-00-00-00-77,4c4c4544-0042-3510-8054-b4c04f4a3132", "loading", &e) == 0);
	T_CHECK(w.nodes[0].phase == SWAP_LOADING && swap_by_smbios(&w.nodes[0]));
	/* An older system in memory says its MAC address alone. */
	T_CHECK(report(&w, "52-54-00-00-00-01", "done", &e) == 0 && w.nodes[0].phase == SWAP_DONE);
	swap_free(&w);
}

static void
two_machines(void)
{
	struct swap w;
	struct err e;

	const struct swap_session *s = set_up(&w, "node a 52:54:00:00:00:01 4c4c4544-0042-3510-8054-b4c04f4a3132\n");
	T_CHECK(report(&w, "52-54-00-00-00-01,4c4c4544-0042-3510-8054-b4c04f4a3132", "loading", &e) == 0);
	T_CHECK(report(&w, "52-54-00-00-00-77,4c4c4544-0042-3510-8054-b4c04f4a3132", "loading", &e) != 0);
	T_CHECK(e.kind == ERR_REFUSED && strstr(e.text, "this order is not for this machine") == e.text);
	T_CHECK(!swap_by_smbios(&w.nodes[0]) && strstr(s->last, "a is known by its MAC address") != NULL);
	T_CHECK(report(&w, "52-54-00-00-00-77,4c4c4544-0042-3510-8054-b4c04f4a3132", "done", &e) != 0 && e.kind == ERR_ABSENT);
	T_CHECK(report(&w, "52-54-00-00-00-01,4c4c4544-0042-3510-8054-b4c04f4a3132", "done", &e) == 0);
	T_CHECK(w.nodes[0].phase == SWAP_DONE);
	swap_free(&w);
	/* A node that is known by its MAC address has the UUID of another one. */
	set_up(&w, "node a 52:54:00:00:00:01 4c4c4544-0042-3510-8054-b4c04f4a3132\nnode b 52:54:00:00:00:02\n");
	T_CHECK(report(&w, "52-54-00-00-00-02,4c4c4544-0042-3510-8054-b4c04f4a3132", "loading", &e) != 0 && e.kind == ERR_REFUSED);
	T_CHECK(!swap_by_smbios(&w.nodes[0]) && report(&w, "52-54-00-00-00-02", "loading", &e) == 0 && w.nodes[1].phase == SWAP_LOADING);
	swap_free(&w);
	/* Neither what SMBIOS has nor the MAC address is of this node alone. */
	s = set_up(&w, "node a 52:54:00:00:00:01 4c4c4544-0042-3510-8054-b4c04f4a3132\nnode b 52:54:00:00:00:01 serial:B7\n"
		       "node c 52:54:00:00:00:03\n");
	T_CHECK(report(&w, "52-54-00-00-00-03,4c4c4544-0042-3510-8054-b4c04f4a3132", "loading", &e) != 0);
	T_CHECK(w.nodes[0].phase == SWAP_FAILED && w.nodes[1].phase == SWAP_BOOTING && s->count[SWAP_FAILED] == 1);
	swap_stop(&w, (struct swap_now){ 3, 3 }, 1, &e);
	struct swap_wish wish = { .nodes = "a", .image = "a.ndz", .timeout_s = 3600, .tries = 1 };
	uint32_t id;
	bool again;
	T_CHECK(swap_start(&w, (struct swap_now){ 4, 4 }, &wish, &id, &again, &e) != 0 && e.kind == ERR_REFUSED);
	swap_free(&w);
}

static bool
table_fails(const char *text, const char *why)
{
	struct swap w;
	struct err e;

	swap_init(&w, &(struct swap_config){ .salt = "5a17" });
	int rc = table_parse(&w, text, strlen(text), "nodes", &e);
	swap_free(&w);
	return rc != 0 && strstr(e.text, why) != NULL;
}

static void
tables(void)
{
	struct swap w;

	set_up(&w, "node a 52:54:00:00:00:01 03000200-0400-0500-0006-000700080009\n"
		   "node b 52:54:00:00:00:02 4c4c4544-0042-3510-8054-b4c04f4a3132\n"
		   "node c 52:54:00:00:00:03 4C4C4544-0042-3510-8054-B4C04F4A3132\n"
		   "node d 52:54:00:00:00:04 4c4c4544-0042-3510-8054-b4c04f4a3133\n");
	T_CHECK(!swap_by_smbios(&w.nodes[0]) && !swap_by_smbios(&w.nodes[1]) && !swap_by_smbios(&w.nodes[2]));
	T_CHECK(swap_by_smbios(&w.nodes[3]) && strcmp(w.nodes[3].smbios, other_uuid) == 0);
	swap_free(&w);
	T_CHECK(table_fails("node a 52:54:00:00:00:01\nnode b 52:54:00:00:00:01 serial:B7\n", "b has the MAC address of a"));
	T_CHECK(table_fails("node a 52:54:00:00:00:01 serial:B7\nnode b 52:54:00:00:00:01\n", "b has the MAC address of a"));
	T_CHECK(table_fails("node a 52:54:00:00:00:01 serial:B7\nnode b 52:54:00:00:00:01 serial:None\n", "MAC address of a"));
	T_CHECK(table_fails("node a 52:54:00:00:00:01 serial:B7\nnode b 52:54:00:00:00:01 serial:B7\n", "MAC address of a"));
	T_CHECK(table_fails("node a 52:54:00:00:00:01 serial:A1\nnode b 52:54:00:00:00:01 serial:B7\nnode c 52:54:00:00:00:03 serial:A1\n",
	    "c has the UUID or serial number of a, which has the MAC address of b"));
	T_CHECK(table_fails("node a 52:54:00:00:00:01 B7\n", "neither a UUID nor serial:NUMBER"));
}

/* The file of nodes is read again while a node of it loads. */
static void
renewed(void)
{
	struct swap w, table;
	struct err e;

	set_up(&w, "node a 52:54:00:00:00:01 serial:A1\n");
	static const struct {
		const char *text;
		bool taken;
	} files[] = { { "node b 52:54:00:00:00:02 serial:A1\n", false }, { "node a 52:54:00:00:00:01 serial:A2\n", false },
		{ "node a 52:54:00:00:00:01\n", false }, { "node b 52:54:00:00:00:01\n", false },
		{ "node b 52:54:00:00:00:01 serial:B1\n", true } };
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		swap_init(&table, &(struct swap_config){ .salt = "5a17" });
		T_CHECK(table_parse(&table, files[i].text, strlen(files[i].text), "nodes", &e) == 0);
		if (!T_CHECK((swap_renew(&w, &table, &e) == 0) == files[i].taken))
			printf("# %s", files[i].text);
		swap_free(&table);
	}
	T_CHECK(w.nnodes == 2 && report(&w, "52-54-00-00-00-01,serial:A1", "done", &e) == 0 && w.nodes[1].phase == SWAP_DONE);
	swap_free(&w);
}

static bool
takes_file(struct swap *w, const char *text)
{
	struct swap table;
	struct err e;

	swap_init(&table, &(struct swap_config){ .salt = "5a17" });
	int rc = table_parse(&table, text, strlen(text), "nodes", &e);
	if (rc == 0)
		rc = swap_renew(w, &table, &e);
	swap_free(&table);
	return rc == 0;
}

/* That two machines have the UUID is not forgotten when the file of nodes is read again; it says
 * nothing of another UUID. */
static void
not_forgotten(void)
{
	static const char first[] = "node a 52:54:00:00:00:01 4c4c4544-0042-3510-8054-b4c04f4a3132\n";
	static const char second[] = "node a 52:54:00:00:00:01 4c4c4544-0042-3510-8054-b4c04f4a3133\n";
	struct swap w;
	struct err e;

	set_up(&w, first);
	T_CHECK(report(&w, "52-54-00-00-00-01,4c4c4544-0042-3510-8054-b4c04f4a3132", "loading", &e) == 0);
	T_CHECK(report(&w, "52-54-00-00-00-77,4c4c4544-0042-3510-8054-b4c04f4a3132", "loading", &e) != 0);
	T_CHECK(takes_file(&w, first) && !swap_by_smbios(&w.nodes[0]) && w.nodes[0].phase == SWAP_LOADING);
	T_CHECK(report(&w, "52-54-00-00-00-01", "done", &e) == 0);
	swap_saved(&w);
	T_CHECK(takes_file(&w, first) && !swap_by_smbios(&w.nodes[0]));
	T_CHECK(takes_file(&w, second) && swap_by_smbios(&w.nodes[0]));
	T_CHECK(takes_file(&w, first) && swap_by_smbios(&w.nodes[0]));
	swap_free(&w);
	/* Two lines of the file that had the same are mended there. */
	set_up(&w, "node a 52:54:00:00:00:01 serial:A1\nnode b 52:54:00:00:00:02 serial:A1\n");
	T_CHECK(!swap_by_smbios(&w.nodes[0]));
	swap_stop(&w, (struct swap_now){ 3, 3 }, 1, &e);
	swap_saved(&w);
	T_CHECK(takes_file(&w, "node a 52:54:00:00:00:01 serial:A1\nnode b 52:54:00:00:00:02 serial:B1\n"));
	T_CHECK(swap_by_smbios(&w.nodes[0]) && swap_by_smbios(&w.nodes[1]));
	swap_free(&w);
}

static void
reports(void)
{
	static const char line[] = "report 52-54-00-00-00-0a,4c4c4544-0042-3510-8054-b4c04f4a3132,serial:B7 5a17-7-1 done x";
	const size_t from = strlen("report 52-54-00-00-00-0a"), to = strlen(line) - strlen(" 5a17-7-1 done x");
	struct swap_report r;
	struct err e;
	char again[400];

	T_CHECK(swap_report_read(line, strlen(line), &r, &e) == 0 && strcmp(r.uuid, uuid) == 0 && strcmp(r.serial, "serial:B7") == 0);
	T_CHECK(swap_report_write(&r, again, sizeof again) == strlen(line) && strcmp(again, line) == 0);
	static const char half[] = "report 52-54-00-00-00-0a,4c4c4544-0042-3510-8054-b4c04f4a3132,serial:None - done x";
	T_CHECK(swap_report_read(half, strlen(half), &r, &e) == 0 && strcmp(r.uuid, uuid) == 0 && r.serial[0] == '\0');
	static const char two[] = "report 52-54-00-00-00-0a,serial:B7,serial:B8 - done x";
	T_CHECK(swap_report_read(two, strlen(two), &r, &e) != 0 && e.kind == ERR_FORMAT);
	for (size_t n = from; n < to; n++) { /* the machine's name is cut off anywhere */
		snprintf(again, sizeof again, "%.*s 5a17-7-1 done x", (int)n, line);
		bool whole = n <= from + 1 || n == from + 1 + strlen(uuid) || n == from + 2 + strlen(uuid) || n == to - 1;
		if (!T_CHECK((swap_report_read(again, strlen(again), &r, &e) == 0) == whole))
			printf("# %s\n", again);
	}
}

int
main(void)
{
	forms();
	placeholders();
	shared();
	any_card();
	two_machines();
	tables();
	renewed();
	not_forgotten();
	reports();
	return t_done();
}
