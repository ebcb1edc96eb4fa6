"""Finds a Chromium for the browser tests, or installs one: ``python -m tests.browser.chromium``."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

SHELL = "chromium-headless-shell"  # a page takes it a fifth less processor time than the whole browser
NAMES = (SHELL, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGS = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    # room for what a page makes in its first seconds: a sixth of their processor time went into collecting it
    "--js-flags=--min-semi-space-size=64 --max-semi-space-size=64",
)


def find() -> str | None:
    """Return the path of an installed Chromium, playwright's own included."""
    named = next(filter(None, map(shutil.which, NAMES)), None)
    if named:
        return named
    from playwright.sync_api import sync_playwright

    with sync_playwright() as p:
        path = p.chromium.executable_path
    return path if Path(path).exists() else None


def install() -> None:
    """Install from the system's packages, or else playwright's own build."""
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if shutil.which("apt-get"):
        env = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run([*sudo, "apt-get", "update", "-qq"], env=env, check=False)
        for package in (SHELL, "chromium"):  # not every system has the first
            subprocess.run([*sudo, "apt-get", "install", "-y", "-qq", package], env=env, check=False)
            if find():
                return
    subprocess.run([sys.executable, "-m", "playwright", "install", "--with-deps", "chromium"], check=False)


if __name__ == "__main__":
    if not find():
        install()
    found = find()
    print(found or "no Chromium found: install the package 'chromium', then run make test again")
    sys.exit(0 if found else 1)
