"""A Chromium without a screen, driven by Selenium, and how a test says what it has seen.

    b = Browser(url)           opens the page, 1280 by 900
    b.size(390, 844)           as wide as a phone
    b.text("strip")            what is seen of the element with this id
    b.until(what, question)    waits until question() is true; a failed check after a minute
    b.picture("load-dark")     into the folder PICTURES
"""
import os, sys, time
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

PICTURES = os.environ.get("PICTURES", "build/web")
PATIENCE_S = 60
bad = 0


def check(what, right, why=""):
    global bad
    bad += not right
    print(f"ok: {what}" if right else f"FAIL: {what}{': ' if why != '' else ''}{why}", flush=True)
    return right


def done():
    print("all good" if not bad else f"{bad} checks failed")
    sys.exit(bad != 0)


class Browser:
    def __init__(self, url):
        self.url = url
        options = Options()
        options.binary_location = "/usr/bin/chromium"
        # Without the sandbox, since root has none; nothing but the test's own page is opened.
        for a in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
                  "--disable-background-networking", "--disable-component-update", "--force-prefers-reduced-motion", "--no-proxy-server",
                  "--user-data-dir=" + os.environ["TMPDIR"] + "/chromium"):
            options.add_argument(a)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        self.driver.set_page_load_timeout(PATIENCE_S)
        self.size(1280, 900)
        self.open("")

    def open(self, where):
        self.driver.get(self.url + "/" + where)

    def go(self, where):
        """Within the page, as a link does."""
        self.run("location.hash = arguments[0]", where)
        time.sleep(0.4)

    def size(self, width, height):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})

    def dark(self, on):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                    {"features": [{"name": "prefers-color-scheme", "value": "dark" if on else "light"}]})

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def element(self, name):
        return self.driver.find_element(By.ID, name)

    def click(self, name):
        self.element(name).click()

    def type(self, name, text):
        self.element(name).clear()
        self.element(name).send_keys(text)

    def press(self, *keys):
        webdriver.ActionChains(self.driver).send_keys(*keys).perform()

    def text(self, name):
        return self.run("return document.getElementById(arguments[0]).innerText", name)

    def rows(self):
        """The rows of nodes that exist, as [name, phase, percent, last words], from top to bottom."""
        return self.run("""return [...document.querySelectorAll('.node')].filter(r => r.offsetParent)
            .sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)
            .map(r => [r.querySelector('.name').textContent, r.querySelector('.phase').textContent,
                       r.querySelector('.pct').textContent, r.querySelector('.last').textContent])""")

    def wide(self):
        """By how many pixels the page is wider than the window."""
        return self.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")

    def complaints(self, *excused):
        """What the browser's console has of errors, but for those that have one of these words."""
        return [e["message"] for e in self.driver.get_log("browser")
                if e["level"] == "SEVERE" and not any(x in e["message"] for x in excused)]

    def until(self, what, question, patience_s=PATIENCE_S):
        end, last = time.monotonic() + patience_s, ""
        while time.monotonic() < end:
            try:
                if question():
                    return check(what, True)
            except WebDriverException as e:
                last = e.msg
            time.sleep(0.2)
        self.picture("failed")
        return check(what, False, last or "not within a minute")

    def picture(self, name):
        os.makedirs(PICTURES, exist_ok=True)
        self.driver.save_screenshot(os.path.join(PICTURES, name + ".png"))

    def close(self):
        self.driver.quit()
