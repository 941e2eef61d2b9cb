/* A signal ends dmsetup while it resumes a volume of which a snapshot was taken: the volume does not stay
 * suspended.  A device of somebody else that has the name of the snapshot's stays.  A script stands in for
 * dmsetup. */
#include "dsync/run/thinsnap.h"
#include "tests/t.h"
#include "tests/unit/scratch.h"

static const char script[] =
    "#!/bin/sh\n"
    "cd \"${0%/*}\"\n"
    "case \"$1 $2\" in\n"
    "\"table volume\") echo 0 2048 thin 253:1 5 ;;\n"
    "\"table pool\") echo 0 4096 thin-pool /dev/meta /dev/data 128 0 ;;\n"
    "\"table other\") echo 0 2048 thin 253:1 6 ;;\n"
    "\"table other-dsync\") echo 0 2048 thin 253:1 7 ;;\n"
    "table*) exit 1 ;;\n"
    "\"message pool\") case \"$4\" in \"delete 7\") : > deleted ;; esac ;;\n"
    "remove*) case \"$3\" in other-dsync) : > removed ;; esac ;;\n"
    "suspend*) : > suspended ;;\n"
    "resume*) [ -e killed ] || { : > killed; kill -TERM $$; }; rm suspended ;;\n"
    "create*) cat > shown ;;\n"
    "esac\n";

static void
put_script(void)
{
	char path[4096];
	FILE *f = fopen(in_scratch("dmsetup"), "w");

	T_CHECK(f != NULL && fputs(script, f) >= 0 && fclose(f) == 0 && sh("chmod 755 dmsetup") == 0);
	snprintf(path, sizeof path, "%s:%s", scratch_dir, getenv("PATH"));
	setenv("PATH", path, 1);
}

int
main(void)
{
	struct thinsnap s;
	struct err e;

	scratch_init();
	put_script();
	T_CHECK(thinsnap_take(&s, "volume", "pool", "volume", &e) == 0);
	T_CHECK(access(in_scratch("killed"), F_OK) == 0);
	T_CHECK(access(in_scratch("suspended"), F_OK) != 0);
	T_CHECK(s.taken && s.shown && access(in_scratch("shown"), F_OK) == 0);
	thinsnap_end(&s, false);

	/* dmsetup of the script lets another device have the name; the real one refuses it. */
	T_CHECK(thinsnap_take(&s, "other", "pool", "other", &e) == 0);
	T_CHECK(access(in_scratch("removed"), F_OK) != 0);
	T_CHECK(access(in_scratch("deleted"), F_OK) != 0);
	thinsnap_end(&s, false);

	/* A name that leaves no room for what is put behind it. */
	char longest[MAPPED_WORD_BYTES], beside[MAPPED_WORD_BYTES];
	memset(longest, 'n', sizeof longest - 1);
	longest[sizeof longest - 6] = '\0';
	T_CHECK(mapper_beside(longest, "-dsync", beside, &e) != 0 && e.kind == ERR_UNSUPPORTED);
	longest[sizeof longest - 7] = '\0';
	T_CHECK(mapper_beside(longest, "-dsync", beside, &e) == 0);
	T_CHECK(strlen(beside) == sizeof beside - 1 && strcmp(beside + sizeof longest - 7, "-dsync") == 0);
	scratch_done();
	return t_done();
}
