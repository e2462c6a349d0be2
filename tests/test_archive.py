"""The archive of a framework's notebooks: what is in it, where its links lead, and when it changes."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import nbformat
import pytest

from polybook.archive import archive_path, write_archive

SITE = "https://some.example/book/"


def put(out: Path, page: str, text: str, code: str = "x = 1") -> None:
    """Put a notebook into a site."""
    path = out / "notebooks" / "mxnet" / f"{page}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    cells = [nbformat.v4.new_markdown_cell(text, id="a"), nbformat.v4.new_code_cell(code, id="b")]
    path.write_text(nbformat.writes(nbformat.v4.new_notebook(cells=cells)), "utf8")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A site of a page, one in a folder, a picture and a wheel."""
    for name in ("_images/dot (1).png", "_images/other.png", "wheels/lab-1-py3-none-any.whl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(name.encode())
    put(tmp_path, "other", "# Other")
    return tmp_path


def packed(out: Path, site: str = "") -> zipfile.ZipFile:
    """The archive of the site as it is now."""
    write_archive(out, "mxnet", "MXNet", "The book", site)
    return zipfile.ZipFile(io.BytesIO((out / archive_path("mxnet")).read_bytes()))


def cells(archive: zipfile.ZipFile, page: str) -> list[str]:
    """The cells of a notebook in it."""
    made = nbformat.reads(archive.read(f"notebooks-mxnet/{page}.ipynb").decode(), as_version=4)
    nbformat.validate(made)
    return [cell["source"] for cell in made["cells"]]


@pytest.mark.parametrize("site", ["", SITE])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a]({}other.html?framework=mxnet#b)", "[a](../other.ipynb)"),
        ("[a `x[0]` b]({}other.html)", "[a `x[0]` b](../other.ipynb)"),
        (r"[a \[b\]]({}other/?framework=mxnet)", r"[a \[b\]](../other.ipynb)"),
        ("[a](https://else.example/other.html)", "[a](https://else.example/other.html)"),
        ("![d]({}_images/dot%20%281%29.png)", "![d](../figures/dot%20%281%29.png)"),
        ("[![d]({}_images/other.png)]({}other.html)", "[![d](../figures/other.png)](../other.ipynb)"),
    ],
)
def test_what_is_in_the_archive_is_linked_there(out: Path, site: str, text: str, expected: str):
    """Other notebooks and pictures, seen from the notebook, whether or not the site's address is known."""
    put(out, "deep/page", text.replace("{}", site or "../../../"))

    with packed(out, site) as archive:
        assert cells(archive, "deep/page")[0] == expected


@pytest.mark.parametrize(
    "target", ["gone.html?framework=mxnet", "page.html?framework=mxnet", "page.html#fig", "_downloads/x"]
)
def test_what_only_the_site_has_is_linked_there_or_not_at_all(out: Path, target: str):
    """Its own page is such a thing: a link from a notebook to itself would lead nowhere."""
    found = []
    for site in (SITE, ""):
        put(out, "page", f"See [`x` and *y*]({site or '../../'}{target}).")
        with packed(out, site) as archive:
            found.append(cells(archive, "page")[0])

    assert found == [f"See [`x` and *y*]({SITE}{target}).", "See `x` and *y*."]


def test_a_picture_that_is_not_there_stays_a_link(out: Path):
    """Such as one that the author named by the address of the site."""
    put(out, "page", f"![x]({SITE}_images/gone.png)")

    with packed(out, SITE) as archive:
        assert cells(archive, "page")[0] == f"![x]({SITE}_images/gone.png)"


@pytest.mark.parametrize("site", ["", SITE])
def test_the_first_cell_finds_the_wheel_beside_it(out: Path, site: str):
    """From each depth; other code stays as it is."""
    code = 'install("{}wheels/lab-1-py3-none-any.whl", "wheels/other")'
    put(out, "page", "# T", code.format(site or "../../"))
    put(out, "deep/page", "# T", code.format(site or "../../../"))

    with packed(out, site) as archive:
        assert cells(archive, "page")[1] == code.format("")
        assert cells(archive, "deep/page")[1] == code.format("../")
        assert archive.read("notebooks-mxnet/wheels/lab-1-py3-none-any.whl") == b"wheels/lab-1-py3-none-any.whl"
        assert "The book" in archive.read("notebooks-mxnet/README.txt").decode()


def test_the_same_content_gives_the_same_bytes(out: Path):
    """Written again only where something in it has changed."""
    first = packed(out).fp.read()  # type: ignore[union-attr]
    path = out / archive_path("mxnet")
    before = path.stat().st_mtime_ns
    write_archive(out, "mxnet", "MXNet", "The book", "")
    untouched = path.stat().st_mtime_ns
    path.unlink()

    again = packed(out).fp.read()  # type: ignore[union-attr]

    assert (before, first) == (untouched, again)


def test_an_archive_goes_with_the_last_notebook(out: Path):
    """Nobody is offered an empty one."""
    packed(out).close()
    (out / "notebooks" / "mxnet" / "other.ipynb").unlink()

    write_archive(out, "mxnet", "MXNet", "The book", "")

    assert not (out / archive_path("mxnet")).exists()
