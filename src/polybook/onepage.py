"""Reduce a page's tree to what it says for one framework: its panels, its first run, both readings of its claims.

For notebooks, where nobody can choose. Works on a copy of what Sphinx read, before references are resolved, so that
the text of a claim that a page does not show has its references resolved as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from docutils import nodes
from sphinx import addnodes

from polybook.quotes import READING_KEY, VALUE_KEY, ClaimNode, OtherwiseNode, QuotedValue, Reading
from polybook.tabs import OnlyChoice, OtherRun, keep_panels, unfold

#: Classes of what tells about the site's runs, or belongs to a page only.
_OF_THE_SITE = {"polybook-run-line", "polybook-card", "polybook-switch", "toctree-wrapper", "polybook-page-only"}
_NO_FIGURE = "none"
#: How what is on the site is said, and the other text led in.
_LEADS = {
    True: ("It holds on the site.", "Where it does not hold:"),
    False: ("It does not hold on the site.", "Where it holds:"),
    None: ("It was not tried on the site.", "Where it holds:"),
}
_DROPPED = (OtherRun, OnlyChoice, addnodes.toctree, addnodes.index, nodes.comment, nodes.system_message)


class CheckNode(nodes.General, nodes.Element):
    """Stands where a reader's own figures can be compared with the site's; has a ``Check``."""

    @property
    def check(self) -> Check:
        """What is compared."""
        found: Check = self["check"]
        return found


@dataclass(frozen=True)
class Check:
    """What a notebook asks of a claim.

    Attributes:
        name: The claim's name.
        holds: Whether it holds on the site; None if it was not tried there.
        figures: The site's figures that its texts quote, by name; what the site's run has not reads as such.
    """

    name: str
    holds: bool | None
    figures: Mapping[str, str]


def one_page(document: nodes.document, framework: str, values: Mapping[str, str]) -> nodes.document:
    """Give what a page says for one framework.

    Args:
        document: The page's tree, as Sphinx read it; it is used up.
        framework: The framework's name.
        values: How the values of the framework's first run read, by name.

    Returns:
        The tree, with no tab set of frameworks and no claim in it: each claim is its two readings, one after the
        other, and a ``CheckNode``.
    """
    for node in [*document.findall(lambda node: isinstance(node, _DROPPED) or _is_of_the_site(node))]:
        if node.parent is not None:
            node.parent.remove(node)
    keep_panels(document, framework)
    for shown in [node for node in document.findall(nodes.container) if READING_KEY in node]:
        shown.replace_self(_both_readings(shown, framework, values))
    for claim in [*document.findall(ClaimNode)]:
        claim.replace_self(_unsettled(claim))
    for quoted in [*document.findall(QuotedValue)]:
        quoted.replace_self(_named(quoted["name"], framework))
    unfold(document)
    return document


def _is_of_the_site(node: nodes.Node) -> bool:
    if not isinstance(node, nodes.Element):
        return False
    if node.get("nb_element") == "cell_code_output":
        return True
    # A dropdown's classes are those of its title and body, and of what holds them.
    return bool(_OF_THE_SITE & {*node["classes"], *node.get("container_classes", ())})


def _both_readings(claim: nodes.container, framework: str, values: Mapping[str, str]) -> list[nodes.Node]:
    reading: Reading = claim[READING_KEY]
    unshown = reading.unshown.deepcopy()
    for node in unshown.findall(QuotedValue):
        node["name"] = _with_owner(node, reading.framework)
    unfilled = (node["name"].removeprefix(f"{framework}.") for node in unshown.findall(QuotedValue))
    quoted = {*_quoted(claim, framework), *unfilled}
    # What only another machine can measure is the reader's to see; another framework's has its name in front.
    figures = {name: values.get(name, _NO_FIGURE) for name in sorted(quoted) if "." not in name}
    for value in claim.findall(nodes.inline):
        # The lead says whose figures these are.
        value.attributes.pop(VALUE_KEY, None)
    leads = _LEADS[reading.holds]
    both = [*_led(leads[0], claim.children), *_led(leads[1], unshown.children)]
    if reading.framework == framework:
        both.append(CheckNode(check=Check(reading.name, reading.holds, figures)))
    return both


def _quoted(claim: nodes.Element, framework: str) -> set[str]:
    found = (node.get(VALUE_KEY, ("", "")) for node in claim.findall(nodes.inline))
    return {name for owner, name in found if owner == framework}


def _with_owner(node: QuotedValue, owner: str) -> str:
    """Give a value's name with whose it is: of the claim that it stands in, if neither says otherwise."""
    name = str(node["name"])
    if "." in name:
        return name
    parent: nodes.Element | None = node.parent
    while parent is not None:
        if isinstance(parent, ClaimNode) and "." in parent["name"]:
            owner = parent["name"].partition(".")[0]
            break
        parent = parent.parent
    return f"{owner}.{name}"


def _unsettled(claim: ClaimNode) -> list[nodes.Node]:
    """Give both texts of a claim inside of a text that was not shown: nobody knows which of them holds."""
    otherwise = [node for node in claim.children if isinstance(node, OtherwiseNode)]
    text = [node for node in claim.children if not isinstance(node, OtherwiseNode)]
    return [
        *_led("Where it holds:", text),
        *_led("Where it does not hold:", otherwise[0].children if otherwise else []),
    ]


def _led(lead: str, content: list[nodes.Node]) -> list[nodes.Node]:
    """Begin a text with words in bold, in its first paragraph if it begins with one."""
    words = nodes.strong(lead, lead)
    if content and isinstance(content[0], nodes.paragraph):
        content[0].insert(0, [words, nodes.Text(" ")])
        return content
    return [nodes.paragraph("", "", words), *content]


def _named(name: str, framework: str) -> nodes.literal:
    """Write a value that the reader's own run gives as its name."""
    name = name.removeprefix(f"{framework}.")
    return nodes.literal(name, name)
