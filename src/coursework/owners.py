"""Give owners of hand-ins a pseudonym: the roster's, the one from before, or one made of the name; never one for two.

Within a download two names, or two of a platform's numbers, are two people, however alike the names are. From one
download to the next a name that is exactly somebody's pseudonym is that person's. See ``collect.py``.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from coursework.files import safe_name
from coursework.incoming import Found, named
from coursework.roster import Participant, Roster
from coursework.rows import Row

#: What tells an owner from others: the platform and its number of the person, or two empty texts and a name.
Key = tuple[str, str, str]
_PLATFORMS = ("canvas", "moodle")
#: What is left of a name in front of what tells it from others.
_CUT, _LONGEST_NUMBER = 50, 20


@dataclass(frozen=True)
class Owner:
    """Whose something is: the pseudonym, empty if nothing tells, and what the instructor should know about it."""

    student: str
    told: str = ""


@dataclass(frozen=True)
class _Known:
    """What is known of owners while pseudonyms are given.

    Attributes:
        people: A file of each owner.
        places: The downloads, by number, in which an owner is.
        before: Pseudonyms of earlier calls.
        had: Whose each of these was.
        roster: Who takes part.
        listed: The roster's pseudonyms, without capitals, which some file systems do not tell apart.
        held: Who has a pseudonym by now.
    """

    people: Mapping[Key, Found]
    places: Mapping[Key, set[int]]
    before: Mapping[Key, str]
    had: Mapping[str, set[Key]]
    roster: Roster
    listed: Collection[str]
    held: dict[str, list[Key]] = field(default_factory=dict)


def whose(one: Found) -> Key:
    """Give what tells a file's owner from others."""
    return (one.kind, one.identity, "") if one.identity else ("", "", one.name)


def owners(downloads: Sequence[Sequence[Found]], roster: Roster, before: Iterable[Row], slug: str) -> dict[Key, Owner]:
    """Give each owner a pseudonym.

    Args:
        downloads: What each of them holds.
        roster: Who takes part.
        before: The rows of earlier calls, of the same exercise.
        slug: The exercise.
    """
    known = _known(downloads, roster, before, slug)
    matched = {key: one for key in known.people if (one := _participant(key, known))}
    doubtful = _doubtful(matched, known)
    found = {key: Owner(one.student) for key, one in matched.items() if key not in doubtful}
    rest = [key for key in known.people if key not in found]
    plain = {key: safe_name(known.people[key].name.casefold()) for key in rest}
    counts = Counter(plain.values())
    # Who had a pseudonym before keeps it, and a name that is one already goes before one that is made into it.
    for key in sorted(rest, key=lambda key: (key not in known.before, not _is_exact(key, plain[key]), key)):
        shared = counts[plain[key]] > 1
        student = _made(key, plain[key], shared, known)
        told = doubtful.get(key) or _twice(key, known) or _told(key, plain[key], shared, student, known)
        found[key] = Owner(student, told)
        known.held.setdefault(student, []).append(key)
    return found


def _known(downloads: Sequence[Sequence[Found]], roster: Roster, before: Iterable[Row], slug: str) -> _Known:
    places: dict[Key, set[int]] = {}
    for number, download in enumerate(downloads):
        for one in download:
            places.setdefault(whose(one), set()).add(number)
    earlier = {
        (row.kind, row.identity, "") if row.identity else ("", "", named(row.original, row.kind, slug)): row.student
        for row in before
        if row.student
    }
    had: dict[str, set[Key]] = {}
    for key, student in earlier.items():
        had.setdefault(student, set()).add(key)
    people = {whose(one): one for download in downloads for one in download}
    return _Known(people, places, earlier, had, roster, {name.casefold() for name in roster.students})


def _ids(key: Key) -> dict[str, str]:
    return {f"{key[0]}_id": key[1]} if key[0] in _PLATFORMS else {}


def _participant(key: Key, known: _Known) -> Participant | None:
    name = known.people[key].name
    return known.roster.on_platform(name, **_ids(key)) if key[1] else known.roster.find(name)


def _doubtful(matched: Mapping[Key, Participant], known: _Known) -> dict[Key, str]:
    """Find the people of one name on one platform, of whom the roster does not say which is meant."""
    groups: dict[tuple[str, int, str], list[Key]] = {}
    for key, one in matched.items():
        for place in known.places[key] if key[1] else ():
            groups.setdefault((key[0], place, one.student), []).append(key)
    return {
        key: f"Several on the platform are called {known.people[key].name!r}: say in roster.csv, by a column "
        f"{key[0]}_id, which of them is {student} (this one is {key[1]})."
        for (_, _, student), keys in groups.items()
        for key in keys
        if len(keys) > 1 and known.roster.by_ids(**_ids(key)) is None
    }


def _twice(key: Key, known: _Known) -> str:
    """Say that several lines of the roster have a name, so that none of them was taken."""
    lines = known.roster.called(known.people[key].name)
    if len(lines) <= 1:
        return ""
    number = f" (this one is {key[1]})" if key[1] else ""
    return (
        f"{len(lines)} lines of roster.csv have this name, {' and '.join(lines)}: give their "
        f"{key[0] if key[0] in _PLATFORMS else 'moodle'}_id{'' if key[0] in _PLATFORMS else ' or canvas_id'}{number}, "
        "or call the file as the pseudonym."
    )


def _made(key: Key, plain: str, shared: bool, known: _Known) -> str:
    """Make a pseudonym for somebody whom the roster does not know; an empty one if nothing says who it is."""
    old = known.before.get(key, "")
    if old and _may_keep(old, key, known):
        return old
    if not plain and not key[1]:
        return ""
    if plain and (not shared or _is_exact(key, plain)) and _is_free(plain, key, known):
        return plain
    return next(one for one in _others(plain, key) if _is_free(one, key, known))


def _told(key: Key, plain: str, shared: bool, student: str, known: _Known) -> str:
    """Say of a name why it is not the pseudonym; of a platform's numbers nothing has to be said."""
    near = shared or plain.casefold() in known.listed or _others_had(plain, key, known)
    if key[1] or student == plain or not near:
        return ""
    name = known.people[key].name
    return f"Another name is nearly the same as {name!r}; if both are one person's, make them one."


def _may_keep(old: str, key: Key, known: _Known) -> bool:
    line = known.roster.students.get(old)
    # The roster was corrected: the line is somebody else's now.
    another = line is not None and ("name" in line.ids or any(column in line.ids for column in _ids(key)))
    return not another and not any(_are_two(key, other, known) for other in known.held.get(old, ()))


def _is_free(student: str, key: Key, known: _Known) -> bool:
    if student.casefold() in known.listed:
        return False
    if _is_exact(key, student):
        return not any(_are_two(key, other, known) for other in known.held.get(student, ()))
    return student not in known.held and not _others_had(student, key, known)


def _others_had(student: str, key: Key, known: _Known) -> bool:
    return bool(known.had.get(student, set()) - {key})


def _is_exact(key: Key, student: str) -> bool:
    """Whether a folder or a file is called exactly so; what a platform calls somebody is no pseudonym."""
    return not key[1] and key[2] == student


def _are_two(one: Key, other: Key, known: _Known) -> bool:
    """Whether two owners cannot be one person: they stand in the same download, or have two of a platform's numbers."""
    same_place = bool(known.places.get(one, set()) & known.places.get(other, set()))
    return one != other and (same_place or bool(one[1] and one[0] == other[0]))


def _others(plain: str, key: Key) -> Iterator[str]:
    """Give pseudonyms that differ from the plain one: by the platform's number, or by what only this name has."""
    digest = hashlib.sha256("/".join(key).encode("utf8", "replace")).hexdigest()
    for mark in (key[1] if 0 < len(key[1]) <= _LONGEST_NUMBER else digest[:4], digest[:12], digest):
        yield safe_name(f"{plain[:_CUT]}-{mark}")
