"""`polybook lab`: a server as `make lab` starts it, real pages of the book as notebooks, a real kernel behind them.

The server works on a copy of the book, whose environments are the real ones.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from books import REPOSITORY, run
from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

from polybook.lab_kernel import why_skipped

TITLES = {"pytorch": "PyTorch", "mxnet": "MXNet"}
SHARED = ("src", ".venv-pytorch", ".venv-mxnet", ".venv-lab", ".venv-book")
COPIED = ("_config.yml", "_toc.yml", "index.md", "chapters", "solutions", "exercises", "notebooks", "requirements")
PAGES = [
    path.relative_to(REPOSITORY).as_posix()
    for pattern in ("index.md", "chapters/*.md", "solutions/*.md")
    for path in sorted(REPOSITORY.glob(pattern))
]
SKIPPED = "A cell of MXNet; this kernel runs PyTorch's.\n"
#: Ways of writing that Jupytext would not keep.
ODD = (
    "---\nfile_format: mystnb\npolybook: {frameworks: [pytorch, mxnet]}\n---\n"
    "# Odd\n\n\n```{code-cell} ipython3\n:tags: [pytorch]\n1\n\n2\n```\n"
    "````{code-cell}\n---\ntags: [mxnet]\n---\n3\n````\n"
    "\n+++\n\nProse.  \n\n+++ {}\n\nMore.\n\n\n```{code-cell}\n:tags: [mxnet]\n\n\n4\n```\n\n"
)


@dataclass(frozen=True)
class Lab:
    """A server.

    Attributes:
        root: The book's folder.
        address: The address that it printed.
        process: The server itself.
    """

    root: Path
    address: str
    process: subprocess.Popen[str]

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Ask the server's own interface, as the browser does."""
        base, _, token = self.address.partition("?token=")
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"token {token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{base.partition('/lab')[0]}/api/{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.loads(answer.read() or "null")

    def open(self, page: str) -> dict[str, Any]:
        """Open a page as a notebook."""
        notebook: dict[str, Any] = self.ask("GET", f"contents/{page}?type=notebook")["content"]
        return notebook

    def save(self, page: str, notebook: dict[str, Any]) -> str:
        """Save a notebook as JupyterLab does; gives the page as it is then."""
        # What JupyterLab adds to cells that it has run.
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                cell["metadata"].update(trusted=True, scrolled=False, execution={"iopub.status.busy": "now"})
                cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "of a run"}]
        self.ask("PUT", f"contents/{page}", {"type": "notebook", "format": "json", "content": notebook})
        return (self.root / page).read_bytes().decode("utf8")

    def write(self, page: str, text: str) -> dict[str, Any]:
        """Write a page and open it."""
        (self.root / page).write_bytes(text.encode())
        return self.open(page)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the book."""
    root = tmp_path_factory.mktemp("lab") / "book"
    root.mkdir()
    for name in COPIED:
        source = REPOSITORY / name
        if source.is_dir():
            shutil.copytree(source, root / name)
        else:
            shutil.copy(source, root / name)
    for name in SHARED:
        (root / name).symlink_to(REPOSITORY / name)
    return root


def answering(lab: Lab) -> Lab:
    """Wait until a server answers: it prints its address a moment before."""
    deadline = time.monotonic() + 20
    while True:
        try:
            lab.ask("GET", "status")
        except urllib.error.URLError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        else:
            return lab


def start(root: Path, *arguments: str) -> Lab:
    """Start a server as `make lab` does, without a browser, and wait for its address."""
    command = [sys.executable, "-m", "polybook", "lab", "--no-browser", *arguments]
    # A terminal: Jupyter asks there whether it shall really stop.
    _, terminal = os.openpty()
    process = subprocess.Popen(
        command, cwd=root, stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    os.close(terminal)
    assert process.stdout
    printed = ""
    for line in process.stdout:
        printed += line
        if found := re.search(r"http://127\S+", line):
            return answering(Lab(root, found[0], process))
    pytest.fail(printed)


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[Lab]:
    """One server for all tests, on the first page with the first framework."""
    started = start(root)
    yield started
    started.process.kill()
    started.process.communicate()


def in_kernel(
    lab: Lab, page: str, cells: list[tuple[str, list[str]]], *, keep: bool = False
) -> list[tuple[str, str, int | None]]:
    """Run cells with tags in a page's kernel, as JupyterLab does; gives status, what was printed, and the number."""
    name = lab.open(page)["metadata"]["kernelspec"]["name"]
    session = lab.ask("POST", "sessions", {"path": page, "type": "notebook", "name": "", "kernel": {"name": name}})
    channel = f"{lab.address.partition('/lab')[0].replace('http', 'ws')}/api/kernels/{session['kernel']['id']}/channels"
    headers = {"Authorization": f"token {lab.address.partition('?token=')[2]}"}

    async def talk() -> list[tuple[str, str, int | None]]:
        socket = await websocket_connect(HTTPRequest(channel, headers=headers))
        results = [await asyncio.wait_for(one(socket, code, tags), 30) for code, tags in cells]
        socket.close()
        # Closing is a conversation too: without its end the connection stays open until it is collected.
        while await asyncio.wait_for(socket.read_message(), 30) is not None:
            pass
        return results

    async def one(socket: Any, code: str, tags: list[str]) -> tuple[str, str, int | None]:
        header = {"msg_id": f"{time.time_ns()}", "msg_type": "execute_request", "username": "", "session": "s"}
        content = {"code": code, "silent": False, "store_history": True, "allow_stdin": False, "stop_on_error": True}
        message = {"header": header, "parent_header": {}, "metadata": {"tags": tags}, "content": content}
        await socket.write_message(json.dumps({**message, "channel": "shell", "buffers": []}))
        printed, status, number, idle = "", "", None, False
        while not (status and idle):
            answer = json.loads(await socket.read_message())
            if answer["parent_header"].get("msg_id") != header["msg_id"]:
                continue
            kind, told = answer["msg_type"], answer["content"]
            printed += told["text"] if kind == "stream" else "image" if "image" in str(told.get("data")) else ""
            if kind == "execute_reply":
                status, number = told["status"], told["execution_count"]
            idle = idle or (kind == "status" and told["execution_state"] == "idle")
        return status, printed, number

    try:
        return asyncio.run(talk())
    finally:
        if not keep:
            lab.ask("DELETE", f"sessions/{session['id']}")


def test_address_is_the_page_as_a_notebook(server: Lab):
    """The server opens the first page that has the first framework, which goes for a notebook by its file's type."""
    overrides = server.root / ".polybook" / "lab" / "config" / "labconfig" / "default_setting_overrides.json"

    assert "/lab/tree/chapters/async-computation.md?token=" in server.address
    viewers = json.loads(overrides.read_text())["@jupyterlab/docmanager-extension:plugin"]["defaultViewers"]
    assert viewers == {"markdown": "Jupytext Notebook"}


def test_only_the_books_kernels_are_offered(server: Lab):
    """The kernels are the frameworks', the asked one first, and a page says itself which one it wants."""
    found = server.ask("GET", "kernelspecs")

    assert (found["default"], sorted(found["kernelspecs"])) == ("pytorch", ["mxnet", "pytorch"])
    assert server.open("chapters/waiting.md")["metadata"]["kernelspec"]["display_name"] == "PyTorch"


@pytest.mark.parametrize("page", PAGES)
def test_saving_without_a_change_keeps_every_byte(server: Lab, page: str):
    """A page that was opened, run and saved is the file that it was, and was not even written."""
    path = server.root / page
    before, written = path.read_bytes().decode("utf8"), path.stat().st_mtime_ns

    assert server.save(page, server.open(page)) == before
    assert path.stat().st_mtime_ns == written


@pytest.mark.parametrize("text", [ODD, ODD.replace("\n", "\r\n"), "\N{BYTE ORDER MARK}" + ODD, ODD.strip(), "# Only\n"])
def test_odd_writing_is_kept(server: Lab, text: str):
    """What Jupytext would write otherwise stays: line ends, spaces, marks between prose, options of all kinds."""
    notebook = server.write("odd.md", text)

    assert server.save("odd.md", notebook) == text


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("chapters/")])
def test_edit_changes_only_its_own_lines(server: Lab, page: str):
    """A line that is added to every tenth cell is all that is new in the file."""
    before = (server.root / page).read_text()
    notebook = server.open(page)
    edited = notebook["cells"][::10]
    for cell in edited:
        cell["source"] += "\nedited = 1"

    after = server.save(page, notebook)
    (server.root / page).write_text(before)

    assert after.count("\nedited = 1\n") == len(edited)
    assert after.replace("\nedited = 1\n", "\n") == before


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("```{code-cell} ipython3\n:tags: [mxnet]\n1\n```", "```{code-cell} ipython3\n:tags: [mxnet]\nx = 1\n```"),
        ("```{code-cell}\n:tags: [mxnet]\n\n1\n\n```", "```{code-cell}\n:tags: [mxnet]\n\nx = 1\n```"),
        ("````{code-cell}\n---\ntags: [a]\n---\n1\n````", "````{code-cell}\n---\ntags: [a]\n---\nx = 1\n````"),
        ("```{code-cell}\n```", "```{code-cell}\nx = 1\n```"),
    ],
)
def test_edited_cell_keeps_its_fence_and_options(server: Lab, before: str, after: str):
    """However a cell's fence and options are written, an edit of its code leaves them as they are."""
    notebook = server.write("odd.md", f"Prose.\n{before}\n")
    notebook["cells"][1]["source"] = "x = 1"

    assert server.save("odd.md", notebook) == f"Prose.\n{after}\n"


def test_edited_page_reads_as_the_notebook(server: Lab):
    """Cells that are added, moved, retagged and removed come back as they were saved; empty new ones do not."""
    notebook = server.write("odd.md", ODD)
    first, *_, last = notebook["cells"]
    added = {"cell_type": "code", "metadata": {"tags": ["mxnet", "hide-input"]}, "source": ":a\n```", "outputs": []}
    prose = {"cell_type": "markdown", "metadata": {}, "source": "New."}
    empty = {"cell_type": "code", "metadata": {}, "source": "", "outputs": []}
    last["metadata"]["tags"] = ["pytorch"]
    notebook["cells"] = [last, first, prose, {**added}, empty]

    text = server.save("odd.md", notebook)
    cells = server.open("odd.md")["cells"]

    assert text.startswith(ODD.partition("# Odd")[0])
    assert [(cell["source"], cell["metadata"].get("tags")) for cell in cells] == [
        ("\n4", ["pytorch"]),
        ("# Odd", None),
        ("New.", None),
        (":a\n```", ["mxnet", "hide-input"]),
    ]


def test_unreadable_page_is_told(server: Lab):
    """A page whose cell options are no YAML cannot be opened as a notebook, and the reason is given."""
    with pytest.raises(urllib.error.HTTPError) as caught:
        server.write("odd.md", "---\na: b\n---\n\n```{code-cell}\n:tags: [a\n1\n```\n")

    # It holds the connection, which nobody else closes.
    with caught.value as answer:
        told = json.loads(answer.read())["message"]
    assert caught.value.code == 400
    assert "Jupytext cannot read odd.md: Code cell 0" in told


def test_nothing_is_left_beside_a_page(server: Lab):
    """The copy to which JupyterLab can revert lies in the store, one a page, and brings the page back."""
    before = (server.root / "chapters" / "waiting.md").read_bytes()
    notebook = server.open("chapters/waiting.md")
    for page in ("solutions/waiting.md", "chapters/waiting.md"):
        server.ask("POST", f"contents/{page}/checkpoints")
        checkpoint = server.ask("GET", f"contents/{page}/checkpoints")[0]["id"]
    notebook["cells"].pop()
    server.save("chapters/waiting.md", notebook)
    server.ask("POST", f"contents/chapters/waiting.md/checkpoints/{checkpoint}")

    assert (server.root / "chapters" / "waiting.md").read_bytes() == before
    assert not list(server.root.glob("chapters/.*"))


def test_kernel_runs_its_own_cells_in_the_pages_folder(server: Lab):
    """Own and untagged cells run where the page lies, with the course's helpers; others are skipped in one line."""
    cells = [
        ("import os; print(os.path.basename(os.getcwd()))", []),
        ("import mxnet", ["mxnet"]),
        ("raise SystemError", ["skip-execution"]),
        ("print('own')", ["pytorch", "hide-input"]),
        ("import asynclab; asynclab.bars(['a'], [1], 'ms', alt='There is one bar, of one millisecond.')", []),
        ("import mxnet", ["pytorch", "raises-exception"]),
    ]

    results = in_kernel(server, "chapters/waiting.md", cells)

    assert results[:4] == [
        ("ok", "chapters\n", 1),
        ("ok", SKIPPED, 2),
        ("ok", "A cell that is never run: it is tagged skip-execution.\n", 3),
        ("ok", "own\n", 4),
    ]
    assert (results[4][0], "image" in results[4][1], results[5][0]) == ("ok", True, "error")


def test_ctrl_c_ends_it_quietly(root: Path):
    """After one Ctrl-C neither the server nor its kernels are there, and nothing was said."""
    lab = start(root, "--framework", "mxnet", "chapters/honest-timing")
    kernel = lab.ask("POST", "kernels", {"name": lab.ask("GET", "kernelspecs")["default"]})
    processes = run("ps", "-wwo", "args=", "--ppid", str(lab.process.pid), cwd=root).output
    lab.process.send_signal(signal.SIGINT)
    try:
        rest = lab.process.communicate(timeout=20)[0]
    finally:
        lab.process.kill()

    assert (lab.process.returncode, kernel["name"], "lab/tree/chapters/honest-timing.md" in lab.address) == (
        0,
        "mxnet",
        True,
    )
    assert "lab_kernel.py" in processes
    assert "rror" not in rest
    assert kernel["id"] not in run("ps", "-wweo", "args=", cwd=root).output


def test_kernel_that_is_starting_ignores_interrupts(server: Lab, tmp_path: Path):
    """A server that ends interrupts its kernels first; one that is still importing neither dies of it nor speaks."""
    path = server.root / ".polybook" / "lab" / "data" / "kernels" / "mxnet" / "kernel.json"
    described = json.loads(path.read_text("utf8"))
    command = [part.replace("{connection_file}", str(tmp_path / "kernel.json")) for part in described["argv"]]
    python = next(part for part in command if part.endswith("/python"))
    variables = os.environ | described["env"] | {"JPY_PARENT_PID": str(os.getpid())}
    with subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, text=True) as kernel:
        while not Path(f"/proc/{kernel.pid}/cmdline").read_bytes().startswith(python.encode()):
            time.sleep(0.001)
        while not (tmp_path / "kernel.json").exists() and kernel.poll() is None:
            kernel.send_signal(signal.SIGINT)
            time.sleep(0.01)
        ended = kernel.poll()
        kernel.kill()
        said = kernel.communicate()[1]

    assert (ended, "Interrupt" in said) == (None, False)


def test_kernel_ends_with_a_killed_server(root: Path):
    """A server that is killed takes its kernels along, also one that holds Python's lock and so notices nothing."""
    lab = start(root)
    hold = "import ctypes, threading; threading.Timer(0.2, ctypes.PyDLL(None).sleep, [60]).start()"
    in_kernel(lab, "chapters/waiting.md", [(hold, [])], keep=True)
    (kernel,) = lab.ask("GET", "kernels")
    time.sleep(0.5)
    lab.process.kill()
    lab.process.wait()
    deadline = time.monotonic() + 10
    while kernel["id"] in run("ps", "-wweo", "args=", cwd=root).output and time.monotonic() < deadline:
        time.sleep(0.1)

    assert time.monotonic() < deadline
    lab.process.communicate()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--framework", "pytroch"], "framework 'pytroch' is unknown (known: pytorch, mxnet).\nCorrect the name."),
        (
            ["chapters/unwritten"],
            "chapters/unwritten is no page of this book.\nName one that declares pytorch: chapters/",
        ),
        (
            ["chapters/glossary"],
            "chapters/glossary.md declares no framework, so there is nothing of 'pytorch' to run.\n",
        ),
    ],
)
def test_wrong_names_are_told(root: Path, arguments: list[str], message: str):
    """A wrong framework or page ends it with what is allowed, before any server starts."""
    done = run(sys.executable, "-m", "polybook", "lab", "--no-browser", *arguments, cwd=root)

    assert done.status == 2
    assert done.output.startswith(message)


@pytest.mark.parametrize(
    ("tags", "line"),
    [
        (None, ""),
        ("mxnet", SKIPPED.strip()),
        (["mxnet", "hide-input"], SKIPPED.strip()),
        (["mxnet", "pytorch"], ""),
        (["hide-input", 3], ""),
    ],
)
def test_cells_of_others_are_known_by_their_tags(tags: object, line: str):
    """Only tags that name other frameworks, and not this one, make a cell another's."""
    assert why_skipped(tags, "pytorch", TITLES) == line
