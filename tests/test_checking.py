"""A reader's figures beside the site's: what `check` prints, and that it never stops a notebook."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import asynclab
from asynclab.errors import InvalidNameError, UnsupportedValueError
from asynclab.ledger import LEDGER


@pytest.fixture(autouse=True)
def clean_ledger() -> Iterator[None]:
    """What one test records, no other sees."""
    before = dict(LEDGER.values), dict(LEDGER.claims)
    LEDGER.values.clear()
    LEDGER.claims.clear()
    yield
    LEDGER.values.clear()
    LEDGER.claims.clear()
    LEDGER.values.update(before[0])
    LEDGER.claims.update(before[1])


@pytest.mark.parametrize(
    ("here", "site", "said"),
    [
        (True, True, "✓ faster holds here, as on the site.\n"),
        (True, False, "✓ faster holds here, though not on the site.\n"),
        (False, True, "✗ faster does not hold here, though it does on the site.\n"),
        (False, False, "✗ faster does not hold here, nor on the site.\n"),
        (None, True, "\N{EN DASH} faster was not tried here, though it was on the site, where it holds.\n"),
        (None, False, "\N{EN DASH} faster was not tried here, though it was on the site, where it does not hold.\n"),
        (None, None, "\N{EN DASH} faster was not tried here, nor on the site.\n"),
        (True, None, "✓ faster holds here, though it was not tried on the site.\n"),
        (False, None, "✗ faster does not hold here, and was not tried on the site.\n"),
    ],
)
def test_verdict_says_here_and_there(
    capsys: pytest.CaptureFixture[str], here: bool | None, site: bool | None, said: str
):
    """Whether the claim holds in this process, and whether it does on the site; each may have had no occasion."""
    asynclab.claim("faster", here)
    asynclab.check("faster", site_holds=site)

    assert capsys.readouterr().out == said


def test_figures_stand_below_each_other(capsys: pytest.CaptureFixture[str]):
    """A line a figure, the reader's own as `record` words it, and the site's; a missing one is said to be missing."""
    asynclab.record("wait", 12.3456, "ms")
    asynclab.claim("faster", True)
    asynclab.check("faster", site_holds=True, site={"wait": "9.69 ms", "calls_before": "1 024"})

    assert capsys.readouterr().out.replace("\N{NO-BREAK SPACE}", " ").splitlines()[1:] == [
        "                   here  the site",
        "  wait          12.3 ms   9.69 ms",
        "  calls_before     none     1 024",
    ]


def test_what_was_not_tried_has_no_figures(capsys: pytest.CaptureFixture[str]):
    """The site's alone would look like a comparison."""
    asynclab.claim("faster", None)
    asynclab.check("faster", site_holds=True, site={"wait": "9.69 ms"})

    assert len(capsys.readouterr().out.splitlines()) == 1


def test_the_last_claim_and_the_last_value_count(capsys: pytest.CaptureFixture[str]):
    """A cell that runs again replaces what it said before."""
    asynclab.record("wait", 1, "ms")
    asynclab.record("wait", 2, "ms")
    asynclab.claim("faster", True)
    asynclab.claim("faster", False)
    asynclab.check("faster", site_holds=True, site={"wait": "3 ms"})

    out = capsys.readouterr().out
    assert "✗ faster does not hold here" in out
    assert "2\N{NO-BREAK SPACE}ms" in out


def test_a_claim_that_nobody_made_is_no_error(capsys: pytest.CaptureFixture[str]):
    """The notebook runs on, and the reader learns what to do."""
    asynclab.check("faster", site_holds=True)

    assert capsys.readouterr().out == "faster: not known yet. Run the cells above, then this one again.\n"


def test_a_name_that_cannot_be_one_is_refused():
    """As it is where the claim is made."""
    with pytest.raises(InvalidNameError, match=r"check: 'No name' is no name for a claim"):
        asynclab.check("No name", site_holds=True)


def test_figures_have_names():
    """A list of figures is refused, with an example."""
    with pytest.raises(UnsupportedValueError, match=r"an object of type list .*\nWrite for example site="):
        asynclab.check("faster", site_holds=True, site=["3 ms"])  # type: ignore[arg-type]
