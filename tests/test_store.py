"""The store of runs: what goes in comes out, and what is damaged is noticed."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from books import page, printed, run_of

from polybook.errors import StoreEntryUnreadable
from polybook.run import SCHEMA, Run, run_from_json
from polybook.split import split
from polybook.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store in a folder that is not there yet."""
    return Store(tmp_path / "a" / "store")


@pytest.fixture
def run() -> Run:
    """A run with an output beyond ASCII."""
    return run_of(split(page(["x"]), "pytorch"), {0: [printed("é😀\u2028\x00\n")]})


def entry(store: Store, run: Run) -> Path:
    """The file of a stored run."""
    store.put(run)
    return store.path(run.framework, run.code)


def test_what_goes_in_comes_out(store: Store, run: Run):
    """A stored run is found again, whole, under the digest that storing it gave."""
    identity = store.put(run)

    assert store.get("pytorch", run.code) == (identity, run)
    assert list(store.entries()) == [run]


def test_store_without_an_entry(store: Store):
    """Where nothing was stored nothing is found, and asking makes no folder."""
    assert store.get("pytorch", "0" * 64) is None
    assert list(store.entries()) == []
    assert not store.folder.exists()


def test_file_is_named_after_framework_and_code(store: Store, run: Run):
    """An entry is the file `<framework>/<digest of the code>.json`."""
    store.put(run)

    files = [path.relative_to(store.folder).as_posix() for path in store.folder.rglob("*") if path.is_file()]
    assert files == [f"pytorch/{run.code}.json"]


def test_identity_is_that_of_the_content(store: Store, run: Run, tmp_path: Path):
    """The same run has the same identity and the same bytes everywhere; another run of the code has another."""
    other = Store(tmp_path / "b")

    run = dataclasses.replace(run, circumstances={"pins": "1", "machine": "2"})

    assert store.put(run) == other.put(dataclasses.replace(run, circumstances={"machine": "2", "pins": "1"}))
    assert entry(store, run).read_bytes() == entry(other, run).read_bytes()
    assert other.put(dataclasses.replace(run, elapsed_s=2.0)) != store.put(run)


def test_later_run_takes_the_place_of_an_earlier_one(store: Store, run: Run):
    """There is one run a code: the last one."""
    store.put(run)
    later = dataclasses.replace(run, started="2027-01-01T00:00:00+00:00")

    store.put(later)

    assert list(store.entries()) == [later]


def test_frameworks_are_kept_apart(store: Store, run: Run):
    """The same code of two frameworks is two entries, in a stable order."""
    other = dataclasses.replace(run, framework="mxnet")
    store.put(run)
    store.put(other)

    assert [entry.framework for entry in store.entries()] == ["mxnet", "pytorch"]


def rewritten(raw: bytes, **changes: object) -> bytes:
    """An entry with other fields and a digest that fits them."""
    data = {**json.loads(raw.partition(b"\n")[2]), **changes}
    body = json.dumps({name: value for name, value in data.items() if value != "gone"}).encode()
    return hashlib.sha256(body).hexdigest().encode() + b"\n" + body + b"\n"


DAMAGE = {
    "empty": lambda _: b"",
    "no digest": lambda raw: raw.partition(b"\n")[2],
    "cut": lambda raw: raw[:-10],
    "cut in the digest": lambda raw: raw[:20],
    "another number": lambda raw: raw.replace(b'"elapsed_s": 1.0', b'"elapsed_s": 2.0'),
    "flipped": lambda raw: raw.replace(b'"pytorch"', b'"pytorcH"'),
    "binary": lambda _: bytes(range(256)),
    "not json": lambda _: hashlib.sha256(b"{").hexdigest().encode() + b"\n{\n",
    "not utf-8": lambda _: hashlib.sha256(b"\xff").hexdigest().encode() + b"\n\xff\n",
    "a list": lambda _: hashlib.sha256(b"[]").hexdigest().encode() + b"\n[]\n",
    "no version": lambda raw: rewritten(raw, schema="gone"),
    "missing field": lambda raw: rewritten(raw, started="gone"),
    "unknown field": lambda raw: rewritten(raw, host="h"),
    "cells of another shape": lambda raw: rewritten(raw, cells={}),
    "other framework": lambda raw: rewritten(raw, framework="mxnet"),
    "other code": lambda raw: rewritten(raw, code="0" * 64),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_entry_is_noticed(store: Store, run: Run, damage: Callable[[bytes], bytes]):
    """An entry that is not what was written is told with its path, and passed over when all are listed."""
    path = entry(store, run)
    path.write_bytes(damage(path.read_bytes()))

    with pytest.raises(StoreEntryUnreadable, match=path.name):
        store.get("pytorch", run.code)
    assert list(store.entries()) == []


@pytest.mark.parametrize("schema", [SCHEMA - 1, SCHEMA + 1])
def test_entry_of_another_version_is_passed_over(store: Store, run: Run, schema: int):
    """An entry of an earlier or later version is whole, but none of ours: it is not there, and no cause for alarm."""
    path = entry(store, run)
    path.write_bytes(rewritten(path.read_bytes(), schema=schema))

    assert store.get("pytorch", run.code) is None
    assert list(store.entries()) == []


def test_entry_that_is_a_folder_is_noticed(store: Store, run: Run):
    """What cannot be read as a file is unreadable, not missing."""
    store.path("pytorch", run.code).mkdir(parents=True)

    with pytest.raises(StoreEntryUnreadable):
        store.get("pytorch", run.code)
    assert list(store.entries()) == []


def test_damaged_entry_is_replaced(store: Store, run: Run):
    """Storing the run again heals its entry."""
    entry(store, run).write_bytes(b"")

    store.put(run)

    assert list(store.entries()) == [run]


def test_failed_write_leaves_the_old_entry(store: Store, run: Run, monkeypatch: pytest.MonkeyPatch):
    """A file is written whole or not at all: when the disk fails, the old run stays and nothing lies about."""
    path = entry(store, run)

    def full_disk(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        store.put(dataclasses.replace(run, elapsed_s=9.0))

    assert list(path.parent.iterdir()) == [path]
    assert list(store.entries()) == [run]


def test_half_written_file_is_no_entry(store: Store, run: Run):
    """What a killed build left while it wrote is never read."""
    path = entry(store, run)
    (path.parent / ".writing-x").write_bytes(path.read_bytes())

    assert list(store.entries()) == [run]


def test_run_is_plain_data(run: Run):
    """A run survives JSON; its cells are a tuple again."""
    again = run_from_json(json.loads(json.dumps(run.as_json())))

    assert again == run
    assert isinstance(again.cells, tuple)


def test_run_says_its_version(run: Run):
    """Plain data of a run name the version of their shape and every field."""
    assert set(run.as_json()) == {"schema", *(field.name for field in dataclasses.fields(Run))}
    assert run.as_json()["schema"] == SCHEMA


@pytest.mark.parametrize("data", [None, [], "run", {}, {"schema": SCHEMA}, {"schema": str(SCHEMA)}])
def test_what_is_no_run_is_refused(data: object):
    """Data of another shape are not taken for a run."""
    with pytest.raises(StoreEntryUnreadable):
        run_from_json(data)
