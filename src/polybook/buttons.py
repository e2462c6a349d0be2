"""Offer a page's notebooks below its title: a tab a framework, so that the links follow the choice of the reader.

A tab set like any other: it remembers, it works without a script, and the other framework is a click away.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.util.osutil import relative_uri

from polybook.archive import archive_path
from polybook.notebook_options import NotebookOptions
from polybook.notebooks import notebook_path
from polybook.shown import shown_runs
from polybook.tabs import SYNC_GROUP, OnlyChoice, tab_set


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


class AddButtons(SphinxTransform):
    """Put the links to a page's notebooks below its title."""

    # After values and claims (210), whose tab sets must not be taken for this one; before targets are looked at (260).
    default_priority = 220

    #: Set on a subclass made for one Sphinx application.
    options: NotebookOptions

    def apply(self, **_: Any) -> None:
        """Add them to this document."""
        frameworks = shown_runs(self.env).get(self.env.docname, {})
        title = next(iter(self.document.findall(nodes.title)), None)
        if not frameworks or title is None or title.parent is None:
            return
        titles = {name: self.config.polybook_frameworks[name]["title"] for name in frameworks}
        panels: dict[str, list[nodes.Node]] = {
            name: [_links(self.options, self.env.docname, name, titles[name])] for name in frameworks
        }
        made = tab_set(panels, titles, list(frameworks))
        made["classes"].append("polybook-notebooks")
        title.parent.insert(title.parent.index(title) + 1, OnlyChoice("", made))


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
