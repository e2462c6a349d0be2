"""Guards the one place that touches MyST-NB (``polybook/parser.py``): what it relies on is still there."""

from __future__ import annotations

import inspect
from importlib.metadata import version

from myst_nb import sphinx_
from myst_nb.core.execute import NotebookClientBase, create_client
from myst_nb.core.read import NbReader, create_nb_reader
from nbformat import NotebookNode

from polybook import parser


def test_version_is_the_one_that_was_read():
    """The parser was written against MyST-NB 1.4; another version has to be read first."""
    assert version("myst-nb").startswith("1.4.")


def test_parse_calls_the_reader_by_its_module_name():
    """``Parser.parse`` looks ``create_nb_reader`` up in its module, so that it can be wrapped there."""
    source = inspect.getsource(sphinx_.Parser.parse)

    assert "create_nb_reader(document_path, md_config, nb_config, inputstring)" in source
    assert sphinx_.create_nb_reader is create_nb_reader
    assert list(inspect.signature(create_nb_reader).parameters) == ["path", "md_config", "nb_config", "content"]


def test_reader_is_a_dataclass_with_a_read_function():
    """A reader's ``read`` can be replaced."""
    assert {"read", "md_config", "read_fmt"} == set(NbReader.__dataclass_fields__)


def test_notebook_can_switch_execution_off():
    """A notebook's own ``mystnb: execution_mode: off`` gives a client that runs nothing."""
    from myst_nb.core.config import NbParserConfig

    config = NbParserConfig().copy(execution_mode="off")
    notebook = NotebookNode(cells=[], metadata=NotebookNode())

    assert type(create_client(notebook, "<string>", config, None)) is NotebookClientBase  # type: ignore[arg-type]


def test_reader_is_put_back_even_after_an_error():
    """Wrapping lasts for one page, whatever happens while it is parsed."""
    try:
        with parser._wrapped_reader(lambda _text, _read: NotebookNode()):
            assert sphinx_.create_nb_reader is not create_nb_reader
            raise KeyError
    except KeyError:
        pass

    assert sphinx_.create_nb_reader is create_nb_reader
