/* page.h: the files of the page (controller/page), which are a part of the program. */
#ifndef CONTROLLER_HTTP_PAGE_H
#define CONTROLLER_HTTP_PAGE_H

#include <stddef.h>

struct page_file {
	const char *name, *type; /* MIME */
	const char *base, *end;
};

/* The file of this name; "" is index.html.  NULL: there is none. */
const struct page_file *page_find(const char *name);

#endif /* CONTROLLER_HTTP_PAGE_H */
