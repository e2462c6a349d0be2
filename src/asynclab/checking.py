"""Compare what a reader's own run gave with what the site's run gave, where a notebook makes a claim."""

from __future__ import annotations

from collections.abc import Mapping

from asynclab.errors import UnsupportedValueError
from asynclab.ledger import LEDGER, check_name, told

_VERDICTS = {
    (True, True): "holds here, as on the site",
    (True, False): "holds here, though not on the site",
    (False, True): "does not hold here, though it does on the site",
    (False, False): "does not hold here, nor on the site",
    (None, True): "was not tried here, though it was on the site, where it holds",
    (None, False): "was not tried here, though it was on the site, where it does not hold",
    (None, None): "was not tried here, nor on the site",
    (True, None): "holds here, though it was not tried on the site",
    (False, None): "does not hold here, and was not tried on the site",
}
_MARKS = {True: "✓", False: "✗", None: "\N{EN DASH}"}


def check(name: str, *, site_holds: bool | None, site: Mapping[str, str] | None = None) -> None:
    """Print whether a claim holds in this run, and its figures beside those of the site's run.

    Nothing is raised where the claim does not hold: another machine gives other figures, and the text beside the
    cell says what to make of that.

    Args:
        name: The claim's name, as given to `claim`.
        site_holds: Whether it held in the run that the site shows; None if it was not tried there.
        site: The figures of that run, by the names given to `record`, units included. They are left out where nothing
            was tried here: there is nothing to compare.

    Raises:
        InvalidNameError: If the name has not the form of a claim's (a ``ValueError``).
        UnsupportedValueError: If the site's figures are no mapping (a ``TypeError``).
    """
    check_name(name, "check", "claim", "check('faster', site_holds=True)")
    if not isinstance(site, Mapping | None):
        raise UnsupportedValueError(
            f"check({name!r}): the site's figures are {told(site)} (allowed: a mapping of names to texts).\n"
            "Write for example site={'speedup': '3.2 times'}."
        )
    if name not in LEDGER.claims:
        print(f"{name}: not known yet. Run the cells above, then this one again.")
        return
    holds = LEDGER.claims[name]
    print(f"{_MARKS[holds]} {name} {_VERDICTS[holds, None if site_holds is None else bool(site_holds)]}.")
    for line in _table({} if holds is None else site or {}):
        print(line)


def _table(site: Mapping[str, str]) -> list[str]:
    """Give a line for each figure, the columns below each other."""
    if not site:
        return []
    rows = [("", "here", "the site")]
    rows += [(name, LEDGER.values.get(name, "none"), text) for name, text in site.items()]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return [f"  {row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}" for row in rows]
