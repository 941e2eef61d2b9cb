/* doctor_loss.c: sends many probes.  100 probes one by one tell what is lost in each direction;
 * 100 short probes at once tell whether something limits the number of packets; 100 probes at
 * once that are as long as packets with blocks tell whether long packets get lost where short
 * ones do not.  An answer is as long as its probe and goes to
 * the group, as blocks do.  Called by doctor_probe.c and doctor_hear.c, in the program's
 * only thread. */
#include <string.h>

#include "common/base/clock.h"
#include "frisbee/doctor/doctor_exam.h"
#include "frisbee/doctor/doctor_watch.h"

enum {
	SPACE_US = 20000, /* between probes sent one by one */
	/* When this program was kept from running, a burst makes up for this number of probes, as
	 * servers make up for blocks; otherwise a busy machine would send no burst. */
	BURST_BEHIND = 10,
};

uint64_t
exam_next_us(uint64_t due_us, uint64_t sent_us, uint64_t space_us, unsigned behind)
{
	uint64_t on_time = due_us + space_us, least = sent_us + space_us;

	least -= least < behind * space_us ? least : behind * space_us;
	return on_time > least ? on_time : least;
}

static int
measure(struct exam *x, struct doctor_loss *l, bool by_group, size_t bytes,
    uint64_t space_us, unsigned behind, struct err *e)
{
	uint64_t dropped = watch_buffer_drops(), began = clock_us(), due = began, now;

	x->id++; /* for a new id the server counts probes and ECHOs from 0 */
	x->measured = l;
	memset(x->got, 0, sizeof x->got);
	for (unsigned i = 0; i < DOCTOR_LOSS_PROBES; i++) {
		exam_send_probe(x, by_group, EXAM_NUMBER_LOSS + i, PROBE_GROUP, bytes);
		now = clock_us();
		l->sent_us = now - began;
		due = exam_next_us(due, now, space_us, behind);
		if (exam_listen(x, due > now ? due - now : 0, NULL, e) != 0)
			return -1;
	}
	int rc = exam_listen(x, EXAM_ECHO_US / 2, NULL, e);
	x->measured = NULL;
	l->dropped_here = watch_buffer_drops() != dropped;
	return rc;
}

/* The probes go through the group where that works, so that both directions are measured. */
int
exam_loss(struct exam *x, struct err *e)
{
	bool by_group = x->f->group_group > 0;

	return measure(x, &x->f->loss, by_group, PROBE_BYTES_MIN, SPACE_US, 0, e);
}

/* The probes go directly to the server where ECHOs to such probes come through the group, so that
 * only the path from the server is full. */
int
exam_bursts(struct exam *x, struct err *e)
{
	struct doctor_facts *f = x->f;
	bool by_group = f->direct_group == 0;

	if (measure(x, &f->burst_short, by_group, PROBE_BYTES_MIN, DOCTOR_BURST_US,
		BURST_BEHIND, e) != 0)
		return -1;
	return measure(x, &f->burst, by_group, PROBE_BYTES_MAX, DOCTOR_BURST_US,
	    BURST_BEHIND, e);
}

void
exam_count_loss(struct exam *x, const struct probe *p)
{
	struct doctor_loss *l = x->measured;
	unsigned i = p->number - (unsigned)EXAM_NUMBER_LOSS;

	if (l == NULL || i >= DOCTOR_LOSS_PROBES || (x->got[i / 64] >> i % 64 & 1) != 0)
		return;
	x->got[i / 64] |= UINT64_C(1) << i % 64;
	if (l->got++ == 0)
		x->first_got_us = clock_us();
	l->got_us = clock_us() - x->first_got_us;
	if (l->sent < i + 1)
		l->sent = i + 1;
	if (l->heard < p->heard)
		l->heard = p->heard;
	if (l->answered < p->by_group)
		l->answered = p->by_group;
}
