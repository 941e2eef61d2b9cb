#!/usr/bin/env bash
# The packages of Debian (debian/) agree with the rest: the version, what `make install' installs, what building needs; and
# the units are confined.  `make check-deb' makes the packages and uses them.
. "$(dirname "$0")/lib.sh"
requires python3 make
unset MAKEFLAGS MFLAGS MAKELEVEL
cd "$TOP" || exit 1
make -s --no-print-directory list-installed > "$T/installed" 2> "$T/stderr" || fail "make list-installed: $(cat "$T/stderr")"
make -s --no-print-directory list-programs > "$T/programs" || fail "make list-programs"
scripts/deps list-build > "$T/needed"

# The lists of the packages against those of the Makefile: python3 "$T/agree" DEBIAN-FOLDER.
cat > "$T/agree" << 'PY'
import fnmatch, glob, os, re, sys
debian, given = sys.argv[1], sys.argv[2]
wrong = []
lines = lambda path: [l for l in open(path).read().split("\n") if l and not l.startswith("#")]
installed = ["usr/" + l for l in lines(given + "/installed")]
owner = {}
for path in sorted(glob.glob(debian + "/*.install")) + [debian + "/not-installed"]:
    package = os.path.basename(path).removesuffix(".install")
    for pattern in lines(path):
        pattern = pattern.replace("usr/lib/*/nbdkit", "usr/lib/nbdkit")	# one folder more, in a package
        found = [f for f in installed if f.startswith(pattern + "/") or
                 fnmatch.fnmatch(f, pattern) and f.count("/") == pattern.count("/")]
        if not found:
            wrong.append(f"{path}: nothing is installed as {pattern}")
        for f in found:
            owner.setdefault(f, []).append(package)
for f in installed:
    if len(owner.get(f, [])) != 1:
        wrong.append(f"{f} is in {len(owner.get(f, []))} packages, not in one")
one = lambda f: owner.get(f, [None])[0]
for p in open(given + "/programs").read().split():
    at = one(f"usr/sbin/{p}") or one(f"usr/bin/{p}")
    for other in (f"usr/share/man/man8/{p}.8", f"usr/share/bash-completion/completions/{p}"):
        if at != one(other):
            wrong.append(f"{p} is in the package {at}, and {other} in {one(other)}")
control = open(debian + "/control").read()
packages = re.findall(r"^Package: (\S+)", control, re.M)
for package in set(sum(owner.values(), [])) - {"not-installed"} - set(packages):
    wrong.append(f"there is no package {package} in debian/control")
for package in set(packages) - set(sum(owner.values(), [])):
    wrong.append(f"the package {package} is empty")
needs = re.findall(r"^ ([a-z0-9.+-]+)", control[:control.index("\nPackage:")], re.M)
for library in set(open(given + "/needed").read().split()) - {"gcc", "make", "libc6-dev"} - set(needs):
    wrong.append(f"debian/control does not build with {library}, which scripts/deps names")
version = re.match(r"frisbee-suite \((\S+)\)", open(debian + "/changelog").read())[1]
if version != open("VERSION").read().strip():
    wrong.append(f"debian/changelog has version {version}, VERSION has another one")
print("\n".join(wrong))
sys.exit(bool(wrong))
PY
agree() { python3 "$T/agree" "$1" "$T" > "$T/said"; }
check "packages, Makefile, VERSION and scripts/deps agree" agree debian || cat "$T/said"
[ ! -s "$T/said" ] || cat "$T/said"

# The comparison finds what is wrong.
without() {	# WHAT WORDS FILE SED
	rm -rf "$T/debian"; cp -r debian "$T/debian"
	sed -i "$4" "$T/debian/$3"
	check "notices $1" eval '! agree "$T/debian"'
	check "... and says $2" grep -q "$2" "$T/said"
}
without "a program in no package" "usr/sbin/frisbeed is in 0 packages" frisbee-server.install '/sbin\/frisbeed/d'
without "a manual in another package" "dmmerge is in the package None" dsync.install '/sbin\/dmmerge/d'
without "a file that does not exist" "nothing is installed as usr/sbin/nothing" dsync.install '$ausr/sbin/nothing'
without "another version" "has version 9.9" changelog '1s/(.*)/(9.9)/'
without "a library that is missing" "does not build with libisal-dev" control '/libisal-dev/d'

if command -v dpkg-parsechangelog > /dev/null; then
	check "dpkg reads the changelog" [ "$(dpkg-parsechangelog -S Version)" = "$(cat VERSION)" ]
fi
# Each unit: how exposed it is, of 10, as systemd counts.
if command -v systemd-analyze > /dev/null; then
	for u in docs/examples/*.service; do
		said=$(systemd-analyze security --offline=true "$PWD/$u" 2> "$T/stderr" | tail -n 1)
		exposure=$(grep -oE '[0-9]+\.[0-9]+' <<< "$said" | tail -n 1)
		check "$u: exposure $exposure" awk -v n="${exposure:-10}" 'BEGIN { exit !(n < 3) }'
		check "$u: systemd knows all words" [ ! -s "$T/stderr" ] || cat "$T/stderr"
	done
fi
finish
