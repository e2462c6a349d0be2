"""Get files out of a zip or a folder that strangers filled: never outside of it, never more than fits in memory.

Nothing is unpacked to disk. What is refused comes out as an item with a problem, so that it has its row, too.
"""

from __future__ import annotations

import io
import os
import stat
import subprocess
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from coursework.submission import LARGEST

#: The most entries, and the most bytes of all files together, that one download may hold.
_MOST_FILES, _MOST_BYTES = 20_000, 4_000_000_000
#: The most characters of a name; searching longer ones for patterns takes long.
_LONGEST = 1_000
#: What each entry of a zip's directory begins with. Counted before that is read: a small zip can list very many.
_ENTRY = b"PK\x01\x02"


@dataclass(frozen=True)
class Item:
    """A file in a download.

    Attributes:
        path: Its name there, with slashes.
        content: Reads it.
        changed: When it was last changed, as the download says. Copying and packing change that: it may tell which of
            two files is newer, never when one was handed in.
        moment: When it was committed; ``None`` outside of repositories.
        problem: Why it is refused; empty if it is not.
        repository: The folder of the cloned repository that it lies in; empty if it lies in none.
    """

    path: str
    content: Callable[[], bytes] = field(default=lambda: b"", repr=False)
    changed: datetime | None = None
    problem: str = ""
    repository: str = ""
    moment: datetime | None = None


class Refused(Exception):
    """A file cannot be had; the message says why."""


def items(source: Path) -> list[Item]:
    """List the files of a zip file or a folder; any other file is an item itself."""
    if source.is_dir():
        return list(_in_folder(source))
    if zipfile.is_zipfile(source):
        return list(_in_zip(source, source))
    if source.suffix.lower() == ".zip":
        return [Item(source.name, problem="it is a damaged zip file")]
    return [_file(source, source.name)]


def inside(content: bytes, name: str) -> list[Item]:
    """List the files of a zip that was handed in, within the same limits.

    Args:
        content: The zip's bytes.
        name: The zip's, for what is said of it as a whole.
    """
    if content.count(_ENTRY) > _MOST_FILES:
        return [Item(name, problem=f"it holds more than {_MOST_FILES} files")]
    return list(_in_zip(Path(name), io.BytesIO(content)))


def _in_zip(source: Path, opened: Path | io.BytesIO) -> Iterator[Item]:
    try:
        # Stays open for as long as somebody may read from it: opening it again for every entry takes long.
        archive = zipfile.ZipFile(opened)
        entries = archive.infolist()
    except Exception:
        # Besides its own errors `zipfile` lets those of whatever unpacks and decodes through, by version and method.
        yield Item(source.name, problem="it is a damaged zip file")
        return
    if len(entries) > _MOST_FILES:
        yield Item(source.name, problem=f"it holds more than {_MOST_FILES} files")
        return
    left = _MOST_BYTES
    # Like a folder that is a repository itself, a zip of one stands for its owner.
    roots = _repositories(_shown(entry.filename) for entry in entries)
    prefix = f"{_shown(source.stem)}/" if "" in roots else ""
    for entry in entries:
        # Not `is_dir`: it fails for an entry without a name.
        if entry.filename.endswith("/"):
            continue
        left -= max(entry.file_size, 0)
        problem = _problem(entry) or ("all files together are too large" if left < 0 else "")
        name = _shown(entry.filename)
        root = next((root for root in roots if name.startswith(f"{root}/" if root else "")), None)
        repository = "" if root is None else f"{prefix}{root}".rstrip("/")
        yield Item(prefix + name, _reader(archive, entry), _moment(entry), problem, repository)


def _repositories(names: Iterable[str]) -> list[str]:
    """List the folders of cloned repositories in a zip, outer ones first."""
    found = {name.partition("/.git/")[0] for name in map("/{}".format, names) if "/.git/" in name}
    return sorted((name[1:] for name in found), key=len)


def _problem(entry: zipfile.ZipInfo) -> str:
    # ZipInfo has already turned a system's own separators into slashes.
    name = entry.filename
    problems = {
        "refused: it has no name": not name,
        "refused: its name is too long": len(name) > _LONGEST,
        "refused: its name in the zip is an absolute path": name.startswith(("/", "\\")) or name[1:2] == ":",
        "refused: its name in the zip leads out of the folder": ".." in name.replace("\\", "/").split("/"),
        "refused: it is a link, not a file": stat.S_ISLNK(entry.external_attr >> 16),
        "it is protected by a password": bool(entry.flag_bits & 1),
        f"refused: it is larger than {LARGEST // 1_000_000} MB": entry.file_size > LARGEST,
    }
    return next((problem for problem, there in problems.items() if there), "")


def _shown(name: str) -> str:
    name = name.replace("\\", "/")[:_LONGEST] or "?"
    return "".join(letter if letter.isprintable() else "?" for letter in name)


def _reader(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Callable[[], bytes]:
    def read() -> bytes:
        try:
            # What the directory says of an entry's size may be a lie: read one byte more than allowed, never all.
            with archive.open(entry) as file:
                content = file.read(LARGEST + 1)
        except Exception:
            # See above: LZMA's error, for one, is no other's kind.
            raise Refused("its entry in the zip is damaged") from None
        if len(content) > LARGEST:
            raise Refused(f"refused: unpacked, it is larger than {LARGEST // 1_000_000} MB")
        return content

    return read


def _moment(entry: zipfile.ZipInfo) -> datetime | None:
    try:
        return datetime(*entry.date_time).astimezone()  # zip files name no time zone
    except (ValueError, OverflowError, OSError):
        return None


def _in_folder(folder: Path) -> Iterator[Item]:
    """List a folder's files; one that is a repository itself stands for its owner."""
    prefix = f"{folder.resolve().name}/" if (folder / ".git").exists() else ""
    repositories: dict[Path, None] = {}
    count = 0
    for parent, names, files in os.walk(folder):
        place = Path(parent)
        if ".git" in names or ".git" in files:
            repositories[place] = None
        linked = [name for name in names if (place / name).is_symlink()]
        names[:] = sorted(name for name in names if name != ".git" and name not in linked)
        for name in sorted([*files, *linked]):
            count += 1
            path = prefix + (place / name).relative_to(folder).as_posix()
            if count > _MOST_FILES:
                yield Item(path, problem=f"the folder holds more than {_MOST_FILES} files")
                return
            repository = next((root for root in repositories if root in (place, *place.parents)), None)
            yield _file(place / name, path, repository, f"{prefix}{_below(repository, folder)}".rstrip("/"))


def _below(path: Path | None, folder: Path) -> str:
    return path.relative_to(folder).as_posix() if path and path != folder else ""


def _file(path: Path, name: str, repository: Path | None = None, root: str = "") -> Item:
    name = _shown(name)
    try:
        status = path.lstat()
    except OSError:
        return Item(name, problem="it cannot be read")
    if not stat.S_ISREG(status.st_mode):
        kind = "a link" if stat.S_ISLNK(status.st_mode) else "a device or a pipe"
        return Item(name, problem=f"refused: it is {kind}, not a file")
    if status.st_size > LARGEST:
        return Item(name, problem=f"refused: it is larger than {LARGEST // 1_000_000} MB")
    moment = _committed(path, repository) if repository and path.suffix == ".ipynb" else None

    def read() -> bytes:
        try:
            # Not through a link that was put there meanwhile.
            with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
                return file.read(LARGEST + 1)
        except OSError:
            raise Refused("it cannot be read") from None

    return Item(name, read, _changed(status), repository=_shown(root) if repository else "", moment=moment)


def _changed(status: os.stat_result) -> datetime | None:
    try:
        return datetime.fromtimestamp(status.st_mtime).astimezone()
    except (ValueError, OverflowError, OSError):
        return None  # a file system can keep years that no calendar here has


def _committed(path: Path, repository: Path) -> datetime | None:
    """Give when a file was last committed, as its author's machine said; a clone's own times are those of cloning."""
    # A repository's own settings can name programs that git would start: for signatures, fetching, watching.
    settings = ("log.showSignature=false", "protocol.allow=never", "core.fsmonitor=false", "core.sshCommand=false")
    command = ["git", "-C", str(repository), *(word for setting in settings for word in ("-c", setting))]
    command += ["log", "-1", "--format=%cI", "--", str(path.relative_to(repository))]
    environment = {"PATH": os.environ.get("PATH", ""), "GIT_CONFIG_NOSYSTEM": "1", "GIT_NO_LAZY_FETCH": "1"}
    try:
        done = subprocess.run(  # noqa: S603 - without a shell
            command, capture_output=True, text=True, timeout=10, check=True, env=environment
        )
        return datetime.fromisoformat(done.stdout.strip()).astimezone()
    except (OSError, ValueError, OverflowError, subprocess.SubprocessError):
        return None
