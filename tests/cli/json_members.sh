#!/usr/bin/env bash
# Every member that a program prints with --json or --stats is described in its man page, in a
# section JSON or STATISTICS, and those of the controller's calls in docs/controller.md, which
# that page names.  The members are taken from the sources: from each call that
# writes one by a name that is written there.
. "$(dirname "$0")/lib.sh"
requires python3
described() { python3 - "$TOP" << 'PY'
import glob, os, re, sys
top = sys.argv[1]
CALL = re.compile(r'\bjson_(?:object|array|string|uint|int|double|bool|hex|ranges|rangeset)\(\s*[\w.>-]+,\s*"(\w+)"')
# Sources, and the pages that have their members; a shorter path is for what no longer one names.
PAGES = {
    "common/cli/failure.c": ["imagezip"],
    "common/disk/range_json.c": ["imagezip", "imageunzip", "imagedump", "imagehash", "frisbee"],
    "common/image/format/lost.c": ["imageunzip", "imagedump", "frisbee"],
    "common/image/write/rewrite.c": ["imagedelta", "imagerezip"],
    "common/layout/fitplan_text.c": ["imageunzip"],
    "common/resize/": ["growfs"],
    "stream/": ["streamdisk"],
    "controller/": ["docs/controller.md"],
}
PAGES.update((room + "/", [room]) for room in "imagezip imageunzip frisbee frisbeed emustore dolly mfrisbeed dsync".split())
PAGES.update((f"tools/{os.path.basename(t)}/", [os.path.basename(t)]) for t in glob.glob(top + "/tools/*"))

def words(page):
    """What the page's sections about members have behind Li; of a document its code."""
    if page.endswith(".md"):
        text = open(f"{top}/{page}").read()
        return set(re.findall(r"\w+", " ".join(re.findall(r"`[^`]+`|^    .*", text, re.M))))
    text = open(f"{top}/man/{page}.8").read()
    sections = re.findall(r"^\.Sh (?:JSON|STATISTICS)\n(.*?)(?=^\.Sh |\Z)", text, re.M | re.S)
    lines = re.findall(r"^\.(?:It )?Li (.*)|^\.(?:Pq|Po) Li (.*)", "".join(sections), re.M)
    return set(re.findall(r"\w+", " ".join(a + b for a, b in lines)))

n, wrong, known = 0, [], {}
for path in sorted(glob.glob(top + "/**/*.c", recursive=True)):
    name = os.path.relpath(path, top)
    if name.split("/")[0] in ("tests", "bench", "build", "vendor"):
        continue
    members = set(CALL.findall(open(path, errors="replace").read()))
    of = max((p for p in PAGES if name.startswith(p)), key=len, default=None)
    if members and of is None:
        wrong.append(f"{name}: which man page has its members {sorted(members)}?")
    for page in PAGES[of] if members and of else ():
        known.setdefault(page, words(page))
        n += len(members)
        wrong += [f"the page {page} does not describe {m} ({name})" for m in sorted(members - known[page])]
print(*wrong, f"{n} members", sep="\n")
sys.exit(bool(wrong) or n < 150)
PY
}
check "every member is described" described
finish
