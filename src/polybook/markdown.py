"""Write a piece of a page's tree as the Markdown of a notebook, which every front end renders alike.

Builds on sphinx-markdown-builder's translator. What a notebook cannot link to, or show, is written so that nothing
is lost: links within the site begin with ``SITE`` and are made addresses by ``notebooks.py``.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from typing import Any

from docutils import nodes
from sphinx.locale import admonitionlabels
from sphinx.util.math import wrap_displaymath
from sphinx_markdown_builder.contexts import (
    IndentContext,
    SubContext,
    SubContextParams,
    TableContext,
    TitleContext,
    WrappedContext,
)
from sphinx_markdown_builder.translator import MarkdownTranslator, pushing_context, pushing_status

from polybook.marks import Marked, Paragraph, code_span, escaped, fence_for, quoted
from polybook.onepage import Check, CheckNode
from polybook.quotes import VALUE_KEY

#: Stands for the address of the site's top folder.
SITE = "polybook-site:/"
#: What is said after a figure that was not measured by the reader.
_THE_SITES = " (on the site)"


class _Settings:
    """Sphinx's configuration with what the translator asks for, at its defaults.

    Its package would add it as an extension, and with that to the configuration of every book, which would build anew.
    """

    markdown_docinfo = markdown_anchor_sections = markdown_anchor_signatures = False
    markdown_http_base = markdown_flavor = ""
    markdown_bullet = "*"

    def __init__(self, config: Any) -> None:
        """Keep the book's own."""
        self._config = config

    def __getattr__(self, name: str) -> Any:
        """Give what is not set here."""
        return getattr(self._config, name)


class NotebookTranslator(MarkdownTranslator):  # type: ignore[misc]
    """Writes one piece of a page.

    Args:
        document: The document that the piece belongs to.
        builder: The builder that resolved its references.
        docname: The page.
        level: How many headings the piece stands below.
        query: What follows the address of a page of the site, such as ``?framework=mxnet``.

    Attributes:
        checks: The checks that stand in the piece, in order; cells of code, so that they come after it.
    """

    def __init__(self, document: nodes.document, builder: Any, docname: str, level: int, query: str = "") -> None:
        """Begin with nothing written."""
        super().__init__(document, builder)
        self.docname = docname
        self._query = query
        self.checks: list[Check] = []
        self._push_status(section_level=level)

    @property
    def config(self) -> Any:
        """The configuration, which Sphinx's translator sets when it is made."""
        return self._settings

    @config.setter
    def config(self, value: Any) -> None:
        """Set it."""
        self._settings = _Settings(value)

    # What cannot be written as it is.

    def unknown_visit(self, node: nodes.Node) -> None:
        """Go on with what is in it: of a node that nobody knows, the text is kept."""

    def unknown_departure(self, node: nodes.Node) -> None:
        """Nothing is to be closed."""

    def visit_target(self, node: nodes.Element) -> None:
        """Leave it out: a notebook's headings are its only targets."""
        raise nodes.SkipNode

    visit_comment = visit_index = visit_toctree = visit_system_message = visit_target
    #: Solutions stay where they are.
    visit_solution_node = visit_target

    def _add_anchor(self, anchor: str) -> None:
        """Add none, for the same reason."""

    def visit_raw(self, node: nodes.Element) -> None:
        """Keep what is HTML, except for scripts: no front end lets a notebook's prose run one."""
        if "html" not in node.get("format", "").split() or "<script" in node.astext():
            raise nodes.SkipNode
        # Its end must not end a line: what follows could be taken for a list or a heading there.
        self.add(node.astext().strip("\n"), prefix_eol=isinstance(node.parent, nodes.Structural), suffix_eol=0)
        raise nodes.SkipNode

    # Text.

    def visit_Text(self, node: nodes.Text) -> None:
        """Write a text on one line, and escape what a notebook would take for maths, HTML or a column."""
        text = node.astext().replace("\r", "")
        if not self.status.preserve_line_breaks:
            text = text.replace("\n", " ")
        if self.status.escape_text:
            text = self._in_table(escaped(text))
        self.add(text)

    def _in_table(self, text: str, bar: str = "\\|") -> str:
        return text.replace("|", bar) if self._is_in_table() else text

    def _is_in_table(self) -> bool:
        return any(isinstance(ctx, TableContext) for ctx in self._ctx_queue)

    @pushing_context
    def visit_paragraph(self, node: nodes.paragraph) -> None:
        """Begin a paragraph; in a list the next block sees to the empty line, if it needs one."""
        self._push_context(Paragraph(SubContextParams(2, 2 if self.status.list_marker is None else 1)))

    visit_compact_paragraph = visit_paragraph

    @pushing_context
    def visit_emphasis(self, node: nodes.Element) -> None:
        """Write it in italics."""
        self._push_context(Marked("*"))

    @pushing_context
    def visit_strong(self, node: nodes.Element) -> None:
        """Write it in bold."""
        self._push_context(Marked("**"))

    @pushing_context
    def visit_superscript(self, node: nodes.Element) -> None:
        """Write it raised; the translator's own writes it lowered."""
        self._push_context(WrappedContext("<sup>", "</sup>"))

    def visit_abbreviation(self, node: nodes.Element) -> None:
        """Go on."""

    def depart_abbreviation(self, node: nodes.Element) -> None:
        """Say what it stands for: a notebook shows nothing where a pointer rests."""
        if node.get("explanation"):
            self.add(f" ({escaped(node['explanation'])})")

    def visit_footnote_reference(self, node: nodes.Element) -> None:
        """Write a footnote's mark; few front ends link within a notebook."""
        self.add(f"<sup>{node.astext()}</sup>")
        raise nodes.SkipNode

    @pushing_context
    def visit_footnote(self, node: nodes.Element) -> None:
        """Begin a footnote with its mark."""
        self._push_context(SubContext(SubContextParams(2, 2)))
        label, *content = node.children
        node.remove(label)
        mark = nodes.superscript("", label.astext())
        if content and isinstance(content[0], nodes.paragraph):
            content[0].insert(0, [mark, nodes.Text(" ")])

    def visit_literal(self, node: nodes.literal) -> None:
        """Write code in a line."""
        self.add(self._code(node.astext()))
        raise nodes.SkipNode

    def _code(self, text: str) -> str:
        return code_span(self._in_table(text.replace("\n", " ")))

    def visit_inline(self, node: nodes.inline) -> None:
        """Go on."""

    def depart_inline(self, node: nodes.inline) -> None:
        """Say whose figure it is."""
        if VALUE_KEY in node:
            self.add(_THE_SITES)

    def visit_math(self, node: nodes.math) -> None:
        """Write a formula in a line."""
        # A bar ends a column, in some front ends within a formula as well.
        text = node.astext()
        text = self._in_table(text.replace("\\|", "\\Vert ") if self._is_in_table() else text, "\\vert ")
        self.add(f"${' '.join(text.split())}$")
        raise nodes.SkipNode

    def visit_math_block(self, node: nodes.math_block) -> None:
        """Write a formula by itself, with its number if it has one."""
        text = "\n".join(line for line in node.astext().splitlines() if line.strip())
        several = "\\\\" in text and not node.get("nowrap")
        wrapped = wrap_displaymath(text, None, numbering=False).strip() if several else text
        # On the page, too, what brings its own environment has no number.
        tag = f" \\tag{{{node['number']}}}" if node.get("number") and not node.get("nowrap") else ""
        body = wrapped.removeprefix("\\begin{equation*}").removesuffix("\\end{equation*}").strip()
        self.add(f"$$\n{body}{tag}\n$$", prefix_eol=2, suffix_eol=2)
        raise nodes.SkipNode

    # Links and pictures.

    @pushing_context
    def visit_reference(self, node: nodes.reference) -> None:
        """Link to another place, or to the page of the site."""
        self._push_context(WrappedContext("[", f"]({quoted(self._address(node))})"))

    def _address(self, node: nodes.Element) -> str:
        if "refid" in node:
            return self._from_here(f"#{node['refid']}")
        address = str(node.get("refuri", ""))
        if not node.get("internal") and "://" in address:
            return address
        return self._from_here(address) if "://" not in address and not address.startswith("mailto:") else address

    def _from_here(self, address: str) -> str:
        path, mark, anchor = address.partition("#")
        here = self.builder.get_target_uri(self.docname)
        joined = posixpath.normpath(posixpath.join(posixpath.dirname(here), path)) if path else here
        if joined == ".":
            return f"{SITE}{self._query}{mark}{anchor}"
        joined += "/" * (path.endswith("/") and not joined.endswith("/"))
        return f"{SITE}{joined}{self._query}{mark}{anchor}"

    @pushing_context
    def visit_download_reference(self, node: nodes.Element) -> None:
        """Link to the file in the site."""
        path = node.get("refuri") or f"{SITE}_downloads/{node.get('filename', '')}"
        self._push_context(WrappedContext("[", f"]({quoted(path)})"))

    def visit_image(self, node: nodes.image) -> None:
        """Show a picture from the site."""
        uri = node["uri"]
        if uri in self.builder.env.images:
            uri = f"{SITE}_images/{self.builder.env.images[uri][1]}"
        alone = isinstance(node.parent, nodes.Structural | nodes.figure | nodes.document)
        text = self._in_table(escaped(" ".join(node.get("alt", "").split())))
        self.add(f"![{text}]({quoted(uri)})", prefix_eol=2 * alone, suffix_eol=2 * alone)
        raise nodes.SkipNode

    @pushing_context
    def visit_caption(self, node: nodes.caption) -> None:
        """Write a caption with its number."""
        self._push_context(Marked("*", 2))
        is_code = any(isinstance(part, nodes.literal_block) for part in node.parent.children)
        self.add(self._numbered("code-block" if is_code else "figure", node.parent, " "))

    def _numbered(self, kind: str, node: nodes.Element, then: str = "") -> str:
        """Give what a figure, table or exercise is called, such as ``Figure 2``; an empty text if it has no number."""
        numbers = self.builder.env.toc_fignumbers.get(self.docname, {}).get(kind, {})
        found = next((numbers[name] for name in node["ids"] if name in numbers), None)
        if not found:
            return ""
        return str(self.config.numfig_format.get(kind, "%s") % ".".join(map(str, found))) + then

    # Blocks.

    @pushing_context
    def visit_title(self, node: nodes.title) -> None:
        """Write a heading, or what stands above a table or a box, in bold."""
        if isinstance(node.parent, nodes.section):
            self._push_context(TitleContext(self.status.section_level))
        elif isinstance(node.parent, nodes.table):
            self._push_context(Marked("**", 2))
            self.add(self._numbered("table", node.parent, " "))
        else:
            self._push_context(Marked("**", 2))

    @pushing_context
    def visit_rubric(self, node: nodes.rubric) -> None:
        """Write a heading that is none, in bold."""
        self._push_context(Marked("**", 2))

    @pushing_status
    def visit_section(self, node: nodes.section) -> None:
        """Go a level down, unless it is a part of an exercise."""
        inside = isinstance(node.parent, nodes.Admonition)
        self._push_status(section_level=self.status.section_level + (not inside))

    @pushing_context
    def visit_admonition(self, node: nodes.Element) -> None:
        """Write a box as a quotation."""
        self._push_context(IndentContext("> ", empty=True, params=SubContextParams(2, 2)))

    visit_block_quote = visit_versionmodified = visit_admonition

    def visit_attribution(self, node: nodes.Element) -> None:
        """Begin the name of whom is quoted."""
        self.add("— ", prefix_eol=2)

    def _push_box(self, title: str) -> None:
        """Begin a box of one of the standard kinds."""
        label = admonitionlabels.get(title.lower().replace(" ", ""), title.capitalize())
        self._push_context(IndentContext("> ", empty=True, params=SubContextParams(2, 2)))
        self.add(f"**{label}**", suffix_eol=2)

    @pushing_context
    def visit_topic(self, node: nodes.Element) -> None:
        """Write it as a box."""
        self.visit_admonition(node)

    visit_sidebar = visit_topic

    def visit_exercise_node(self, node: nodes.Element) -> None:
        """Begin an exercise with its number and its name."""
        title = node.children[0]
        number = self._numbered("exercise", node) or "Exercise"
        name = escaped(title.astext().strip().removeprefix("Exercise").strip())
        self.add(f"**{number}{' ' if name else ''}{name}**", prefix_eol=2, suffix_eol=2)
        node.remove(title)

    visit_exercise_enumerable_node = visit_exercise_node

    def visit_Unfolded(self, node: nodes.Element) -> None:
        """Begin what a click unfolds."""
        title = node.children[0].astext().replace("&", "&amp;").replace("<", "&lt;")
        # Of HTML tags each front end lets these through; Markdown inside needs the empty lines.
        self.add(f"<details>\n<summary>{title}</summary>", prefix_eol=2, suffix_eol=2)
        node.remove(node.children[0])

    def depart_Unfolded(self, node: nodes.Element) -> None:
        """End it."""
        self.add("</details>", prefix_eol=2, suffix_eol=2)

    @pushing_context
    def visit_term(self, node: nodes.Element) -> None:
        """Write what is defined, in bold."""
        self._push_context(Marked("**", 2))

    @pushing_context
    def visit_definition(self, node: nodes.Element) -> None:
        """Write a definition as a quotation."""
        self._push_context(IndentContext("> ", empty=True, params=SubContextParams(2, 2)))

    def visit_literal_block(self, node: nodes.literal_block) -> None:
        """Write code that is shown only, fenced."""
        language = node.get("language", "")
        language = {"ipython3": "python", "default": "", "none": ""}.get(language, language)
        code = node.astext().strip("\n")
        if self._is_in_table():
            # A row is one line.
            self.add("<br/>".join(self._code(line) for line in code.splitlines() if line.strip()), 1, 1)
            raise nodes.SkipNode
        fence = fence_for(code)
        self.add(f"{fence}{language}\n{code}\n{fence}", prefix_eol=2, suffix_eol=2)
        raise nodes.SkipNode

    def visit_enumerated_list(self, node: nodes.Element) -> None:
        """Begin a list at its own first number."""
        self._start_list(node.get("start", 1) - 1)

    def visit_CheckNode(self, node: CheckNode) -> None:
        """Keep it for the cell that follows."""
        self.checks.append(node.check)
        raise nodes.SkipNode


def written(node: nodes.Node, translator: Callable[[], NotebookTranslator]) -> tuple[str, list[Check]]:
    """Write a piece of a page.

    Args:
        node: The piece; it is used up.
        translator: Makes a translator.

    Returns:
        Its Markdown, and the checks that stand in it.
    """
    made = translator()
    node.walkabout(made)
    made._pop_context(count=2**31)
    text = "\n".join(line.rstrip() for line in made.ctx.make().split("\n"))
    return text.strip("\n"), made.checks
