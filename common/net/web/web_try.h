/* web_try.h: one try of a call of web_client.h. */
#ifndef COMMON_NET_WEB_WEB_TRY_H
#define COMMON_NET_WEB_WEB_TRY_H

#include "common/net/web/web_client.h"

/* Make c->easy, which is to be performed.  -1: out of memory. */
int web_try_begin(const struct web_client_config *, struct web_call *);
/* The try has ended like that, or could not begin. */
void web_try_end(struct web_call *, CURLcode);

/* What the result of a try means. */
enum web_verdict {
	WEB_GOOD,  /* all bytes are here */
	WEB_AGAIN, /* it may pass */
	WEB_BAD,   /* it will not */
};
enum web_verdict web_judge(const struct web_call *);
/* Should the call be tried again?  As retry_again() says, if it may pass. */
bool web_try_again(const struct web_client_config *, struct web_call *);
/* Write the error of a call that has failed.  Returns -1. */
int web_error(const struct web_client_config *, const struct web_call *, struct err *);

#endif /* COMMON_NET_WEB_WEB_TRY_H */
