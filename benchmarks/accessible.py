"""Look at every page of the site with axe-core: light and dark, each framework chosen, wide and narrow.

Prints what is wrong and a line a reader; the exit status is 1 if anything is. Needs Chromium. Takes some minutes.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "tests"))

from accessibility import READERS, opened, violations  # noqa: E402
from browsing import launched, served  # noqa: E402
from sites import pages_of  # noqa: E402

SITE = REPOSITORY / "_build" / "html"


def main() -> int:
    """Look at all pages; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", type=Path, default=SITE, help="the built site (default: %(default)s)")
    parser.add_argument("pages", nargs="*", help="pages of the site (default: all)")
    chosen = parser.parse_args()
    if not (chosen.site / "index.html").is_file():
        sys.exit(f"{chosen.site} holds no site. Run `make book`.")
    wrong = 0
    with served(chosen.site) as address, launched() as browser:
        for reader in READERS:
            start, found = time.perf_counter(), 0
            with opened(browser, address, reader) as page:
                pages = chosen.pages or pages_of(chosen.site)
                for path in pages:
                    for line in violations(page, path):
                        print(f"{path} ({reader}): {line}")
                        found += 1
            print(f"{reader}: {len(pages)} pages, {found} violations, {time.perf_counter() - start:.0f} s", flush=True)
            wrong += found
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
