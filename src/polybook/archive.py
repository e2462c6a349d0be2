"""Pack a framework's notebooks with what they show and install, for use without the site.

An archive's bytes depend on its content alone. Links to other notebooks lead to those beside it, pictures lie in it;
what only the site has is linked there if its address is known, and otherwise left as text.
"""

from __future__ import annotations

import io
import json
import posixpath
import re
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path
from urllib.parse import quote, unquote

from polybook.files import write_if_other

#: The folder of the site that holds the notebooks, and the one that holds what they install.
FOLDER, WHEELS = "notebooks", "wheels"
_FIGURES = "figures"
#: The first moment that an archive can name.
_MOMENT = (1980, 1, 1, 0, 0, 0)
_READ_ME = """These are the notebooks of "{book}" with {framework}.

Open them with Jupyter, for example: python -m pip install jupyterlab, then: jupyter lab
The first cell of each installs what is missing. That needs a network once, or a package index within reach.
"""


def archive_path(framework: str) -> str:
    """Give an archive's path in the site."""
    return f"{FOLDER}/{framework}.zip"


def write_archive(out: Path, framework: str, title: str, book: str, site: str) -> None:
    """Write the archive of a framework, if anything in it has changed; none where there are no notebooks.

    Args:
        out: The site's folder, with notebooks and wheels in it.
        framework: The framework's name.
        title: The framework's title.
        book: The book's title.
        site: Where the site is published, ending in a slash; empty if that is not known.
    """
    target, folder = out / archive_path(framework), out / FOLDER / framework
    notebooks = sorted(folder.rglob("*.ipynb"))
    if not notebooks:
        target.unlink(missing_ok=True)
        return
    names = {path.relative_to(folder).with_suffix("").as_posix() for path in notebooks}
    members: dict[str, bytes] = {"README.txt": _READ_ME.format(book=book, framework=title).encode()}
    for path in sorted((out / WHEELS).glob("*.whl")):
        members[f"{WHEELS}/{path.name}"] = path.read_bytes()
    for path in notebooks:
        move = _Move(out, path.relative_to(folder).as_posix(), names, site)
        notebook = json.loads(path.read_text("utf8"))
        for cell in notebook["cells"]:
            cell["source"] = move.source("".join(cell["source"])).splitlines(keepends=True)
        members[move.path] = (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()
        members |= move.pictures
    write_if_other(target, _packed(f"{FOLDER}-{framework}", members))


class _Move:
    """Moves a notebook from the site into an archive.

    Args:
        out: The site's folder.
        path: The notebook's path in the archive.
        names: The pages that have a notebook there.
        site: Where the site is published; empty if that is not known.

    Attributes:
        pictures: What the notebook shows, by its path in the archive.
    """

    def __init__(self, out: Path, path: str, names: Collection[str], site: str) -> None:
        self.path = path
        self.pictures: dict[str, bytes] = {}
        self._out = out
        self._names = names
        self._site = site
        # In the site a notebook lies two folders deeper.
        prefix = re.escape(site or "../" * (path.count("/") + 2))
        # Brackets stand in pairs in a link's text: those of code, or of a picture.
        text = r"(?:[^\[\]\\]|\\.|\[(?:[^\[\]\\]|\\.)*\])*"
        self._picture = re.compile(rf"!\[(?P<text>{text})\]\({prefix}(?P<target>[^)\s]*)\)")
        self._link = re.compile(rf"(?<![!\\])\[(?P<text>{text})\]\({prefix}(?P<target>[^)\s]*)\)")
        self._wheel = re.compile(rf"{prefix}(?={WHEELS}/)")

    def source(self, text: str) -> str:
        """Give a cell's source with its links as they are right in the archive."""
        moved = self._link.sub(self._moved, self._picture.sub(self._shown, text))
        return self._wheel.sub("../" * self.path.count("/"), moved)

    def _shown(self, picture: re.Match[str]) -> str:
        file = self._out / unquote(picture["target"])
        if not file.is_file():
            return picture[0]
        self.pictures[f"{_FIGURES}/{file.name}"] = file.read_bytes()
        return f"![{picture['text']}]({self._relative(f'{_FIGURES}/{quote(file.name)}')})"

    def _moved(self, link: re.Match[str]) -> str:
        page = re.split(r"[?#]", link["target"])[0].removesuffix(".html").rstrip("/") or "index"
        # A notebook links to its own page for what it has not itself.
        if page in self._names and f"{page}.ipynb" != self.path:
            return f"[{link['text']}]({self._relative(f'{page}.ipynb')})"
        return link[0] if self._site else link["text"]

    def _relative(self, path: str) -> str:
        return posixpath.relpath(path, posixpath.dirname(self.path) or ".")


def _packed(folder: str, members: Mapping[str, bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(members):
            entry = zipfile.ZipInfo(f"{folder}/{name}", _MOMENT)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, members[name], zipfile.ZIP_DEFLATED)
    return content.getvalue()
