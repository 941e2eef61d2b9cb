/* curl_lib.h: libcurl, which is loaded when somebody first opens a bucket or a file on
 * a web server.  It brings along some 25 libraries, and to link with them all takes
 * twice as long as the rest of a program's start. */
#ifndef COMMON_NET_CURL_LIB_H
#define COMMON_NET_CURL_LIB_H

#include <curl/curl.h>

#include "common/base/err.h"

/* Loads libcurl, if that was not done yet, and gets it ready; for any thread.  The
 * functions of <curl/curl.h> may be called as soon as this has returned 0, those that
 * curl_lib.c has.  ERR_ABSENT: it is not installed. */
int curl_lib_load(struct err *);

#endif /* COMMON_NET_CURL_LIB_H */
