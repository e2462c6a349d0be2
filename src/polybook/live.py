"""Serve a site that changes: each page reloads when the book was built anew, and shows what went wrong if it was not.

A part of ``polybook serve``. Standard library only. Pages get one script more (``static/live.js``), which listens to a
stream of events; their files stay as they are.
"""

from __future__ import annotations

import contextlib
import functools
import html
import json
import threading
import time
from collections.abc import Iterator
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from polybook.errors import ConfigError

SCRIPT = Path(__file__).parent / "static" / "live.js"
EVENTS = "/-polybook/events"
#: Seconds after which a silent stream says that it is still there; else a closed window would be noticed never.
_PULSE_S = 15
#: How many ports are tried from the one that was asked for.
_PORTS = 20
_WAITING = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>'
    '<body style="margin: 3rem; font: 1rem/1.5 system-ui, sans-serif"><h1>{title}</h1><p>{text}</p></body></html>'
)


class Board:
    """Where the last build's fate is posted, and waited for."""

    def __init__(self) -> None:
        """Begin with nothing built."""
        self._changed = threading.Condition()
        # After a restart no page may take an old number for this one.
        self._built = time.time_ns() // 1_000_000
        self._count = 0
        self._state: dict[str, Any] = {"phase": "building", "text": ""}

    def post_building(self) -> None:
        """Say that a build has begun; what was wrong stays so until it has ended."""
        self._post("building", "")

    def post_built(self) -> None:
        """Say that there is something new to show."""
        with self._changed:
            self._built += 1
        self._post("built", "")

    def post_failed(self, text: str) -> None:
        """Say what went wrong."""
        self._post("failed", text)

    def _post(self, phase: str, text: str) -> None:
        with self._changed:
            self._count += 1
            self._state = {"phase": phase, "text": text}
            self._changed.notify_all()

    @property
    def built(self) -> int:
        """The number of the last build that went well."""
        return self._built

    def state(self) -> tuple[int, dict[str, Any]]:
        """Give the number of the state, and the state."""
        with self._changed:
            return self._count, {**self._state, "built": self._built}

    def wait(self, count: int, timeout_s: float) -> tuple[int, dict[str, Any]]:
        """Wait, so long at most, for another state than that of a number."""
        with self._changed:
            self._changed.wait_for(lambda: self._count != count, timeout_s)
        return self.state()


class _Handler(SimpleHTTPRequestHandler):
    """Serves the site's files, pages with the script, and the stream of events."""

    def __init__(self, *arguments: Any, board: Board, **options: Any) -> None:
        self._board = board
        super().__init__(*arguments, **options)

    def log_message(self, *_: Any) -> None:
        """Leave the terminal to the builds."""

    def end_headers(self) -> None:
        """Let no browser keep what may have changed."""
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def do_GET(self) -> None:
        """Answer; a window that was closed meanwhile is none of our business."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            path = unquote(urlsplit(self.path).path)
            if path == EVENTS:
                self._stream()
            elif path.endswith((".html", "/")):
                self._page(path)
            else:
                super().do_GET()

    def _stream(self) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        count = -1
        while True:
            now, state = self._board.wait(count, _PULSE_S)
            text = ":\n\n" if now == count else f"data: {json.dumps(state)}\n\n"
            count = now
            self.wfile.write(text.encode())
            self.wfile.flush()

    def _page(self, path: str) -> None:
        file = Path(self.translate_path(path + "index.html" * path.endswith("/")))
        # Before the file is read: if it is that of a later build, the page reloads once more.
        built = self._board.built
        try:
            status, text = HTTPStatus.OK, file.read_text("utf8")
        except OSError:
            status, text = HTTPStatus.NOT_FOUND, self._missing(path)
        script = f'<script data-events="{EVENTS}" data-built="{built}">{SCRIPT.read_text("utf8")}</script>'
        head, body, rest = text.rpartition("</body>")
        content = f"{head}{script}{body}{rest}".encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _missing(self, path: str) -> str:
        text = f"{path} is not there, or not yet. This page reloads when the book is built."
        return _WAITING.format(title="No such page", text=html.escape(text))


class _Server(ThreadingHTTPServer):
    #: Streams never end by themselves.
    daemon_threads = True


@contextlib.contextmanager
def served(site: Path, board: Board, port: int) -> Iterator[str]:
    """Serve a site on this machine; gives its address.

    Args:
        site: The folder of the site, which need not be there yet.
        board: What tells of builds.
        port: The port; if it is taken, one of the next. 0 for any.

    Raises:
        ConfigError: If none of them is free.
    """
    handler = functools.partial(_Handler, board=board, directory=str(site))
    with _listening(handler, port) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()


def _listening(handler: Any, port: int) -> _Server:
    for candidate in range(port, port + (_PORTS if port else 1)):
        with contextlib.suppress(OSError):
            return _Server(("127.0.0.1", candidate), handler)
    raise ConfigError(f"no port from {port} to {port + _PORTS - 1} is free.\nName another with --port.")
