/* plugin_log.h: the plugin's log, which never blocks a request.
 *
 * nbdkit writes its log to standard error, which may be a file on the very disk that the plugin
 * serves.  For this reason sentences wait in memory for a thread of their own that prints them;
 * when too many wait, the rest are counted, and their number is printed.  The same sentence is
 * printed once a minute at most, with the number of times that it was left out since. */
#ifndef STREAM_PLUGIN_PLUGIN_LOG_H
#define STREAM_PLUGIN_PLUGIN_LOG_H

/* Start the thread.  Before, and without it, sentences are printed at once.  Returns 0 or an errno
 * value. */
int plugin_log_start(void);
/* Print what waits, and end the thread.  A thread that still prints after two seconds is left
 * behind.  Does nothing if no thread was started. */
void plugin_log_stop(void);
/* Print a sentence, in any thread. */
void plugin_log_print(const char *sentence);

#endif /* STREAM_PLUGIN_PLUGIN_LOG_H */
