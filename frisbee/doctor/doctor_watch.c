/* doctor_watch.c: the packets that pass the interface, even if a firewall keeps them
 * from programs, and the counters of the kernel. doctor_probe.c, doctor_hear.c and
 * doctor_loss.c call this, in the program's only thread. */
#include "frisbee/doctor/doctor_watch.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net/sniff.h"

enum {
	SEEN_BYTES = 256, /* kept of each packet: enough for an IGMP report of many groups */
	TURN_PACKETS = 4096, /* the most that are taken at once, so that a flood has an end */
};

/* Lets only IGMP packets and UDP packets to the group come to the socket, because other
 * traffic may be much.  The kernel runs this program over each packet, from its IP header on. */
static int
set_filter(int fd, const uint8_t group[4])
{
	uint32_t to = (uint32_t)group[0] << 24 | (uint32_t)group[1] << 16 |
	              (uint32_t)group[2] << 8 | group[3];
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 9), /* protocol */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_IGMP, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 16), /* destination */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, to, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SEEN_BYTES),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog prog = { sizeof code / sizeof code[0], code };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof prog);
}

int
watch_open(unsigned ifindex, const uint8_t group[4])
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = (int)ifindex };
	struct packet_mreq all = { .mr_ifindex = (int)ifindex,
		.mr_type = PACKET_MR_ALLMULTI };
	/* With protocol 0 nothing comes before bind(), when the filter is in place. */
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	if (set_filter(fd, group) != 0 ||
	    bind(fd, (struct sockaddr *)&at, sizeof at) != 0) {
		close(fd);
		return -1;
	}
	setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof all);
	return fd;
}

static void
count(struct doctor_facts *f, const struct sniff *s, bool ours)
{
	bool its = !f->server_known || memcmp(s->from, f->server, 4) == 0;

	if (ours) {
		f->reports_out += s->kind == SNIFF_REPORT;
		return;
	}
	if (s->kind == SNIFF_QUERY) {
		f->query = true;
		memcpy(f->querier, s->from, 4);
	}
	if (s->kind != SNIFF_UDP || !its)
		return;
	f->at[0].seen += f->at[0].open && s->port == f->port;
	f->at[1].seen += f->at[1].open && s->port == f->second;
}

void
watch_collect(int fd, struct doctor_facts *f)
{
	uint8_t pkt[SEEN_BYTES];
	struct sockaddr_ll from;

	for (unsigned i = 0; i < TURN_PACKETS; i++) {
		socklen_t fromlen = sizeof from;
		ssize_t n = fd < 0 ? -1
		                   : recvfrom(fd, pkt, sizeof pkt, MSG_DONTWAIT,
					 (struct sockaddr *)&from, &fromlen);
		if (n < 0)
			return;
		if (ntohs(from.sll_protocol) != ETH_P_IP)
			continue;
		struct sniff s = sniff_packet(pkt, (size_t)n, f->group);
		count(f, &s, from.sll_pkttype == PACKET_OUTGOING);
	}
}

/* Reads a counter from a file of pairs of lines: a line of names, and a line of numbers in the
 * same order.  Both lines of a pair begin with the same word, `group`.  0: not found. */
static uint64_t
counter(const char *path, const char *group, const char *which)
{
	FILE *file = fopen(path, "re");
	char *names = NULL, *numbers = NULL, *n_at, *v_at;
	size_t ncap = 0, vcap = 0;
	uint64_t found = 0;

	while (file != NULL && getline(&names, &ncap, file) > 0 &&
	       getline(&numbers, &vcap, file) > 0) {
		if (strncmp(names, group, strlen(group)) != 0)
			continue;
		char *name = strtok_r(names, " \n", &n_at);
		char *value = strtok_r(numbers, " \n", &v_at);
		while (name != NULL && value != NULL) {
			if (strcmp(name, which) == 0)
				found = strtoull(value, NULL, 10);
			name = strtok_r(NULL, " \n", &n_at);
			value = strtok_r(NULL, " \n", &v_at);
		}
	}
	free(names);
	free(numbers);
	if (file != NULL)
		fclose(file);
	return found;
}

uint64_t
watch_rpf_drops(void)
{
	return counter("/proc/net/netstat", "TcpExt:", "IPReversePathFilter");
}

uint64_t
watch_buffer_drops(void)
{
	return counter("/proc/net/snmp", "Udp:", "RcvbufErrors");
}

/* A line of the file is "  eth0: bytes packets errs drop fifo frame ...", of what was
 * received.  "drop" is not added, because it also counts packets that the system has no use
 * for. */
uint64_t
watch_iface_drops(const char *iface)
{
	FILE *file = fopen("/proc/net/dev", "re");
	char line[512], name[32];
	unsigned long long errs, fifo, found = 0;

	while (file != NULL && fgets(line, sizeof line, file) != NULL)
		if (sscanf(line, " %31[^:]: %*u %*u %llu %*u %llu", name, &errs,
			&fifo) == 3 &&
		    strcmp(name, iface) == 0)
			found = errs + fifo;
	if (file != NULL)
		fclose(file);
	return found;
}

static bool
line_of(const char *path, const char *iface, const char *word)
{
	FILE *file = fopen(path, "re");
	char line[256], name[32];
	bool here = false, found = false;

	/* "2  eth0 : 2 V3" begins an interface, "\t\t\t0707C0EF ..." is a group on
	 * that interface. */
	while (file != NULL && fgets(line, sizeof line, file) != NULL) {
		if (sscanf(line, "%*d %31s", name) == 1 && line[0] != '\t') {
			name[strcspn(name, ":")] = 0;
			here = strcmp(name, iface) == 0;
		}
		found |= here && line[0] == '\t' && strstr(line, word) != NULL;
	}
	if (file != NULL)
		fclose(file);
	return found;
}

bool
watch_is_member(const char *iface, const uint8_t group[4])
{
	uint32_t g;
	char word[16];

	memcpy(&g, group, 4); /* the kernel prints the address as it lies in memory */
	snprintf(word, sizeof word, "%08X", g);
	return line_of("/proc/net/igmp", iface, word);
}
