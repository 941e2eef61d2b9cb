#!/usr/bin/env python3
"""What power cuts would have left of a folder: power_cut.py BASE RECORD OUT POINT SEED
BASE is the folder before a program ran, RECORD what preload/recorder.so noted of it (RECORD_ROOT is the folder, ROOT in the
environment).  OUT gets what the disk has when the power fails behind the first POINT calls.  What was synced is there: of a file its
bytes, of a folder its names.  Of what was not, nothing (SEED 0), all of it (SEED 1), all names and of each file the last write
alone (SEED -1), or some of it by lot is there: each write of at most 4 KiB, each change of a name.  Without POINT: prints how many calls were noted."""
import os, random, sys


class File:
    def __init__(self, data=b""):
        self.now, self.kept, self.pending = bytearray(data), bytearray(data), []

    def change(self, at, data):
        apply(self.now, at, data)
        self.pending.append((at, data))

    def sync(self):
        self.kept, self.pending = bytearray(self.now), []


class Folder:
    def __init__(self):
        self.now, self.kept, self.pending = {}, {}, []

    def change(self, name, node):
        """node None: the name is removed."""
        change = [self, name, node, False]
        self.pending.append(change)
        put(self.now, name, node)
        return change

    def sync(self):
        for change in self.pending:
            change[3] = True
        self.kept, self.pending = dict(self.now), []


def apply(data, at, new):
    if new is None:                     # cut, or made longer by zeros
        del data[at:]
        data.extend(bytes(at - len(data)))
    else:
        data.extend(bytes(max(0, at + len(new) - len(data))))
        data[at:at + len(new)] = new


def put(names, name, node):
    if node is None:
        names.pop(name, None)
    else:
        names[name] = node


def read(path):
    if os.path.isdir(path):
        folder = Folder()
        for name in os.listdir(path):
            folder.now[name] = folder.kept[name] = read(f"{path}/{name}")
        return folder
    with open(path, "rb") as f:
        return File(f.read())


def calls(path):
    with open(path, "rb") as f:
        while line := f.readline():
            op, n, at, names = line.rstrip(b"\n").decode().split(" ", 3)
            yield op, int(at), names.split("\t"), f.read(int(n)) if op == "write" else b""


class Tree:
    def __init__(self, base, root):
        self.top, self.root = read(base), root

    def find(self, path):
        """The folder that has the name, and the name."""
        parts = [p for p in path[len(self.root):].split("/") if p and p != "."]
        node = self.top
        for p in parts[:-1]:
            node = node.now[p]
        return node, parts[-1] if parts else None

    def node(self, path):
        folder, name = self.find(path)
        return folder if name is None else folder.now.get(name)

    def call(self, op, at, paths, data):
        paths = [p.removesuffix(" (deleted)") for p in paths]
        folder, name = self.find(paths[0])
        if op == "create":
            folder.change(name, File())
        elif op == "mkdir":
            folder.change(name, Folder())
        elif op in ("unlink", "rmdir"):
            folder.change(name, None)
        elif op in ("link", "rename"):
            to, new = self.find(paths[1])
            change = to.change(new, folder.now[name])
            if op == "rename":
                gone = folder.change(name, None)
                gone.append(change)     # both or neither
                change.append(gone)
        elif (node := self.node(paths[0])) is None:
            pass                        # a file that has no name any more
        elif op == "sync":
            node.sync()
        elif op == "truncate":
            node.change(at, None)
        else:
            for i in range(0, len(data), 4096):
                node.change(at + i, data[i:i + 4096])


def left(node, lot):
    """The node as the disk has it."""
    kept = bytearray(node.kept) if isinstance(node, File) else dict(node.kept)
    for i, change in enumerate(node.pending):
        if isinstance(node, File):
            if lot(None, i + 1 == len(node.pending)):
                apply(kept, *change)
        elif lot(change):
            put(kept, change[1], change[2])
    return kept


def write(node, path, lot):
    kept = left(node, lot)
    if isinstance(node, File):
        with open(path, "wb") as f:
            f.write(kept)
        return
    os.mkdir(path)
    for name, child in kept.items():
        write(child, f"{path}/{name}", lot)


def main():
    base, record = sys.argv[1:3]
    if len(sys.argv) == 3:
        print(sum(1 for _ in calls(record)))
        return
    out, point, seed = sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
    r = random.Random(f"{point} {seed}")
    chosen = {}

    def lot(change, last=True):
        if seed == -1:
            return last
        if change is not None and len(change) > 4:      # the two sides of a rename
            if change[3] or change[4][3]:
                return True
            key = min(id(change), id(change[4]))
            if key not in chosen:
                chosen[key] = seed == 1 or seed > 1 and r.random() < 0.5
            return chosen[key]
        return seed == 1 or seed > 1 and r.random() < 0.5

    tree = Tree(base, os.environ["ROOT"])
    for n, call in enumerate(calls(record)):
        if n == point:
            break
        tree.call(*call)
    write(tree.top, out, lot)


main()
