"""Guards the one place that touches sphinx-design (``polybook/tabs.py``): our nodes are those of its directives."""

from __future__ import annotations

from importlib.metadata import version

from books import Book
from bs4 import Tag


def test_version_is_the_one_that_was_read():
    """The nodes were copied from sphinx-design 0.8; another version has to be read first."""
    assert version("sphinx-design").startswith("0.8.")


def shape(element: Tag, depth: int) -> list[object]:
    """The elements of a tab set: names, classes and attribute names, contents left out."""
    children = [shape(child, depth - 1) for child in element.find_all(recursive=False)] if depth else []
    classes = sorted(set(element.get("class", [])) - {"polybook-tabs"})
    return [element.name, classes, sorted(set(element.attrs) - {"class"}), children]


def test_tab_set_of_cells_has_the_markup_of_an_authored_one(minibook: Book):
    """Both kinds of tab set differ in nothing but their content."""
    tab_sets = minibook.article("first").find_all("div", class_="sd-tab-set")
    ours, authored = tab_sets[0], tab_sets[1]

    assert "polybook-tabs" in ours["class"]
    assert "polybook-tabs" not in authored["class"]
    assert shape(ours, 1) == shape(authored, 1)
