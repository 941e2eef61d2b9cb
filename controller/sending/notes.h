/* notes.h: mfrisbeed's history is told what has become of the nodes of each session that has ended.
 *
 * The state has their rows until the history has shown that it has them, too: nodes are told of one by
 * one, and then the history is asked which it has.  Whoever is killed meanwhile, all of it is told
 * again, and the history, which knows a load by its session and node, has each once.  A session whose
 * rows are damaged, or that is refused, is passed over for a minute. */
#ifndef CONTROLLER_SENDING_NOTES_H
#define CONTROLLER_SENDING_NOTES_H

#include "common/base/jtree.h"
#include "controller/state/swapdb.h"

struct notes {
	struct swapdb *db; /* NULL: there is nothing to tell */
	struct swap *w;
	/* The session that is told of; 0: none. */
	uint32_t session;
	char image[SWAP_NAME_BYTES];
	bool capture, proves; /* proves: which nodes the history has is asked for */
	double began_s;
	char last[SWAP_NAME_BYTES]; /* the node that was told of last */
	unsigned told;
	uint32_t behind;   /* the session that was passed over last: those behind it come next; 0: none */
	uint64_t round_us; /* when those before it may come again */
	uint64_t again_us; /* nothing is told before that */
};

/* The next request, as a line without its newline, when the one before is answered.  False: there is
 * nothing to tell now. */
bool notes_next(struct notes *, uint64_t now_us, char *line, size_t cap);
/* The answer to it, which stays the caller's; NULL: `why` it was refused. */
void notes_answered(struct notes *, uint64_t now_us, const struct jtree *said, const char *why);
/* The connection is gone, and the answer with it. */
void notes_again(struct notes *);

#endif /* CONTROLLER_SENDING_NOTES_H */
