"""What is written to a disk before a sync, for bench/dsync_grain and bench/paper_dsync_guest: at random, in clusters, and by a
database, a mail store and a package upgrade, through a filesystem.

A disk here is a Tracked (tracked.py), and MB is its size.  disk.forget_all() is called when what was there before is complete.
"""
import contextlib, mailbox, os, random, sqlite3, subprocess

from dsync_changes import BLOCK, figure_8, runs_of

MB = int(os.environ.get("GRAIN_MB", "1024"))
TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
UPGRADED, UPGRADED_MB = "minimal-old", 768  # a disk of bench/families, made as small as this


def scattered(disk, runs):
    with disk.writing() as path, open(path, "r+b", buffering=0) as f:
        for first, n in runs:
            os.pwrite(f.fileno(), bytes(n * BLOCK), first * BLOCK)


def in_filesystem(folder, disk, before, work):
    """What the work writes to an ext4; what was there before is not counted."""
    subprocess.run(["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", disk.path], check=True)
    with disk.mounted(f"{folder}/mnt") as where:
        before(where)
    disk.forget_all()
    with disk.mounted(f"{folder}/mnt") as where:
        work(where)


def open_database(where):
    db = sqlite3.connect(f"{where}/db", isolation_level=None)
    db.execute("pragma journal_mode=wal")
    db.execute("pragma synchronous=full")
    return db


def database_is_made(where):
    """About 150 MB: rows of 200 to 1,000 bytes, with an index."""
    r, db = random.Random(1), open_database(where)
    db.execute("create table item (id integer primary key, owner integer, text blob)")
    db.execute("begin")
    db.executemany("insert into item values (?, ?, ?)", ((i, r.randrange(10000), r.randbytes(r.randrange(200, 1000))) for i in range(MB * 200)))
    db.execute("commit")
    db.execute("create index item_owner on item (owner)")
    db.close()


def database_works(where):
    """Small transactions: rows that are changed, most of them among a tenth, and new ones."""
    r, db = random.Random(2), open_database(where)
    for i in range(MB * 3):
        db.execute("begin")
        for _ in range(3):
            row = r.randrange(MB * 20) if r.random() < 0.8 else r.randrange(MB * 200)
            db.execute("update item set text = ?, owner = ? where id = ?", (r.randbytes(r.randrange(200, 1000)), r.randrange(10000), row))
        db.execute("insert into item values (?, ?, ?)", (MB * 200 + i, r.randrange(10000), r.randbytes(r.randrange(200, 1000))))
        db.execute("commit")
    db.close()


def deliver(box, r):
    """A mail as most are: some kilobytes, and now and then an attachment."""
    size = int(min(r.lognormvariate(8.7, 1.3), 5e6))
    return box.add(b"From: a@example.org\nTo: b@example.org\nSubject: test\n\n" + r.randbytes(size).hex().encode()[:size] + b"\n")


def mail_is_there(where):
    r = random.Random(3)
    for user in range(20):
        box = mailbox.Maildir(f"{where}/user{user}")
        for _ in range(MB * 3 // 5):
            deliver(box, r)


def mail_works(where):
    """A day: new mails, of the others some are read and some removed."""
    r = random.Random(4)
    for user in range(20):
        box = mailbox.Maildir(f"{where}/user{user}")
        keys = sorted(box.keys(), key=lambda k: box.get_bytes(k))
        for _ in range(MB // 20):
            deliver(box, r)
        for key in r.sample(keys, len(keys) // 20):
            m = box[key]
            m.set_subdir("cur")
            m.add_flag("S")
            box[key] = m
        for key in r.sample(keys, len(keys) // 40):
            box.discard(key)
        box.flush()


def upgraded(folder, disk):
    """The packages of the system on the disk are upgraded by apt, which has its lists; dpkg waits for the disk as it does otherwise."""
    def apt(what):
        with disk.mounted(f"{folder}/mnt") as where, open(f"{folder}/upgrade.log", "ab") as log:
            subprocess.run([f"{TOP}/bench/families", what, where], check=True, stdout=log, stderr=log)

    apt("--update")
    disk.forget_all()
    apt("--upgrade")


def histories(folder, families):
    """Of each history its name, what writes it to a disk, and the file that the disk is a copy of; None: it is empty, of MB."""
    r, blocks = random.Random(1), (MB << 20) // BLOCK
    old = f"{families}/{UPGRADED}.ext4"
    yield "1 % at random", lambda d: scattered(d, runs_of(r.sample(range(blocks), blocks // 100))), None
    yield "10 % at random", lambda d: scattered(d, runs_of(r.sample(range(blocks), blocks // 10))), None
    yield "clustered, as figure 8", lambda d: scattered(d, figure_8(blocks, blocks * 45 // 2097, r)), None
    yield "a database (SQLite, WAL)", lambda d: in_filesystem(folder, d, database_is_made, database_works), None
    yield "a mail store (Maildir)", lambda d: in_filesystem(folder, d, mail_is_there, mail_works), None
    if os.path.exists(old):
        yield "a package upgrade", lambda d: upgraded(folder, d), old
    else:
        print(f"bench/families has not made {UPGRADED}, so a package upgrade is left out")


@contextlib.contextmanager
def disk_for(folder, path):
    """The path of a new disk of MB, or of a smaller copy of that ext4, while it is used."""
    own = f"{folder}/disk"
    if path:
        subprocess.run(["cp", "--sparse=always", path, own], check=True)
        subprocess.run(["e2fsck", "-fp", own], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["resize2fs", own, f"{UPGRADED_MB}M"], check=True, capture_output=True)
        os.truncate(own, UPGRADED_MB << 20)
    else:
        subprocess.run(["truncate", "-s", f"{MB}M", own], check=True)
    try:
        yield own
    finally:
        os.unlink(own)
