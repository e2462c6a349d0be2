"""Two runs of the same code on the same machine: the same but for the times."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from typing import Any

from books import REPOSITORY, Book, cell, page_text

TIMES = {"started", "ended", "elapsed_s", "load", "noise", "dropped"}


def untimed(data: dict[str, Any]) -> dict[str, Any]:
    """A recorded run without its times, and without the digest, which covers them."""
    cells = [{key: value for key, value in made.items() if key not in TIMES} for made in data["cells"]]
    return {**{key: value for key, value in data.items() if key not in TIMES | {"digest"}}, "cells": cells}


def test_two_runs_differ_in_their_times_only(make_book: Callable[..., Book]):
    """Code, circumstances, machine record and outputs are the same, pictures and recorded values included."""
    picture = (
        "from asynclab import claim, record\nfrom IPython.display import SVG\nrecord('n', 3)\nclaim('c', True)\n"
        "print('a'); SVG('<svg xmlns=\"http://www.w3.org/2000/svg\"/>')"
    )
    book = make_book(page=page_text(cell(picture, "alpha"), cell("{1, 2}", "beta")))
    shutil.copytree(REPOSITORY / "src" / "asynclab", book.root / "asynclab")
    config = book.root / "_config.yml"
    config.write_text(f"{config.read_text()}    polybook_probe: asynclab.machine:record\n")

    runs = []
    for name in ("first", "second"):
        done = book.polybook("run", "--force", "--record", f"runs/{name}")
        assert done.status == 0, done.output
        runs.append({p.name: json.loads(p.read_text()) for p in (book.root / "runs" / name).glob("*.json")})

    first, second = runs
    assert set(first) == set(second) == {"page.alpha.json", "page.beta.json"}
    assert {name: untimed(data) for name, data in first.items()} == {n: untimed(data) for n, data in second.items()}
    assert first["page.alpha.json"]["started"] != second["page.alpha.json"]["started"]
    assert first["page.alpha.json"]["machine"]["entries"]
