/* page.c: has the files of the page in itself, as they were when it was compiled (page.h).  web.c
 * calls this, in the program's first thread. */
#include "controller/http/page.h"

#include <string.h>

#define FILE_OF(symbol, file)                                                          \
	__asm__(".pushsection .rodata\n.globl " #symbol "\n" #symbol ":\n.incbin \"" file \
		"\"\n.globl " #symbol "_end\n" #symbol "_end:\n.byte 0\n.popsection\n");  \
	extern const char symbol[] __attribute__((visibility("hidden")));              \
	extern const char symbol##_end[] __attribute__((visibility("hidden")))

FILE_OF(page_index_html, "controller/page/index.html");
FILE_OF(page_page_css, "controller/page/page.css");
FILE_OF(page_page_js, "controller/page/page.js");
FILE_OF(page_favicon_svg, "controller/page/favicon.svg");

static const struct page_file files[] = {
	{ "index.html", "text/html; charset=utf-8", page_index_html, page_index_html_end },
	{ "page.css", "text/css; charset=utf-8", page_page_css, page_page_css_end },
	{ "page.js", "text/javascript; charset=utf-8", page_page_js, page_page_js_end },
	{ "favicon.svg", "image/svg+xml", page_favicon_svg, page_favicon_svg_end },
};

const struct page_file *
page_find(const char *name)
{
	if (name[0] == '\0')
		name = "index.html";
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
		if (strcmp(name, files[i].name) == 0)
			return &files[i];
	return NULL;
}
