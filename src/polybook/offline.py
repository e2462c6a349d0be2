"""Pack a built site into one archive that works where it is unzipped, without a server and without a network.

``python -m polybook.offline SITE ARCHIVE``. Standard library only. An archive's bytes depend on the site's files alone.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

#: The first moment that an archive can name.
_MOMENT = (1980, 1, 1, 0, 0, 0)
_START = "index.html"
#: What the theme's packages bring and no page loads.
_LEFT_OUT = (
    ".*",
    "*.map",
    "*.LICENSE.txt",
    "_sources/*",
    "404.html",
    "_static/locales/*",
    "_static/*macros.html",
    "_static/scripts/fontawesome.js",
    "_static/vendor/fontawesome/*",
)


def members(site: Path) -> Iterator[str]:
    """Yield the paths of what an archive of a site holds, in order."""
    for path in sorted(site.rglob("*")):
        name = path.relative_to(site).as_posix()
        if path.is_file() and not any(fnmatchcase(name, pattern) for pattern in _LEFT_OUT):
            yield name


def pack(site: Path, target: Path) -> int:
    """Write the archive, in a folder of its own name; gives the number of its files.

    Raises:
        FileNotFoundError: If there is no site.
    """
    if not (site / _START).is_file():
        raise FileNotFoundError(f"{site} holds no site: there is no {_START} in it.")
    names = list(members(site))
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in names:
            entry = zipfile.ZipInfo(f"{target.stem}/{name}", _MOMENT)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, (site / name).read_bytes(), zipfile.ZIP_DEFLATED)
    return len(names)


def main(arguments: Sequence[str]) -> int:
    """Pack, and say what to do with the archive; returns the exit status."""
    site, target = map(Path, arguments)
    try:
        count = pack(site, target)
    except OSError as error:
        print(f"ERROR: {error}\nBuild it with `make book`.", file=sys.stderr)
        return 1
    size = target.stat().st_size / 1e6
    print(f"{target}: {count} files, {size:.1f} MB. Unzip it and open {target.stem}/{_START}.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
