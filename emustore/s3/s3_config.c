/* s3_config.c: the settings and keys of an object store.  Called by s3.c when
 * one is opened, in the thread that opens it. */
#include "emustore/s3/s3_config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/readable.h"
#include "emustore/s3/s3_role.h"

enum { LINE_BYTES = 4096 };

/* One setting: its variables, its name in the files, its place. */
struct setting {
	const char *vars[3];
	const char *key;
	char *out;
	size_t cap;
};

static int
set(const struct setting *s, const char *value, struct err *e)
{
	size_t n = strlen(value);

	if (n >= s->cap)
		return err_set(e, ERR_USAGE, "%s: is too long", s->vars[0]);
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)value[i] <= ' ' || (unsigned char)value[i] >= 0x7f)
			return err_set(e, ERR_USAGE,
			    "%s: contains a character that is not allowed", s->vars[0]);
	memcpy(s->out, value, n + 1);
	return 0;
}

static char *
trim(char *s)
{
	while (*s == ' ' || *s == '\t')
		s++;
	for (size_t n = strlen(s); n > 0 && strchr(" \t\r\n", s[n - 1]) != NULL; n--)
		s[n - 1] = '\0';
	return s;
}

/* Lines "key = value" of the section of that profile; what is set already stays. */
static int
read_file(const char *path, const char *profile, const struct setting *settings,
    struct err *e)
{
	int fd = readable_open(path, e);
	FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
	char line[LINE_BYTES];
	bool ours = false;
	int rc = 0;

	if (fd < 0)
		return e->os == ENOENT ? 0 : -1;
	if (f == NULL) {
		close(fd);
		return err_nomem(e, path);
	}
	while (rc == 0 && fgets(line, sizeof line, f) != NULL) {
		char *text = trim(line), *equals = strchr(text, '=');
		if (*text == '[') {
			text[strcspn(text, "]")] = '\0';
			text = trim(text + 1);
			if (strncmp(text, "profile ", 8) == 0)
				text = trim(text + 8);
			ours = strcmp(text, profile) == 0;
		}
		if (!ours || equals == NULL || strchr("#;[", *text) != NULL)
			continue;
		*equals = '\0';
		for (const struct setting *s = settings; s->key != NULL && rc == 0; s++)
			if (strcmp(trim(text), s->key) == 0 && s->out[0] == '\0')
				rc = set(s, trim(equals + 1), e);
	}
	fclose(f);
	return rc;
}

static int
read_files(const struct setting *settings, struct err *e)
{
	static const char *const files[2][2] = {
		{ "AWS_SHARED_CREDENTIALS_FILE", "credentials" },
		{ "AWS_CONFIG_FILE", "config" },
	};
	const char *profile = getenv("AWS_PROFILE"), *home = getenv("HOME");
	char path[LINE_BYTES];

	for (int i = 0; i < 2; i++) {
		const char *named = getenv(files[i][0]);
		if (named == NULL && home == NULL)
			continue;
		if (named != NULL)
			snprintf(path, sizeof path, "%s", named);
		else
			snprintf(path, sizeof path, "%s/.aws/%s", home, files[i][1]);
		if (read_file(
			path, profile != NULL ? profile : "default", settings, e) != 0)
			return -1;
	}
	return 0;
}

static int
check(struct s3_config *c, struct err *e)
{
	int rc = c->id[0] == '\0' || c->secret[0] == '\0' ? s3_role_get(c, e) : 1;
	if (rc == 0)
		err_set(e, ERR_USAGE,
		    "no key for the object store: AWS_ACCESS_KEY_ID and "
		    "AWS_SECRET_ACCESS_KEY, ~/.aws/credentials, or a role of this machine");
	if (rc != 1)
		return -1;
	if (c->region[0] == '\0')
		strcpy(c->region, "us-east-1");
	if (c->endpoint[0] == '\0')
		snprintf(c->endpoint, sizeof c->endpoint, "https://s3.%s.amazonaws.com",
		    c->region);
	if (strncmp(c->endpoint, "https://", 8) != 0 &&
	    strncmp(c->endpoint, "http://", 7) != 0)
		return err_set(e, ERR_USAGE,
		    "AWS_ENDPOINT_URL: begins neither with https:// nor with http://");
	size_t n = strlen(c->endpoint);
	while (n > 0 && c->endpoint[n - 1] == '/')
		c->endpoint[--n] = '\0';
	return 0;
}

int
s3_config_get(struct s3_config *c, struct err *e)
{
	const struct setting settings[] = {
		{ { "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL" }, "endpoint_url",
		    c->endpoint, sizeof c->endpoint },
		{ { "AWS_REGION", "AWS_DEFAULT_REGION" }, "region", c->region,
		    sizeof c->region },
		{ { "AWS_ACCESS_KEY_ID" }, "aws_access_key_id", c->id, sizeof c->id },
		{ { "AWS_SECRET_ACCESS_KEY" }, "aws_secret_access_key", c->secret,
		    sizeof c->secret },
		{ { "AWS_SESSION_TOKEN" }, "aws_session_token", c->token,
		    sizeof c->token },
		{ .key = NULL },
	};

	memset(c, 0, sizeof *c);
	for (const struct setting *s = settings; s->key != NULL; s++)
		for (int i = 0; s->vars[i] != NULL && s->out[0] == '\0'; i++) {
			const char *value = getenv(s->vars[i]);
			if (value != NULL && set(s, value, e) != 0)
				return -1;
		}
	/* A key of the environment goes with no token of a file. */
	bool alone = c->id[0] != '\0';
	if (read_files(settings, e) != 0)
		return -1;
	if (alone && getenv("AWS_SESSION_TOKEN") == NULL)
		c->token[0] = '\0';
	return check(c, e);
}
