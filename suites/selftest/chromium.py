"""A headless Chromium for the selftests of pages: it resolves no name, and shows pages as people's browsers do."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_DRIVER = shutil.which("chromedriver")

AVAILABLE = _BROWSER is not None and _DRIVER is not None
MISSING = "no Chromium with its driver: apt-get install chromium chromium-driver"

CONTRAST = """
const parse = (text) => text.match(/[\\d.]+/g).map(Number);
const luminance = ([r, g, b]) => [r, g, b].map((v) => v / 255)
  .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const ratio = (a, b) => {
  const [x, y] = [luminance(a), luminance(b)].sort((m, n) => n - m);
  return (x + 0.05) / (y + 0.05);
};
const behind = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const colour = parse(getComputedStyle(at).backgroundColor);
    if (colour.length < 4 || colour[3] === 1) return colour;
  }
  return [255, 255, 255];
};
const found = {};
for (const details of document.querySelectorAll("details")) details.open = true;
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
let count = 0;
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || /^(SCRIPT|STYLE|TITLE|title)$/.test(element.tagName)) continue;
  if (element.closest(".hidden, option")) continue;
  const style = getComputedStyle(element);
  const colour = parse(element.closest("svg") ? style.fill : style.color);
  const value = ratio(colour, behind(element));
  count += 1;
  if (value < 4.5) found[element.className + " " + element.tagName + " " + style.color] = value.toFixed(2);
}
for (const glyph of document.querySelectorAll(".g, .mark path")) {
  const style = getComputedStyle(glyph);
  const value = ratio(parse(glyph.tagName === "path" ? style.stroke : style.color), behind(glyph.parentElement));
  if (value < 3) found["glyph " + glyph.getAttribute("class")] = value.toFixed(2);
}
return [count, found];
"""
"""Returns how many texts a page shows, and the texts and glyphs that are too faint, with their contrast."""


@contextlib.contextmanager
def started(folder: Path) -> Iterator[Any]:
    """A driver of a Chromium whose profile is in a folder; it is ended at the end."""
    from selenium import webdriver  # an extra of development: not where tests are collected

    options = webdriver.ChromeOptions()
    options.binary_location = str(_BROWSER)
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--user-data-dir={folder / 'profile'}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=str(_DRIVER)))
    try:
        yield driver
    finally:
        driver.quit()


def emulate(driver: Any, width: int, **features: str) -> None:
    """Show pages so many pixels wide, light and on a screen by default."""
    media = {"media": features.pop("media", "screen")}
    wanted = {"prefers-color-scheme": "light", "prefers-reduced-motion": "reduce"} | features
    shown = [{"name": name, "value": value} for name, value in wanted.items()]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": shown, **media})
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
