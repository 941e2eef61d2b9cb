/* host.h: by which name a request has come. */
#ifndef CONTROLLER_HTTP_HOST_H
#define CONTROLLER_HTTP_HOST_H

#include <stdbool.h>

/* Is this value of the header Host "localhost" or an address, with or without a port?  NULL, which no browser
 * sends, counts as one.  A page of somebody else's, whose name was made to lead to this host, has that name. */
bool host_is_local(const char *header);

#endif /* CONTROLLER_HTTP_HOST_H */
