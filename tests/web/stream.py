"""What tests/web/stream.sh asserts in the browser.  A controller runs, with three nodes that are
switched off and an image that takes 50 seconds to send."""
import os
from browser import Browser, check, done
from look import look

TOKEN = open(os.environ["STATE"] + "/token").readline().split()[1]


def start(b):
    print("== a session that streams is started on the page")
    b.until("the page is live", lambda: b.text("link") == "live")
    b.click("start")
    b.type("token-text", TOKEN)
    b.click("token-ok")
    b.until("the dialog is there", lambda: b.run("return document.getElementById('d-start').open"))
    b.type("start-nodes", "node[1-3]")
    b.run("document.querySelector('#d-start details').open = true")
    b.click("start-stream")
    b.picture("stream-start")
    b.click("start-ok")
    b.until("the session is shown, and streams", lambda: "streaming" in b.text("ses-sub"))


def usable(b):
    print("== usable first")
    b.until("all nodes are usable", lambda: [r[1] for r in b.rows()] == ["usable"] * 3, 120)
    check("the session runs on", "running" in b.text("ses-state"), b.text("ses-state"))
    facts = b.run("return Object.fromEntries([...document.querySelectorAll('#strip > div')].map(d => d.innerText.split('\\n')))")
    facts = {k.lower(): v for k, v in facts.items()}
    check("three are usable, and none is done", facts.get("nodes usable") == "3 of 3" and facts.get("nodes done") == "0 of 3", facts)
    b.until("each says how much is there", lambda: all("% of sda is there" in r[3] for r in b.rows()))
    look(b, "stream")
    b.click("ses-stop")
    check("who stops it would hear what becomes of those systems", "On 3 nodes a system runs already" in b.text("stop-what"), b.text("stop-what"))
    b.run("document.querySelector('#d-stop [data-close]').click()")
    b.go("#/node/node1")
    check("a node says when it was usable", "Usable" in b.text("node-facts") and "Done" not in b.text("node-facts"), b.text("node-facts"))
    b.go("#/")


def whole(b):
    print("== whole later")
    b.until("all nodes are done", lambda: [r[1] for r in b.rows()] == ["done"] * 3, 180)
    b.until("the session has ended", lambda: "done" in b.text("ses-state"))
    table = b.text("phases")
    check("both times are in the table", "usable after" in table and "done after" in table, table)
    b.picture("stream-ended")
    check("the console has no errors", b.complaints() == [], b.complaints())


def stopped(b):
    print("== another session is stopped, with the token that the page has")
    b.go("#/")
    b.click("start")
    b.until("the dialog is there again", lambda: b.run("return document.getElementById('d-start').open"))
    b.type("start-nodes", "node3")
    b.click("start-ok")
    b.until("it runs", lambda: "running" in b.text("ses-state"))
    b.click("ses-stop")
    check("the page asks whether it is meant, and for no token", b.run("return document.getElementById('d-stop').open && !document.getElementById('d-token').open"))
    check("it says what that means", "1 node is not done" in b.text("stop-what"), b.text("stop-what"))
    b.picture("stop")
    b.click("stop-ok")
    b.until("it is stopped", lambda: "stopped" in b.text("ses-state"))
    check("the console has no errors", b.complaints() == [], b.complaints())


def main():
    b = Browser(os.environ["URL"])
    try:
        start(b)
        usable(b)
        whole(b)
        stopped(b)
    finally:
        b.close()
    done()


main()
