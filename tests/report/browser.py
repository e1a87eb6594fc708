"""A real browser without a window, driven over chromedriver's plain HTTP protocol with nothing but the standard library."""
import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
         "--no-default-browser-check", "--disable-default-apps", "--hide-scrollbars", "--force-color-profile=srgb"]


def missing():
    """What there is no browser without, or None."""
    if not (shutil.which("chromium") or shutil.which("google-chrome")):
        return "chromium is not installed"
    if not shutil.which("chromedriver"):
        return "chromedriver is not installed (Debian: chromium-driver)"
    return None


class Browser:
    def __enter__(self):
        self.home = tempfile.mkdtemp()
        self.output = open(os.path.join(self.home, "driver.out"), "w+b")
        # A proxy from the environment would stand between us and our own driver.
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=self.output, stderr=subprocess.STDOUT,
                                       env={**os.environ, "HOME": self.home})
        try:
            self.port = self.wait_for_port()
            binary = shutil.which("chromium") or shutil.which("google-chrome")
            made = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
                "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
                "goog:chromeOptions": {"binary": binary, "args": FLAGS + [f"--user-data-dir={self.home}/profile"]},
            }}})
            self.session = "/session/" + made["sessionId"]
            self.call("POST", self.session + "/url", {"url": "about:blank"})
            self.log("performance")  # the browser's own first page is not ours to judge
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if hasattr(self, "session"):
            try:
                self.call("DELETE", self.session)
            except (OSError, RuntimeError):
                pass
        self.driver.terminate()
        self.driver.wait()
        self.output.close()
        shutil.rmtree(self.home, ignore_errors=True)

    def wait_for_port(self):
        for _ in range(3600):
            with open(self.output.name, "rb") as said:
                found = re.search(rb"started successfully on port (\d+)", said.read())
            if found:
                return int(found.group(1))
            if self.driver.poll() is not None:
                break
            time.sleep(0.05)
        raise RuntimeError("chromedriver did not start")

    def call(self, method, path, body=None):
        data = json.dumps(body or {}).encode() if method == "POST" else None
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, {"Content-Type": "application/json"},
                                         method=method)
        try:
            with self.opener.open(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{path}: {error.read().decode()[:600]}") from None

    def devtools(self, command, **params):
        return self.call("POST", self.session + "/goog/cdp/execute", {"cmd": command, "params": params})

    def open(self, path):
        self.call("POST", self.session + "/url", {"url": "file://" + os.path.abspath(path)})

    def run(self, script, *args):
        return self.call("POST", self.session + "/execute/sync", {"script": script, "args": list(args)})

    def log(self, kind):
        return self.call("POST", self.session + "/se/log", {"type": kind})

    def find(self, selector):
        found = self.call("POST", self.session + "/element", {"using": "css selector", "value": selector})
        return next(iter(found.values()))

    def click(self, selector):
        """As a person clicks: it fails where something else lies on top."""
        self.run("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", selector)
        self.call("POST", f"{self.session}/element/{self.find(selector)}/click")

    def choose(self, selector, value):
        self.run("const s = document.querySelector(arguments[0]); s.value = arguments[1]; s.dispatchEvent(new Event('change'))",
                 selector, value)

    def keys(self, selector, text):
        self.call("POST", f"{self.session}/element/{self.find(selector)}/value", {"text": text})

    def move_to(self, selector, dx, dy):
        """The mouse, to a point measured from the middle of an element."""
        self.run("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", selector)
        element = {"element-6066-11e4-a52e-4f735466cecf": self.find(selector)}
        self.call("POST", self.session + "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": [
            {"type": "pointerMove", "duration": 0, "origin": element, "x": int(dx), "y": int(dy)}]}]})

    def size(self, width, height, mobile=False):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)

    def scheme(self, name, media=""):
        self.devtools("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": name}])

    def screenshot(self, path):
        """The whole page: in a window as high as it is, since a picture of more than the window upsets canvases."""
        width, height = self.run("return [innerWidth, document.documentElement.scrollHeight]")
        self.size(width, height, mobile=width < 500)
        time.sleep(0.5)
        shot = self.devtools("Page.captureScreenshot", format="png")
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))
