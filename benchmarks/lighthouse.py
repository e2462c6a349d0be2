"""Measure how fast, accessible and findable the site's pages are, with Lighthouse as a telephone.

The site is served here as a public host serves it: compressed, with validity for some minutes, over HTTP/1.1. Scores
are medians over rounds; the transfer is everything that the page loads, as it comes over the wire. With ``--check``
the exit status is 1 if a limit does not hold. Needs Node's ``npx`` and Chromium. Nothing else should run here.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from mimetypes import guess_type
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

REPOSITORY = Path(__file__).resolve().parents[1]
SITE = REPOSITORY / "_build" / "html"
#: The last version that runs on Node 20.
LIGHTHOUSE = "lighthouse@12.8.2"
BROWSERS = ("chromium", "google-chrome")
FLAGS = "--headless=new --no-sandbox --disable-gpu --disable-background-networking"
#: What public hosts compress; pictures and fonts are compressed already.
COMPRESSED = ("text/", "application/javascript", "application/json", "image/svg+xml")
#: As GitHub Pages says.
VALIDITY_S = 600
CORE = "chapters/async-computation.html"
EXERCISES = "exercises/index.html"
#: Until there is a page of exercises.
INSTEAD = "chapters/waiting.html"

SCORES = {"performance": 95, "accessibility": 100, "best-practices": 100, "seo": 100}
MAX_SHIFT = 0.02
MAX_CORE_BYTES = 600_000


@dataclass(frozen=True)
class Row:
    """What Lighthouse says of one page.

    Attributes:
        page: Its path in the site.
        scores: From 0 to 100, by category.
        shift: Cumulative layout shift.
        paint_s: Largest contentful paint in seconds, on Lighthouse's slow telephone.
        blocked_ms: Total blocking time in milliseconds.
        transfer_bytes: What the page loads, compressed.
        requests: How many files that is.
        faults: What cost points, by audit, in Lighthouse's words.
    """

    page: str
    scores: dict[str, float]
    shift: float
    paint_s: float
    blocked_ms: float
    transfer_bytes: float
    requests: float
    faults: dict[str, str]

    def broken(self) -> list[str]:
        """Say which limits do not hold."""
        found = [
            f"{name} {self.scores[name]:.0f} < {least}" for name, least in SCORES.items() if self.scores[name] < least
        ]
        found += [f"layout shift {self.shift:.3f} > {MAX_SHIFT}"] * (self.shift > MAX_SHIFT)
        too_large = self.page == CORE and self.transfer_bytes > MAX_CORE_BYTES
        return found + [f"transfer {self.transfer_bytes / 1000:.0f} kB > {MAX_CORE_BYTES / 1000:.0f} kB"] * too_large


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder as a public host does; gives its address."""

    @cache
    def answer(path: str) -> tuple[int, str, bytes, bool]:
        file = (folder / path).resolve()
        if file.is_dir():
            file /= "index.html"
        if not file.is_file() or folder.resolve() not in file.parents:
            return 404, "text/plain", b"not found", False
        kind = guess_type(file.name)[0] or "application/octet-stream"
        packed = kind.startswith(COMPRESSED)
        return 200, kind, gzip.compress(file.read_bytes(), 6) if packed else file.read_bytes(), packed

    class Host(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Header and body are two writes, which else wait for each other.
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            status, kind, body, packed = answer(unquote(urlsplit(self.path).path).lstrip("/"))
            self.send_response(status)
            self.send_header("Content-Type", f"{kind}; charset=utf-8" if kind.startswith("text/") else kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", f"max-age={VALIDITY_S}")
            if packed:
                self.send_header("Content-Encoding", "gzip")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Host) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def look_at(address: str, npx: str, browser: str) -> dict[str, Any]:
    """Run Lighthouse once, in its mobile profile; gives its report."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [npx, "--yes", LIGHTHOUSE, address, "--quiet", "--output=json", f"--output-path={report}"]
        command += [f"--chrome-flags={FLAGS}", f"--only-categories={','.join(SCORES)}"]
        environment = {**os.environ, "CHROME_PATH": browser}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if not report.is_file():
            sys.exit(f"Lighthouse gave no report of {address}:\n{done.stderr}")
        found: dict[str, Any] = json.loads(report.read_text("utf8"))
        return found


def row(page: str, reports: list[dict[str, Any]]) -> Row:
    """Take the medians of some reports of one page."""

    def median(audit: str) -> float:
        return statistics.median(report["audits"][audit]["numericValue"] for report in reports)

    loaded = [report["audits"]["network-requests"]["details"]["items"] for report in reports]
    return Row(
        page,
        {name: statistics.median(100 * (r["categories"][name]["score"] or 0) for r in reports) for name in SCORES},
        shift=median("cumulative-layout-shift"),
        paint_s=median("largest-contentful-paint") / 1000,
        blocked_ms=median("total-blocking-time"),
        transfer_bytes=statistics.median(sum(item.get("transferSize") or 0 for item in items) for items in loaded),
        requests=statistics.median(map(len, loaded)),
        faults=faults(reports[0]),
    )


def faults(report: dict[str, Any]) -> dict[str, str]:
    """Give the audits that cost points, with what they found."""
    found = {}
    for category in SCORES:
        for reference in report["categories"][category]["auditRefs"]:
            audit = report["audits"][reference["id"]]
            if reference["weight"] and audit["score"] is not None and audit["score"] < 1:
                items = (audit.get("details") or {}).get("items") or []
                nodes = [item.get("node", {}).get("snippet") or item.get("description") or "" for item in items[:5]]
                shown = " ".join(filter(None, [audit.get("displayValue") or "", *nodes]))
                found[f"{category}/{reference['id']}"] = f"{audit['title']} {shown}".strip()
    return found


def needed(program: str, advice: str) -> str:
    """Find a program; without it nothing can be measured."""
    return shutil.which(program) or sys.exit(f"{program} was not found. {advice}")


def main() -> int:
    """Measure and print the table; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if a limit does not hold")
    parser.add_argument("--site", type=Path, default=SITE, help="the built site (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="reports of each page (default: %(default)s)")
    parser.add_argument("--faults", action="store_true", help="list what cost points")
    parser.add_argument("pages", nargs="*", help="pages of the site (default: landing page, core chapter, exercises)")
    chosen = parser.parse_args()
    npx = needed("npx", "Install Node 18 or newer: on Debian, the package npm.")
    browser = next(filter(None, map(shutil.which, BROWSERS)), None) or needed(BROWSERS[0], "Install Debian's chromium.")
    if not (chosen.site / "index.html").is_file():
        sys.exit(f"{chosen.site} holds no site. Run `make book`.")
    exercises = EXERCISES if (chosen.site / EXERCISES).is_file() else INSTEAD
    rows = []
    with served(chosen.site) as address:
        for page in chosen.pages or ["index.html", CORE, exercises]:
            reports = [look_at(f"{address}/{page}", npx, browser) for _ in range(chosen.rounds)]
            rows.append(row(page, reports))
    show(rows, with_faults=chosen.faults)
    return int(chosen.check and any(entry.broken() for entry in rows))


def show(rows: list[Row], *, with_faults: bool) -> None:
    """Print the table, and which limits do not hold."""
    width = max(len(entry.page) for entry in rows)
    head = "fast  a11y  practices  seo   shift   paint  blocked  files  transfer"
    print(f"{'page':{width}}  {head}")
    for entry in rows:
        fast, access, practices, seo = entry.scores.values()
        print(
            f"{entry.page:{width}}  {fast:4.0f}  {access:4.0f}  {practices:9.0f}  {seo:3.0f}  {entry.shift:6.3f}  "
            f"{entry.paint_s:4.1f} s  {entry.blocked_ms:4.0f} ms  {entry.requests:5.0f}  "
            f"{entry.transfer_bytes / 1000:5.0f} kB"
        )
    for entry in rows:
        for fault in entry.broken():
            print(f"{entry.page}: {fault}")
        for name, text in entry.faults.items() if with_faults else ():
            print(f"{entry.page}: {name}: {text}")


if __name__ == "__main__":
    sys.exit(main())
