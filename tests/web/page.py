"""What tests/web/page.sh asserts in the browser.  A controller runs, with six nodes that are
switched off and an image; a load takes some 40 seconds."""
import json, os, socket, subprocess, time, urllib.error, urllib.request
from browser import Browser, Keys, check, done
from look import look

T, URL = os.environ["T"], os.environ["URL"]
TOKEN = open(os.environ["STATE"] + "/token").readline().split()[1]
http = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def answer_of(method, path, body=None, headers={}):
    """(status, body): 0 if there is no answer."""
    request = urllib.request.Request(URL + path, method=method, data=None if body is None else json.dumps(body).encode(), headers=headers)
    try:
        with http.open(request, timeout=20) as a:
            return a.status, json.loads(a.read())
    except urllib.error.HTTPError as e:
        return e.code, {}
    except OSError:
        return 0, {}


def sessions():
    return answer_of("GET", "/api/v1/sessions")[1].get("sessions", [])


def percent(b):
    text = b.run("return document.querySelector('#strip .lead dd')?.innerText ?? ''")
    return int(text.split()[0]) if text[:1].isdigit() else -1


def before_anything(b):
    print("== before anything")
    b.until("the page is live", lambda: b.text("link") == "live")
    check("it says that nothing runs", "No session runs." in b.text("nothing"), b.text("nothing"))
    look(b, "idle")
    b.go("#/nodes")
    look(b, "nodes")
    check("all nodes are there, idle", [r[:2] for r in b.rows()] == [[f"node{i}", "idle"] for i in range(1, 7)], b.rows())
    b.go("#/images")
    images = b.run("return [...document.querySelectorAll('#images tbody tr')].map(r => r.cells[0].textContent)")
    check("a name that looks like markup is text", images == ["<img src=x onerror=document.title=1>.ndz", "lab.ndz"], images)
    check("and made no element", b.run("return document.querySelectorAll('#images img').length") == 0)
    b.picture("images")
    b.go("#/")


def start_needs_a_token(b):
    print("== starting needs a token")
    b.click("start")
    check("a token is asked for", b.run("return document.getElementById('d-token').open"))
    b.type("token-text", "wrong")
    b.click("token-ok")
    b.until("a wrong one is refused", lambda: "does not know this token" in b.text("token-said"))
    b.picture("token")
    b.type("token-text", TOKEN)
    b.click("token-ok")
    b.until("with the right one, the session is asked for", lambda: b.run("return document.getElementById('d-start').open"))
    b.type("start-nodes", "node[1-9]")
    b.run("document.getElementById('start-image').value = 'lab.ndz'")
    b.click("start-ok")
    b.until("what is wrong is said", lambda: len(b.text("start-said")) > 10)
    check("nothing has begun", sessions() == [], sessions())
    b.type("start-nodes", "node[1-6]")
    check("and not of what is there instead", b.text("start-said") == "", b.text("start-said"))
    look(b, "start")
    b.click("start-ok")
    b.until("the session is shown", lambda: b.text("ses-title") == "lab.ndz" and "running" in b.text("ses-state"))
    check("there is one", len(sessions()) == 1, sessions())


def it_is_seen(b):
    print("== a load as it happens")
    b.until("nodes boot, then load", lambda: any("loading" in r[1] for r in b.rows()), 120)
    seen = []

    def half():
        seen.append(percent(b))
        return seen[-1] >= 40
    b.until("it comes to 40 %", half, 240)
    steps = [p for p in seen if p >= 0]
    check("the percentage grows, and never falls", steps == sorted(steps) and len(set(steps)) > 3, steps)
    check("the rate is shown", "bit/s" in b.text("rate-words"), b.text("rate-words"))
    check("what was sent is shown", "%" in b.text("map-words"), b.text("map-words"))
    drawn = b.run("""const c = document.getElementById('map'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        const colours = new Set(); for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 200) colours.add(d[i] + ',' + d[i + 1] + ',' + d[i + 2]);
        return colours.size""")
    check("the map has cells that were sent and others that were not", drawn >= 2, drawn)
    curve = b.run("return document.querySelector('#rate .curve').getAttribute('d').split('L').length")
    check("the curve of the rate has points", curve >= 3, curve)
    look(b, "load")
    b.size(390, 844)
    for view in ("#/nodes", "#/images", "#/history", "#/node/node1", "#/"):
        b.go(view)
        check(f"{view} on a phone: no sideways scroll", b.wide() <= 0, b.wide())
    b.size(1280, 900)


def stop_needs_a_token(b):
    print("== stopping needs a token")
    number = sessions()[0]["id"]
    for headers in ({}, {"Authorization": "Bearer wrong"}):
        status, _ = answer_of("POST", f"/api/v1/sessions/{number}/stop", {}, {"Content-Type": "application/json", **headers})
        check("a call with " + (headers.get("Authorization") or "no token") + " is refused", status == 401, status)
    b.run("sessionStorage.clear()")
    b.driver.refresh()
    b.until("the page forgets its token with the tab", lambda: b.text("token") == "Read only" and b.text("ses-title") == "lab.ndz")
    b.click("ses-stop")
    check("stopping asks for a token", b.run("return document.getElementById('d-token').open && !document.getElementById('d-stop').open"))
    b.press(Keys.ESCAPE)
    time.sleep(0.3)
    check("without one, it runs on", sessions()[0]["state"] == "running", sessions()[0]["state"])


def killed_and_back(b):
    print("== the controller is killed, and comes back")
    pid = int(open(T + "/controller.pid").read())
    os.kill(pid, 9)
    b.until("the page says that it has no connection", lambda: b.text("link") == "not connected" and "does not answer" in b.text("banner"))
    b.picture("lost")
    log = open(T + "/controller.log", "a")
    again = subprocess.Popen(["bash", "-c", "exec " + open(T + "/controller.command").read()], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    open(T + "/controller.pid", "w").write(str(again.pid))
    b.until("the page is live again by itself", lambda: b.text("link") == "live")
    check("it is the same session", [s["id"] for s in sessions()] == [1], [s["id"] for s in sessions()])
    return again


def the_end(b):
    print("== the end")
    b.until("five nodes are done, and the one with the broken disk has failed",
            lambda: sorted(r[1].split(",")[0] for r in b.rows()) == ["done"] * 5 + ["failed"], 180)
    check("trouble comes first", b.rows()[0][0] == "node6", b.rows())
    check("it says why", "not loaded" in b.rows()[0][3] or "exit status" in b.rows()[0][3], b.rows()[0])
    b.until("the session has ended", lambda: "failed" in b.text("ses-state"))
    check("five of six are deployed", percent(b) == 83, percent(b))
    b.until("the image is not sent any more", lambda: "sent to" not in b.text("ses-sub"))
    look(b, "failed")
    b.go("#/history")
    b.until("history has it", lambda: "lab.ndz" in b.text("history") and "5 of 6" in b.text("history"))
    look(b, "history")


def capture(b):
    print("== the disk of a node becomes an image")
    b.go("#/node/node1")
    b.click("node-capture")
    check("a token is asked for", b.run("return document.getElementById('d-token').open"))
    b.type("token-text", TOKEN)
    b.click("token-ok")
    b.until("what is done is said", lambda: "node1 is started from the network" in b.text("capture-what"))
    b.type("capture-image", "lab.ndz")
    b.click("capture-ok")
    b.until("a name that is taken is refused", lambda: "there is an image lab.ndz already" in b.text("capture-said"))
    b.type("capture-image", "made.ndz")
    b.click("capture-ok")
    b.until("the session is shown", lambda: b.text("ses-title") == "made.ndz" and "capturing" in b.text("ses-sub"))
    b.until("the node is captured", lambda: [r[1] for r in b.rows()] == ["capturing"])
    b.until("it comes to 40 %", lambda: percent(b) >= 40)
    check("the rate is the node's", "bit/s" in b.text("rate-words"), b.text("rate-words"))
    check("no map of what was sent", not b.run("return document.getElementById('fig-map').offsetParent"))
    b.until("the node says how far it is", lambda: "% of sda is read" in b.rows()[0][3])
    now = sessions()[0]
    check("and what is left takes time", now.get("seconds_left", 0) > 0 and now["rate_bits_per_s"] > 0, now)
    look(b, "capture")
    open(T + "/machines/node1/go", "w").close()
    b.until("it has ended", lambda: "done" in b.text("ses-state"))
    check("all of it is captured", percent(b) == 100, percent(b))
    b.go("#/images")
    b.until("the image is there", lambda: "made.ndz" in b.text("images"))
    b.go("#/")


def rude_words(b):
    print("== what nodes say is text")
    words = "<script>document.title=1</script><b>bold</b>\\x1b[2J"
    text = "<script>document.title=1</script><b>bold</b>\x1b[2J\u202egnp"
    report = f"report 52-54-00-00-00-01 - loading {text}\n"
    with socket.create_connection(("10.9.0.1", 5101), 10) as s:
        s.sendall(report.encode())
        s.shutdown(socket.SHUT_WR)
        said = s.recv(200)
    b.go("#/nodes")
    time.sleep(1.5)
    check("a report that no order asked for changes no node", b.run("return document.title") != "1" and b.rows()[0][1] != "loading", said)
    check("and makes no element", b.run("return document.querySelectorAll('.last *, .node script, .node b').length") == 0)
    shown = b.run("return plain(arguments[0])", text)
    check("what is not seen is shown by its number", shown == "<script>document.title=1</script><b>bold</b>\\x1b[2J\\u202egnp", shown)


def by_keyboard(b):
    print("== by keyboard, and for who listens")
    b.open("")
    b.until("live", lambda: b.text("link") == "live")
    b.press(Keys.TAB)
    check("the first key leads to the content", b.run("return document.activeElement.className") == "skip")
    seen = []
    for _ in range(12):
        b.press(Keys.TAB)
        seen.append(b.run("return document.activeElement.id || document.activeElement.textContent"))
    check("tabs lead through views and buttons", {"theme", "token", "start"} <= set(seen) and any("Images" in s for s in seen), seen)
    b.run("document.getElementById('start').focus()")
    b.press(Keys.ENTER)
    check("a key opens the dialog", b.run("return document.querySelector('dialog[open]') !== null"))
    b.press(Keys.ESCAPE)
    check("and a key closes it", b.run("return document.querySelector('dialog[open]') === null"))
    tree = b.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    nameless = [n["role"]["value"] for n in tree if not n.get("ignored") and n.get("role", {}).get("value") in ("button", "link", "textbox", "combobox", "img")
                and not n.get("name", {}).get("value")]
    check("all that can be pressed or seen has a name", nameless == [], nameless)


def main():
    b = Browser(URL)
    again = None
    try:
        before_anything(b)
        start_needs_a_token(b)
        it_is_seen(b)
        stop_needs_a_token(b)
        check("the console has no errors", b.complaints("401", "400", "404", "409") == [], b.complaints())
        again = killed_and_back(b)
        the_end(b)
        capture(b)
        rude_words(b)
        by_keyboard(b)
    finally:
        b.close()
        if again:
            again.terminate()
            again.wait(30)
    done()


main()
