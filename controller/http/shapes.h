/* shapes.h: sessions, nodes and images as the JSON objects of docs/controller.md. */
#ifndef CONTROLLER_HTTP_SHAPES_H
#define CONTROLLER_HTTP_SHAPES_H

#include "common/base/json.h"
#include "controller/http/images.h"
#include "controller/engine/swap.h"

/* Each of them adds one object; key: as of json_object(). */
void shapes_node(struct json *, const char *key, const struct swap *, const struct swap_node *);
/* A node of a session that has ended, as mfrisbeed's history has it. */
void shapes_member(struct json *, const struct jtree *node);
/* The caller may add further members, and ends the object. */
void shapes_sent(struct json *, const struct jtree *session);
/* "GROUP:PORT" of such a session. */
enum { SHAPES_ADDRESS_BYTES = 32 };
void shapes_address(const struct jtree *session, char address[SHAPES_ADDRESS_BYTES]);
void shapes_session(struct json *, const char *key, const struct swap *,
    const struct swap_session *, struct swap_now);
/* A document of all images, on one line. */
struct json *shapes_images(const struct images *);
/* The member "samples". */
void shapes_samples(struct json *, const struct swap_session *);

#endif /* CONTROLLER_HTTP_SHAPES_H */
