/* controller_reports.c: measures what the controller needs for the reports of many nodes: the engine
 * alone, and with its state on a disk, saved after each report or after each hundred.  bench/ runs this
 * program; it has one thread.
 *
 *	controller_reports NODES [FOLDER]
 *
 * Each node of one session reports twelve times, and frisbeed sees each of them ten times. Prints the time
 * of the processor for a report and for a look of frisbeed, in microseconds. FOLDER is for a state that is made
 * and stays there. Run it under `valgrind --tool=callgrind` for instructions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/cpu.h"
#include "controller/state/swapdb.h"

enum { REPORTS = 12, LOOKS = 10, GROUP = 100 };

static struct swap_now now = { 1000000000, 1.7e9 };

static void
begin(struct swap *w, unsigned nodes, const char *salt)
{
	struct swap_config c = { .patience_s = 3600, .patience_boot_s = 3600 };
	struct swap_wish wish = { .timeout_s = 7200, .tries = 2, .image = "a.ndz" };
	struct err e;
	uint32_t id;
	bool again;

	strcpy(c.salt, salt);
	swap_init(w, &c);
	for (unsigned i = 0; i < nodes; i++) {
		char name[32];
		snprintf(name, sizeof name, "node%u", i);
		if (swap_add_node(w, name, (uint8_t[]){ 2, 0, 0, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i }, "", &e) != 0)
			abort();
	}
	snprintf(wish.nodes, sizeof wish.nodes, "node[0-%u]", nodes - 1);
	if (swap_start(w, now, &wish, &id, &again, &e) != 0)
		abort();
}

static void
address(unsigned node, uint8_t ip[4])
{
	memcpy(ip, (uint8_t[]){ 10, (uint8_t)(node >> 16), (uint8_t)(node >> 8), (uint8_t)node }, 4);
}

static void
report(struct swap *w, unsigned node, unsigned round)
{
	struct swap_report r = { 0 };
	uint8_t ip[4];
	struct err e;

	memcpy(r.mac, w->nodes[node].mac, 6);
	swap_order_name(w, &w->nodes[node], r.order);
	strcpy(r.phase, round + 1 < REPORTS ? "loading" : "done");
	snprintf(r.text, sizeof r.text, "%u %%", 100 * round / REPORTS);
	address(node, ip);
	if (swap_reported(w, now, &r, ip, &e) != 0)
		abort();
}

/* Microseconds a report.  db: NULL, or where all is saved after each `group` reports. */
static double
reports(unsigned nodes, struct swapdb *db, unsigned group, const char *salt)
{
	struct swap w;
	struct err e;

	begin(&w, nodes, salt);
	double begun_us = cpu_us();
	for (unsigned i = 0; i < nodes * REPORTS; i++) {
		now.us += 10000;
		report(&w, i % nodes, i / nodes);
		if (db != NULL && i % group == group - 1 && swapdb_save(db, &w, &e) != 0)
			abort();
	}
	double took_us = (cpu_us() - begun_us) / (nodes * REPORTS);
	swap_free(&w);
	return took_us;
}

static double
looks(unsigned nodes)
{
	struct swap w;
	uint8_t ip[4];

	begin(&w, nodes, "5a17");
	for (unsigned i = 0; i < nodes; i++)
		report(&w, i, 0);
	double begun_us = cpu_us();
	for (unsigned i = 0; i < nodes * LOOKS; i++) {
		address(i % nodes, ip);
		swap_viewed(&w, now, w.sessions[0], ip, &(struct swap_view){ .progress = 0.001 * i });
	}
	double took_us = (cpu_us() - begun_us) / (nodes * LOOKS);
	swap_free(&w);
	return took_us;
}

int
main(int argc, char **argv)
{
	unsigned nodes = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
	char salt[SWAP_SALT_BYTES];
	struct swapdb *db;
	struct err e;

	if (nodes == 0 || nodes > SWAP_NODES_MAX) {
		fprintf(stderr, "usage: controller_reports NODES [FOLDER]\n");
		return 2;
	}
	printf("%u nodes: %.2f us a report, %.2f us a look\n", nodes, reports(nodes, NULL, 1, "5a17"), looks(nodes));
	if (argc < 3)
		return 0;
	if (swapdb_open(&db, argv[2], salt, &e) != 0) {
		fprintf(stderr, "%s\n", e.text);
		return 1;
	}
	printf("saved after each: %.1f us a report\n", reports(nodes, db, 1, salt));
	printf("saved after each %d: %.1f us a report\n", GROUP, reports(nodes, db, GROUP, salt));
	swapdb_close(db);
	return 0;
}
