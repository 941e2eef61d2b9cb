/* topology.c: finds the order of nodes and the kind of tree that the options ask for
 * (topology.h).  serve.c calls it, in the program's first thread. */
#include "dolly/topology.h"

#include "common/base/say.h"
#include "common/net/netif.h"
#include "dolly/order/shape.h"
#include "dolly/plan/predict.h"

enum { ARITY_MAX = 5 };

/* Reads a description; *places are the positions of its hosts. */
static int
read_network(struct topology *w, const char *path, struct racks *places, struct err *e)
{
	w->has_net = true;
	if (network_read(&w->net, path, e) != 0 || route_make(&w->route, &w->net, e) != 0)
		return -1;
	if (!network_is_linked(&w->net))
		return err_set(e, ERR_FORMAT, "%s: the server has no link", path);
	w->net.has_streams = false; /* the streams of the description are not used */
	return racks_of_network(places, &w->net, &w->route, e);
}

/* Finds out which nodes are near each other, from the most exact source that the options name. */
static int
read_racks(struct topology *w, const struct options *o, struct err *e)
{
	w->has_racks = o->nodes == NULL || o->automatic || o->network != NULL ||
	               o->rack_file != NULL;
	w->racks.rack = ROSTER_NO_RACK;
	if (o->network != NULL)
		return read_network(w, o->network, &w->racks, e) == 0
		           ? 0
		           : err_ctx(e, "--network");
	if (o->rack_file != NULL)
		return racks_read(&w->racks, o->rack_file, e) == 0
		           ? 0
		           : err_ctx(e, "--rack-file");
	return w->has_racks ? racks_of_addresses(&w->racks, e) : 0;
}

static unsigned
arity_of(const struct predict_row *r)
{
	return r->kind == TREE_STAR ? ROSTER_MAX : r->kind == TREE_CHAIN ? 1 : r->arity;
}

/* --auto: chooses the way that ends first in the network that is described.  Without a
 * description it is a chain, whose nodes send least. */
static int
choose(struct topology *w, const struct options *o, uint64_t image_bytes, struct err *e)
{
	struct predict_config c = {
		.clients = w->node_list.names.n > 0 ? w->node_list.names.n : o->wait,
		.arity_max = ARITY_MAX };
	struct prediction p;

	w->arity = 1;
	if (o->network == NULL)
		return 0;
	if (plan_compression(o->compression, &c.compression, e) != 0)
		return -1;
	c.raw_bytes = (double)image_bytes * c.compression;
	if (predict_all(&p, &w->net, &w->route, &c, e) != 0)
		return err_ctx(e, "--auto");
	const struct predict_row *best = &p.rows[p.best];
	w->arity = arity_of(best);
	if (!o->quiet)
		say_text(stderr, "dolly: %s is the fastest way; it is limited by %s\n",
		    best->name, best->reason);
	return 0;
}

int
topology_open(struct topology *w, const struct options *o, uint64_t image_bytes, struct err *e)
{
	w->has_key = o->key != NULL;
	w->arity = o->star ? ROSTER_MAX : o->tree > 0 ? (unsigned)o->tree : 1;
	if (o->nodes != NULL && node_list_read(&w->node_list, o->nodes, e) != 0)
		return -1;
	if (read_racks(w, o, e) != 0)
		return -1;
	if (o->plan != NULL && read_network(w, o->plan, &w->places, e) != 0)
		return err_ctx(e, "--plan");
	return o->automatic ? choose(w, o, image_bytes, e) : 0;
}

void
topology_free(struct topology *w)
{
	node_list_free(&w->node_list);
	racks_free(&w->racks);
	racks_free(&w->places);
	if (w->has_net) {
		route_free(&w->route);
		network_free(&w->net);
	}
}

const char *
topology_spot(struct topology *w, const uint8_t address[4], struct roster_spot *s)
{
	if (w->node_list.names.n > 0) {
		s->listed = node_list_order(&w->node_list, address);
		if (s->listed == ROSTER_NOT_LISTED)
			return "this node is not one of --nodes";
		s->order = s->listed;
	} else if (!w->has_key && !racks_has(&w->racks, address) &&
		   !racks_has(&w->places, address) && !netif_is_near(address))
		return "this node is in none of the server's networks: serve needs --nodes or "
		       "--key then";
	if (w->has_racks)
		racks_find(&w->racks, address, s);
	return NULL;
}

int
topology_predict(struct topology *w, const struct options *o, uint64_t bytes,
    const struct roster *r, struct predict_row *row, struct err *e)
{
	struct predict_config c = { 0 };
	struct tree t = { 0 };

	if (plan_compression(o->compression, &c.compression, e) != 0)
		return -1;
	c.raw_bytes = (double)bytes * c.compression;
	int rc = shape_of_run(
	    &t, &w->net, &w->route, o->plan != NULL ? &w->places : &w->racks, r, e);
	if (rc == 0)
		rc = predict_tree(row, &w->net, &w->route, &c, &t, e);
	tree_free(&t);
	return rc;
}
