"""Let prose quote what the page's own runs have recorded: the ``{value}`` role and the ``{claim}`` directive.

A page is read again whenever its runs change, so that this is settled when it is read. What prose names and no cell has
recorded is a failure with page and line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective, SphinxRole

from polybook.errors import Failure
from polybook.shown import ShownRun, ShownVariant, kept, shown_runs
from polybook.tabs import choice_of_runs, framework_of, tab_set, unnumbered

_NAME = re.compile(r"(?:(?P<framework>[a-z][a-z0-9_-]*)\.)?(?P<name>[a-z][a-z0-9_]*)")
#: Shown for a value of a framework whose cells were not run.
_NOT_RUN = "(not run)"


#: Where the text of a value says whose it is: ``(framework, name)``.
VALUE_KEY = "polybook_value"
#: Where the container of a claim keeps its ``Reading``.
READING_KEY = "polybook_reading"


@dataclass(frozen=True)
class Reading:
    """What is known of a claim whose text, or explanation, a page shows.

    Attributes:
        name: The claim's name.
        framework: Whose claim it is.
        holds: Whether it holds in the run that is shown, and so which of the two is shown; None if it was not tried
            there, which shows the explanation.
        unshown: The other one, its quotes unfilled.
    """

    name: str
    framework: str
    holds: bool | None
    unshown: nodes.container


class QuotedValue(nodes.Inline, nodes.Element):
    """Stands for a recorded value."""


class ClaimNode(nodes.General, nodes.Element):
    """Holds the text of a claim and, in an ``OtherwiseNode``, the explanation for where it does not hold."""


class OtherwiseNode(nodes.General, nodes.Element):
    """Holds what is said where a claim does not hold, or was not tried."""


class ValueRole(SphinxRole):
    """Quote a recorded value: ``{value}`speedup```, or ``{value}`mxnet.speedup``` outside of that framework's tab."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Leave a node in its place."""
        node = QuotedValue(self.rawtext, name=self.text.strip())
        self.set_source_info(node)
        return [node], []


class GivenRole(SphinxRole):
    """Write a figure that was chosen, not measured, such as ``{given}`50 ms```; it is shown as it stands."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Give the text."""
        return [nodes.inline(self.rawtext, self.text)], []


class ClaimDirective(SphinxDirective):
    """Say something that a run may bear out or not.

    Its text is shown where the claim of that name holds; the explanation, in an ``{otherwise}`` directive inside, where
    it does not or was not tried.
    """

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Leave a node in its place."""
        node = ClaimNode(name=self.arguments[0])
        self.set_source_info(node)
        node += self.parse_content_to_nodes()
        return [node]


class OtherwiseDirective(SphinxDirective):
    """Explain why a claim does not hold, or was not tried, on the machine that the page was made on."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Leave a node in its place."""
        node = OtherwiseNode()
        self.set_source_info(node)
        node += self.parse_content_to_nodes()
        return [node]


class FillQuotes(SphinxTransform):
    """Put what was recorded in place of the nodes that stand for it."""

    # After cells are in their tabs (200), before docutils looks at targets (260).
    default_priority = 210

    def apply(self, **_: Any) -> None:
        """Fill this document."""
        variants = shown_runs(self.env).get(self.env.docname, {})
        if self.env.docname in kept(self.env).unusable:
            # What is wrong with the page has been told; what it quotes is not known.
            for node in [*_outermost(self.document), *self.document.findall(QuotedValue)]:
                node.replace_self([])
            return
        filler = _Filler(
            variants, self._fail, {n: entry["title"] for n, entry in self.config.polybook_frameworks.items()}
        )
        for claim in _outermost(self.document):
            claim.replace_self(filler.claim(claim))
        for value in list(self.document.findall(QuotedValue)):
            value.replace_self(filler.value(value))
        for stray in list(self.document.findall(OtherwiseNode)):
            self._fail(stray, "", "`{otherwise}` stands outside of a claim.", "Put it at the end of a `{claim}`.")
            stray.replace_self([])

    def _fail(self, node: nodes.Element, framework: str, what: str, remedy: str) -> None:
        source, line = node.source or self.env.doc2path(self.env.docname), node.line or 0
        path = os.path.relpath(source, self.env.srcdir)
        kept(self.env).failures.setdefault(self.env.docname, []).append(Failure(path, line, framework, what, remedy))


Fail = Callable[[nodes.Element, str, str, str], None]


class _Filler:
    """Fills the quotes of one page.

    Args:
        variants: What the page shows, by framework.
        fail: Notes what is wrong with a node: framework, what, remedy.
        titles: The frameworks' titles.
    """

    def __init__(self, variants: dict[str, ShownVariant], fail: Fail, titles: dict[str, str]) -> None:
        self._variants = variants
        self._fail = fail
        self._titles = titles

    def value(self, node: QuotedValue, owner: str = "") -> list[nodes.Node]:
        """Give what stands for a value: its text, or one text a run where a reader can choose.

        Args:
            node: What stands there.
            owner: The framework, where its surroundings say so.
        """
        if _inside(node, nodes.title):
            self._fail(
                node, "", "a value stands in a heading, which is repeated where no run can be chosen.",
                "Quote it in the text below.",
            )  # fmt: skip
            return []
        framework = self._framework(node, owner)
        return self._each_run(framework, lambda run: self._value_of(node, framework, run)) if framework else []

    def claim(self, node: ClaimNode, owner: str = "") -> list[nodes.Node]:
        """Give what stands for a claim; in running text that is a panel for each framework that makes it.

        Args:
            node: What stands there.
            owner: The framework, where its surroundings say so.
        """
        name, named = self._parse(node)
        if not name:
            return []
        if named or owner or framework_of(node) or len(self._variants) == 1:
            framework = self._framework(node, owner)
            return self._claim_in(node, framework) if framework else []
        makers = [
            framework
            for framework, variant in self._variants.items()
            if any(name in run.claims_by_name for run in variant.runs)
        ]
        if not makers:
            return self._claim_in(node, next(iter(self._variants), ""))
        spare = node.deepcopy()
        panels = {makers[0]: self._claim_in(node, makers[0])}
        for framework in makers[1:]:
            panels[framework] = self._claim_in(spare.deepcopy(), framework)
            unnumbered(panels[framework])
        return [tab_set(panels, self._titles, list(self._variants))]

    def _claim_in(self, node: ClaimNode, framework: str) -> list[nodes.Node]:
        if not framework:
            remedy = "Move it to the page whose cells make it."
            self._fail(node, "", "a claim stands on a page that declares no frameworks.", remedy)
            return []
        # What is shown first keeps the nodes themselves, and with them labels and numbers; the others are copies.
        spare = node.deepcopy()
        originals = [node]

        def side(run: ShownRun | None) -> list[nodes.Node]:
            if originals:
                return self._side(originals.pop(), framework, run)
            reading = self._side(spare.deepcopy(), framework, run)
            unnumbered(reading)
            return reading

        return self._each_run(framework, side)

    def _each_run(self, framework: str, give: Callable[[ShownRun | None], list[nodes.Node]]) -> list[nodes.Node]:
        runs = self._variants[framework].runs
        if not runs:
            return give(None)
        return choice_of_runs([give(run) for run in runs], framework, [run.label for run in runs])

    def _side(self, node: ClaimNode, framework: str, run: ShownRun | None) -> list[nodes.Node]:
        """Give the text of a claim, or its explanation, as it reads for one run; uses up the node."""
        explanations = [child for child in node.children if isinstance(child, OtherwiseNode)]
        if len(explanations) != 1:
            count = len(explanations) or "no"
            self._fail(
                node, "", f"claim {node['name']!r} has {count} `{{otherwise}}`; it has to have one.",
                "Say in `{otherwise}`, inside of the claim, what a reader should know where it does not hold.",
            )  # fmt: skip
            return []
        if run is None:
            return []
        name, _ = self._parse(node)
        claim = run.claims_by_name.get(name)
        if claim is None:
            self._missing(node, framework, run, "claim", run.claims_by_name)
            return []
        text = [child for child in node.children if not isinstance(child, OtherwiseNode)]
        mark = "polybook-holds" if claim.holds else "polybook-does-not-hold"
        side = nodes.container(classes=["polybook-claim", mark])
        shown, unshown = (text, explanations[0].children)[:: 1 if claim.holds else -1]
        side += shown
        # No child: nothing that looks at the page, such as the search, may find it.
        side[READING_KEY] = Reading(name, framework, claim.holds, nodes.container("", *unshown))
        for inner in _outermost(side):
            owner = self._parse(inner)[1] or framework_of(inner) or framework
            inner.replace_self(self._side(inner, framework, run) if owner == framework else self.claim(inner, owner))
        for value in list(side.findall(QuotedValue)):
            owner = self._parse(value)[1] or framework_of(value) or framework
            value.replace_self(
                self._value_of(value, framework, run) if owner == framework else self.value(value, owner)
            )
        return [side]

    def _value_of(self, node: QuotedValue, framework: str, run: ShownRun | None) -> list[nodes.Node]:
        name, _ = self._parse(node)
        if run is None:
            return [nodes.Text(_NOT_RUN)]
        if name not in run.values:
            self._missing(node, framework, run, "value", run.values)
            return []
        text = run.values[name]
        return [nodes.inline(text, text, classes=["polybook-value"], **{VALUE_KEY: (framework, name)})]

    def _framework(self, node: nodes.Element, owner: str) -> str:
        """Find out whose fact a node names; an empty text, and a failure, if that is open."""
        name, named = self._parse(node)
        if not name:
            return ""
        framework = (
            named or owner or framework_of(node) or (next(iter(self._variants)) if len(self._variants) == 1 else "")
        )
        if framework and framework in self._variants:
            return framework
        if framework or not self._variants:
            self._unknown(node, framework)
        else:
            self._fail(
                node, "", f"{name!r} stands in running text, where it is open whose it is.",
                f"Name the framework in front: {', '.join(f'`{known}.{name}`' for known in self._variants)}.",
            )  # fmt: skip
        return ""

    def _parse(self, node: nodes.Element) -> tuple[str, str]:
        match = _NAME.fullmatch(node["name"])
        if not match:
            self._fail(
                node, "", f"{node['name']!r} is no name of a value or claim.",
                "Use lower-case letters, digits and underscores; the framework may stand in front: `mxnet.speedup`.",
            )  # fmt: skip
            return "", ""
        return match["name"], match["framework"] or ""

    def _unknown(self, node: nodes.Element, framework: str) -> None:
        if not self._variants:
            self._fail(
                node, "", f"{node['name']!r} is quoted on a page that declares no frameworks.",
                "Another page's value is quoted by {glue:text}`page.md::pytorch.name:`.",
            )  # fmt: skip
            return
        known = ", ".join(self._variants) or "none"
        self._fail(
            node, framework, f"{node['name']!r} names a framework that this page does not declare (known: {known}).",
            "Correct the name; another page's value is quoted by {glue:text}`page.md::pytorch.name:`.",
        )  # fmt: skip

    def _missing(self, node: nodes.Element, framework: str, run: ShownRun, kind: str, known: Iterable[str]) -> None:
        name, _ = self._parse(node)
        which = f" in the run {run.label}" if len(self._variants[framework].runs) > 1 else ""
        recorded = ", ".join(sorted(known)) or "none"
        self._fail(
            node, framework, f"no cell records the {kind} {name!r}{which} (recorded: {recorded}).",
            f"Correct the name, or record the {kind} in a cell of that framework.",
        )  # fmt: skip


def _outermost(top: nodes.Element) -> list[ClaimNode]:
    """List the claims below a node that are in no other claim."""
    return [claim for claim in top.findall(ClaimNode) if not _inside(claim, ClaimNode)]


def _inside(node: nodes.Node, kind: type[nodes.Element]) -> bool:
    parent = node.parent
    while parent is not None and not isinstance(parent, kind):
        parent = parent.parent
    return parent is not None
