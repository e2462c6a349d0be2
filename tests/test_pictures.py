"""Pictures that wait until a reader comes near them: which ones, and with their places kept free."""

from __future__ import annotations

from pathlib import Path

import pytest

from polybook.pictures import wait_for_reader

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="432pt" height="216pt" viewBox="0 0 432 216"/>'
FIRST = '<img src="_images/first.svg"/>'


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Two pictures that say how large they are, and one that does not."""
    texts = {"first.svg": SVG, "a b.svg": SVG, "shapeless.svg": SVG.replace('width="432pt" height="216pt" ', "")}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, "utf8")
    return {name: tmp_path / name for name in texts}


def test_all_but_the_first_wait(files: dict[str, Path]):
    """A picture further down waits, and its size in CSS pixels keeps its place free."""
    second = '<img alt="Two &gt; one" src="../_images/a%20b.svg" />'

    body = wait_for_reader(f"<p>{FIRST}{second}", files)

    sized = '<img loading="lazy" width="576" height="288" alt="Two &gt; one" src="../_images/a%20b.svg" />'
    assert body == f"<p>{FIRST}{sized}"


@pytest.mark.parametrize(
    "tag",
    [
        '<img src="_images/shapeless.svg"/>',
        '<img src="https://elsewhere.example/first.svg2"/>',
        '<img src="_images/missing.svg"/>',
        '<img src="_images/first.svg" style="width: 80%"/>',
        '<img src="_images/first.svg" height="20"/>',
        '<img src="_images/first.svg" loading="eager"/>',
        "<img/>",
    ],
)
def test_what_has_no_known_size_or_another_one_does_not(files: dict[str, Path], tag: str):
    """Text would move when it comes, or an author has decided."""
    assert wait_for_reader(FIRST + tag, files) == FIRST + tag
