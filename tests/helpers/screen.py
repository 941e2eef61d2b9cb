"""A terminal in memory: what on_terminal.py and terminal.py see of a program."""
import re


class Screen:
    """What a program draws.  Lines are as long as they are: those that are drawn anew have to be shorter than the terminal."""
    def __init__(self):
        self.rows, self.x, self.y, self.passed, self.strange = [""], 0, 0, [], []

    def leave(self, y):
        """Row y is about to be drawn over, or erased."""
        if self.rows[y].strip():
            self.passed.append(self.rows[y])

    def put(self, c):
        row = self.rows[self.y]
        if self.x == 0:
            self.leave(self.y)
        self.rows[self.y] = row[:self.x].ljust(self.x) + c + row[self.x + 1:]
        self.x += 1

    def obey(self, count, letter):
        if letter == "A":
            self.y = max(0, self.y - int(count or 1))
        elif letter == "K" and not count:
            if self.x == 0:
                self.leave(self.y)
            self.rows[self.y] = self.rows[self.y][:self.x]
        elif letter == "J" and not count and self.x == 0:
            for y in range(self.y, len(self.rows)):
                self.leave(y)
            self.rows[self.y:] = [""]
        else:
            self.strange.append("\\e[" + count + letter)

    def feed(self, text):
        for m in re.finditer(r"\x1b\[([0-9;?]*)([A-Za-z])|.", text, re.S):
            if m[2]:
                self.obey(m[1], m[2])
            elif m[0] == "\r":
                self.x = 0
            elif m[0] == "\n":
                self.x, self.y = 0, self.y + 1
                self.rows += [""] * (self.y + 1 - len(self.rows))
            elif m[0] < " ":
                self.strange.append(repr(m[0]))
            else:
                self.put(m[0])

    def stays(self):
        """The lines that stand there, without those that are empty."""
        return [row.rstrip() for row in self.rows if row.strip()]
