"""Offer the choice of a framework below a page's title, and there the page's notebooks, which follow the choice.

A tab set like any other: it remembers, it works without a script, and the other framework is a click away. A page
without notebooks gets one if several tab sets on it follow the choice. The
``{polybook-notebooks}`` directive puts those of another page elsewhere, such as into a list of exercises.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.util.osutil import relative_uri

from polybook.archive import archive_path
from polybook.notebook_options import NotebookOptions
from polybook.notebooks import notebook_path
from polybook.outputs import OutputsNode
from polybook.shown import shown_runs
from polybook.tabs import SYNC_GROUP, OnlyChoice, panels_of, tab_set

logger = logging.getLogger(__name__)

_SEVERAL = 2


class SiteLink(nodes.General, nodes.Inline, nodes.TextElement):
    """A link to a file or page of the site, or to a service; where it leads is known when a page is written."""


def visit_site_link(translator: Any, node: SiteLink) -> None:
    """Open the link."""
    address = node["address"]
    if not address:
        here = translator.builder.get_target_uri(translator.builder.current_docname)
        page = node.get("page", "")
        target = translator.builder.get_target_uri(page) if page else node["file"]
        address = relative_uri(here, target) + node.get("after", "")
    attributes = {"href": address, "CLASS": "polybook-open", "title": node["title"]}
    if node.get("file"):
        # Else a browser shows the notebook's source.
        attributes["download"] = ""
    translator.body.append(translator.starttag(node, "a", "", **attributes))


def depart_site_link(translator: Any, _node: SiteLink) -> None:
    """Close it."""
    translator.body.append("</a>")


class NotebooksNode(nodes.General, nodes.Element):
    """Stands for the links to another page's notebooks until all pages have been read."""


class NotebooksDirective(SphinxDirective):
    """Put the links to another page's notebooks here: ``{polybook-notebooks} exercises/bound-the-queue/exercise``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Leave a node in their place; nothing in a book that exports no notebooks."""
        page = self.arguments[0]
        if page not in self.env.found_docs:
            raise self.error(f"{page!r} is no page of this book. Name one of _toc.yml as it stands there.")
        if not self.config.polybook_notebooks:
            return []
        # Its frameworks are settings in its source.
        self.env.note_dependency(self.env.doc2path(page))
        node = NotebooksNode(page=page)
        self.set_source_info(node)
        return [node]


class AddButtons(SphinxTransform):
    """Put the choice of a framework, with the links to the page's notebooks, below its title."""

    # After values and claims (210), whose tab sets must not be taken for this one; before targets are looked at (260).
    default_priority = 220

    #: Set on a subclass made for one Sphinx application.
    options: NotebookOptions

    def apply(self, **_: Any) -> None:
        """Add them to this document."""
        title = next(iter(self.document.findall(nodes.title)), None)
        if title is not None and title.parent is not None:
            made = _buttons(self, self.options, self.env.docname) or _choice(self)
            title.parent.insert(title.parent.index(title) + 1, made)


class FillNotebooks(SphinxPostTransform):
    """Put the links to other pages' notebooks in place of their nodes."""

    # Before sphinx-design makes its tabs for HTML (200).
    default_priority = 190

    #: Set on a subclass made for one Sphinx application.
    options: NotebookOptions

    def run(self, **_: Any) -> None:
        """Fill those of this page."""
        for node in [*self.document.findall(NotebooksNode)]:
            made = _buttons(self, self.options, node["page"])
            if not made:
                text = "the page %r has no notebooks: it declares no frameworks."
                logger.warning(text, node["page"], type="polybook", subtype="notebooks", location=node)
            node.replace_self(made)


def _buttons(transform: SphinxTransform, options: NotebookOptions, page: str) -> list[nodes.Node]:
    """Make the tab set of a page's links; none if it has no framework."""
    frameworks = shown_runs(transform.env).get(page, {})
    if not frameworks:
        return []
    titles = {name: transform.config.polybook_frameworks[name]["title"] for name in frameworks}
    panels: dict[str, list[nodes.Node]] = {name: [_links(options, page, name, titles[name])] for name in frameworks}
    made = tab_set(panels, titles, list(frameworks))
    made["classes"].append("polybook-notebooks")
    return [OnlyChoice("", made)]


def _choice(transform: AddButtons) -> list[nodes.Node]:
    """Make a choice alone; none if the page has less than two places where it would change anything."""
    titles = {name: entry["title"] for name, entry in transform.config.polybook_frameworks.items()}
    places = [node for node in transform.document.findall(nodes.Element) if _follows_choice(node)]
    if len(places) < _SEVERAL:
        return []
    made = tab_set({name: [] for name in titles}, titles, list(titles))
    made["classes"] += ["polybook-notebooks", "polybook-choice-alone"]
    return [OnlyChoice("", made)]


def _follows_choice(node: nodes.Element) -> bool:
    """Tell whether something shows another framework's part when a reader chooses one."""
    return isinstance(node, NotebooksNode | OutputsNode) or len(panels_of(node)) >= _SEVERAL


def _links(options: NotebookOptions, docname: str, framework: str, title: str) -> nodes.paragraph:
    """Give the links to one framework's notebook."""
    path = notebook_path(docname, framework)
    links = [
        _link(launch.title, f"Open the notebook with {title} in {launch.title}", options.launch_address(launch, path))
        for launch in options.launch
    ]
    links.append(_link("Download", f"Download the notebook with {title}", file=path))
    if options.local:
        page, mark, place = options.local.partition("#")
        after = f"?{SYNC_GROUP}={framework}{mark}{place}"
        links.append(_link("Open locally", f"How to run it with {title} on your machine", page=page, after=after))
    links.append(_link("All as zip", f"Download all notebooks with {title}", file=archive_path(framework)))
    lead = "Open in" if options.launch else "Notebook"
    paragraph = nodes.paragraph(classes=["polybook-open-links"])
    paragraph += [nodes.inline(lead, lead), nodes.Text(" ")]
    for link in links:
        # A space between them, where no style sheet makes buttons of them.
        paragraph += [link, nodes.Text(" ")]
    return paragraph


def _link(text: str, title: str, address: str = "", **place: str) -> SiteLink:
    return SiteLink("", text, address=address, title=title, **place)
