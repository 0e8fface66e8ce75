"""A headless browser to look at pages with, installed where it can be."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

PACKAGES = ("chromium", "chromium-driver")  # of Debian
PROGRAMS = ("chromium", "chromedriver")
OPTIONS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
)


def install() -> str | None:
    """Have Chromium and its driver installed; why it cannot be, or None."""
    if all(map(shutil.which, PROGRAMS)):
        return None
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return f"needs {' and '.join(PROGRAMS)}, which are installed here only as root on Debian"
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "-y", "--no-install-recommends", *PACKAGES]):
        done = subprocess.run(["apt-get", "-q", *command], env=environment, capture_output=True, text=True)
        if done.returncode:
            return f"apt-get {command[0]} failed: {done.stderr.strip()[-300:]}"
    return None


class Browser:
    """One window. `profile` is a new folder of its own."""

    def __init__(self, profile: Path):
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which(PROGRAMS[0])
        for option in (*OPTIONS, f"--user-data-dir={profile}"):
            options.add_argument(option)
        options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which(PROGRAMS[1])))

    def resize(self, width: int, height: int = 900) -> None:
        """The size of what is seen of the page; a window cannot be as narrow as a telephone."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def run(self, script: str, *arguments):
        """What a script in the page returns."""
        return self.driver.execute_script(script, *arguments)

    def messages(self) -> list[str]:
        """What the console said since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Every URL that was asked for since the last call, but what the page itself holds."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        urls = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
        return [url for url in urls if not url.startswith("data:")]

    def screenshot(self, path: Path, width: int) -> None:
        """The whole page."""
        self.resize(width, min(16_000, self.run("return document.documentElement.scrollHeight")))
        self.driver.save_screenshot(str(path))

    def close(self) -> None:
        self.driver.quit()
