"""The jail, as whoever runs the tests and as an ordinary user: hostile submissions get what they deserve."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile import CASES, LIMITS, SECRET, Case, run_all

from coursework import bubblewrap, doctor, jail, process, seccomp
from coursework.errors import JailError
from coursework.jail import Jail
from coursework.model import Outcome, StudentError
from coursework.process import Output
from coursework.student import Submission
from coursework.usage import usage

SOURCES = Path(__file__).parents[1] / "src"
ORDINARY = 65534
WHO = ["us", *(["an ordinary user"] if os.geteuid() == 0 else [])]

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")


def as_ordinary(*command: str, **more: Any) -> Any:
    """Start a program as a user without rights."""
    return {"args": [*command], "user": ORDINARY, "group": ORDINARY, "extra_groups": [], "cwd": "/", **more}


def owners() -> set[int]:
    """The users who have processes; those that have ended and only wait to be fetched count for nothing."""
    found = set()
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
            found |= set() if "Z" in lines["State"].split()[0] else {int(lines["Uid"].split()[0])}
    return found


def eventually(condition: Callable[[], bool]) -> bool:
    """Whether something comes true within some seconds."""
    until = time.monotonic() + 10
    while not (true := condition()) and time.monotonic() < until:
        time.sleep(0.02)
    return true


@pytest.fixture(scope="module")
def readable() -> Iterator[Path]:
    """A folder that every user may read, with our sources in it."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        for package in ("asynclab", "coursework"):
            shutil.copytree(SOURCES / package, Path(folder, package), ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(Path(__file__).with_name("hostile.py"), folder)
        yield Path(folder)


@pytest.fixture(scope="module")
def ordinary_python() -> str:
    """A Python that every user may run: the system's."""
    test = "import sys; sys.exit(sys.version_info < (3, 11))"
    for name in ("python3", *(f"python3.{minor}" for minor in range(11, 16))):
        found = shutil.which(name, path="/usr/bin:/usr/local/bin")
        if found and subprocess.run(**as_ordinary(found, "-I", "-c", test, env={})).returncode == 0:
            return found
    pytest.skip("there is no Python 3.11 or later that an ordinary user may run")


@pytest.fixture(scope="module")
def results(request: pytest.FixtureRequest) -> dict[str, Any]:
    """What came of all hostile submissions, graded by one of WHO."""
    if request.param == "us":
        return run_all(Path(sys.executable))
    python, folder = request.getfixturevalue("ordinary_python"), request.getfixturevalue("readable")
    env = {"PYTHONPATH": str(folder), "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        **as_ordinary(python, str(folder / "hostile.py"), python, env=env), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("results", WHO, indirect=True)
class TestHostile:
    """All hostile submissions, several at a time."""

    @pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
    def test_hostile_submission_gets_what_it_deserves(self, results: dict[str, Any], case: Case):
        """The question that it attacks ends as it deserves, and the honest answer beside it keeps its points."""
        found = results["cases"][case.name]

        assert (found["f"] in case.f, found["g"] in case.g) == (True, True), found
        assert case.says in found["message"]

    def test_no_hostile_submission_reaches_the_network(self, results: dict[str, Any]):
        """Nobody called at the port that was open on this machine."""
        assert results["reached"] == 0

    def test_no_hostile_submission_leaves_a_process(self, results: dict[str, Any]):
        """In the namespaces that the submissions lived in nothing is left."""
        assert results["left"] == []

    def test_nothing_that_is_shown_is_without_bounds(self, results: dict[str, Any]):
        """Messages and output are cut, hold no secret and only characters that can be shown."""
        for found in results["cases"].values():
            assert len(found["message"]) < 2200
            assert len(found["output"]) < LIMITS.output_kb * 1024 + 200
            assert SECRET not in found["message"] + found["output"] + found["private"]
            shown = found["message"] + found["output"].replace("\n", "").replace("\t", "")
            assert shown == "" or shown.isprintable()

    def test_no_hostile_submission_takes_longer_than_its_limit(self, results: dict[str, Any]):
        """The clock stops each of them, beside three others."""
        late = [case.name for case in CASES if results["cases"][case.name]["seconds"] >= 2 * case.call_s + 2]

        assert late == []


# Does what it can to go on without its grader: ignores everything, gives up the signal that its parent's death sends,
# here and, if that is another one, in the first process, by writing into it: prctl(PR_SET_PDEATHSIG, 0), then pause.
CLINGS = """
import ctypes, os, platform, signal, time
def f():
    ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    if os.getpid() != 1 and platform.machine() == "x86_64":
        try:
            counter = int(open("/proc/1/syscall").read().split()[-1], 16)
            memory = os.open("/proc/1/mem", os.O_RDWR)
            code = "b89d000000bf0100000031f60f05b8220000000f05ebf7"
            os.pwrite(memory, bytes.fromhex(code), counter)
        except OSError:
            pass
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        if os.fork() == 0:
            if os.fork() == 0:
                time.sleep(0.2)
            os._exit(0)
        os.wait()
        time.sleep(0.5)
    return os.getpid()
def g():
    while True:
        pass
"""


@pytest.fixture
def grader(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    """A grader, run by one of WHO, with a submission that wants to outlive it."""
    python, sources, user = sys.executable, str(SOURCES), {}
    if request.param != "us":
        python, sources = request.getfixturevalue("ordinary_python"), str(request.getfixturevalue("readable"))
        user = {"user": ORDINARY, "group": ORDINARY, "extra_groups": []}
    code = (
        "import sys; from pathlib import Path; from coursework.jail import Jail; from coursework.model import Limits\n"
        "from coursework.student import Submission\n"
        "s = Submission(Jail(Path(sys.executable)), Limits(), 'pytorch', {'f': sys.argv[1]})\n"
        "s.call('f'); print(s._process._inmate.first, flush=True); s.call('g')"
    )
    env = {"PYTHONPATH": sources, "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen([python, "-c", code, CLINGS], env=env, stdout=subprocess.PIPE, text=True, **user) as process:
        yield process
        process.kill()


@pytest.mark.parametrize("grader", WHO, indirect=True)
def test_jail_dies_with_the_grader(grader: subprocess.Popen[str]):
    """A grader that is killed leaves nothing behind, not even what does all it can against that."""
    assert grader.stdout
    first = int(grader.stdout.readline())
    alive = Path(f"/proc/{first}").exists()
    grader.send_signal(signal.SIGKILL)
    grader.wait()
    gone = eventually(lambda: not Path(f"/proc/{first}").exists())
    if not gone:
        os.kill(first, signal.SIGKILL)

    assert (alive, gone) == (True, True)


@pytest.mark.parametrize(
    ("limit", "source", "says"),
    [
        ("FILES", "for n in range(10**6): open(f'/tmp/{n % 2000}', 'w').close()", "It made more than 500 files."),
        ("SOCKETS", "kept = [socket.socketpair() for _ in range(60)]", "It opened more than 50 sockets."),
    ],
)
def test_what_only_the_kernel_keeps_is_limited(monkeypatch: pytest.MonkeyPatch, limit: str, source: str, says: str):
    """Empty files and the buffers of sockets are in no process's memory."""
    monkeypatch.setattr(process, limit, {"FILES": 500, "SOCKETS": 50}[limit])
    source = f"import socket, time\ndef f():\n    {source}\n    time.sleep(60)\ndef g():\n    return 4"
    submission = Submission(Jail(), LIMITS, "pytorch", {"f": source})
    try:
        with pytest.raises(StudentError, match=says) as caught:
            submission.call("f")
        submission.renew()
        again = submission.call("g")
    finally:
        submission.end()

    assert caught.value.outcome is Outcome.CRASHED
    assert again == 4


def test_jail_that_ends_slowly_holds_up_nobody(monkeypatch: pytest.MonkeyPatch):
    """The kernel may have much to clear away: that is waited for apart, and stops no batch."""
    monkeypatch.setattr(jail, "_END_S", 0.0)
    submission = Submission(Jail(), LIMITS, "pytorch", {"f": "def f():\n    return 4"})
    gave = submission.call("f")
    assert submission._process
    inmate = submission._process._inmate
    submission.end()

    assert gave == 4
    assert eventually(lambda: inmate.process.returncode is not None)
    assert eventually(lambda: not Path(f"/proc/self/fd/{inmate.handle}").exists())


def test_user_whom_the_machine_does_not_list_can_grade(monkeypatch: pytest.MonkeyPatch):
    """In containers and clusters there may be neither a home nor a line in the list of users."""

    def unlisted(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", unlisted)
    _, folders, _ = bubblewrap.visible.__wrapped__(Path(sys.executable))

    assert sys.prefix in folders


def test_interpreter_is_found_through_links_and_below_the_temporary_folder(tmp_path: Path):
    """An environment under /tmp has its packages in the jail, too; a link to its Python is, as always, another one."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    (tmp_path / "python").symlink_to("env/bin/python")
    (packages,) = (tmp_path / "env" / "lib").glob("python3*/site-packages")
    (packages / "installed.py").write_text("HERE = True")
    source = "import sys\ndef f():\n    import installed\n    return sys.prefix"
    submission = Submission(Jail(tmp_path / "env" / "bin" / "python"), LIMITS, "pytorch", {"f": source})
    linked = Submission(Jail(tmp_path / "python"), LIMITS, "pytorch", {"f": source})
    try:
        assert submission.call("f") == str(tmp_path / "env")
        with pytest.raises(StudentError, match="No module named 'installed'"):
            linked.call("f")
    finally:
        submission.end()
        linked.end()


def test_jail_holds_nothing_of_the_repository():
    """What is mounted is the system, the interpreter, the worker and asynclab."""
    call = bubblewrap.command(Path(sys.executable), 100, bubblewrap.Descriptors(-1, 5, 6), gpu=False)
    mounted = [Path(call[place + 1]) for place, word in enumerate(call) if word.startswith("--ro-bind")]

    repository = Path(__file__).parents[1]
    allowed = {repository / "src" / "coursework" / "worker.py", repository / "src" / "asynclab", Path(sys.prefix)}
    assert {path for path in mounted if path == repository or repository in path.parents} <= allowed
    assert not any(path in repository.parents or path == Path.home() for path in mounted)


@pytest.mark.parametrize(("python", "says"), [("/nowhere/python", "does not start"), ("/bin/true", "does not start")])
def test_interpreter_that_does_not_start_is_told(python: str, says: str):
    """Which one, and what to do."""
    with pytest.raises(JailError, match=says):
        bubblewrap.visible(Path(python))


def test_unknown_kind_of_jail_is_refused():
    """A misspelt one must not become none."""
    with pytest.raises(JailError, match="known: bubblewrap, user, unsafe"):
        Jail(kind="bublewrap")


def test_without_bubblewrap_nothing_is_graded(monkeypatch: pytest.MonkeyPatch):
    """There is no silent way around it."""
    monkeypatch.setattr(jail.shutil, "which", lambda _name: None)
    submission = Submission(Jail(), LIMITS, "pytorch", {"f": "def f():\n    return 1"})

    with pytest.raises(JailError, match="not installed"):
        submission.call("f")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may change to another user")
def test_user_jail_runs_as_another_and_leaves_nothing(ordinary_python: str):
    """In a container, where there are no namespaces to be had, a daemon goes all the same."""
    source = (
        "import os, time\ndef f():\n    child = os.fork()\n    if child == 0:\n        os.setsid()\n"
        "        if os.fork() == 0: time.sleep(60)\n        os._exit(0)\n    os.waitpid(child, 0)\n"
        "    return os.getuid()\ndef root():\n    os.setuid(0)"
    )
    submission = Submission(Jail(Path(ordinary_python), "user"), LIMITS, "pytorch", {"f": source})
    try:
        uid = submission.call("f")
        with pytest.raises(StudentError, match="PermissionError"):
            submission.call("root")
    finally:
        submission.end()

    assert uid > 65536
    assert eventually(lambda: uid not in owners())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may change to another user")
def test_doctor_tells_an_interpreter_that_cannot_be_read(tmp_path: Path):
    """Its jail's user stands before a closed folder: that is what to mend."""
    tmp_path.chmod(0o700)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    found = doctor.findings({"pytorch": tmp_path / "env" / "bin" / "python"}, "user")

    assert [finding.ok for finding in found] == [True, False]
    assert "cannot read" in found[1].remedy


def test_doctor_finds_a_jail_that_works():
    """It tries the network, files, memory, processes and time, and says what it found."""
    found = doctor.findings({"pytorch": Path(sys.executable)})

    assert [finding for finding in found if not finding.ok] == []
    names = {finding.name.removeprefix("pytorch: ") for finding in found}
    assert {"interpreter", "network", "files", "user", "memory", "processes", "time", "end"} <= names


@pytest.mark.parametrize(
    ("missing", "name", "says"),
    [("system", "darwin", "Containerfile"), ("bwrap", "bubblewrap", "apt install bubblewrap")],
)
def test_doctor_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, missing: str, name: str, says: str):
    """Every fault comes with what mends it."""
    if missing == "system":
        monkeypatch.setattr(doctor.sys, "platform", name)
    else:
        monkeypatch.setattr(doctor.shutil, "which", lambda _program: None)
    found = [finding for finding in doctor.findings({}) if not finding.ok]

    assert found
    assert says in found[0].remedy


def test_doctor_names_a_leak(monkeypatch: pytest.MonkeyPatch):
    """A jail that holds the network would not pass as one; the filter of system calls alone would keep it away."""
    real = bubblewrap.command
    monkeypatch.setattr(jail.seccomp, "program", lambda: b"")
    monkeypatch.setattr(jail, "command", lambda *a, **k: [x for x in real(*a, **k) if x != "--unshare-net"])
    found = {finding.name: finding for finding in doctor.findings({"pytorch": Path(sys.executable)})}

    assert not found["pytorch: network"].ok


def test_doctor_names_a_jail_that_outlives_its_grader(monkeypatch: pytest.MonkeyPatch):
    """Found by killing what stands between the two, while the submission does what it can."""
    real = bubblewrap.command
    monkeypatch.setattr(jail, "command", lambda *a, **k: [x for x in real(*a, **k) if x != "--die-with-parent"])
    monkeypatch.setattr(jail, "_END_S", 0.5)
    found = doctor._end("pytorch", Jail())

    assert not found.ok
    assert "outlive" in found.why


def test_filter_is_known_for_the_usual_machines():
    """Another machine has none, which the doctor tells."""
    assert len(seccomp.program("x86_64")) % 8 == 0
    assert seccomp.program("x86_64") != seccomp.program("aarch64") != b""
    assert seccomp.program("riscv64") == b""


def test_usage_counts_children_and_not_what_is_shared_twice():
    """Three processes that share 100 MB use little more than one."""
    code = "import os, time; x = bytearray(b'x') * (100 << 20); os.fork(); os.fork(); print(flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout
        for _ in range(4):
            process.stdout.readline()
        quick, precise = usage(process.pid, 10_000), usage(process.pid, 1)
        os.killpg(process.pid, signal.SIGKILL)

    assert quick.processes == precise.processes == 4
    assert 90 < precise.memory_mb < 200 < quick.memory_mb


def test_output_is_cut_and_says_so():
    """What is kept is bounded, what came is counted."""
    output = Output(10)
    output.add(b"\x1b[31m\xff" + b"x" * 20)

    assert (
        output.text()
        == "\N{REPLACEMENT CHARACTER}[31m\N{REPLACEMENT CHARACTER}xxxx\n… (cut: 16 more bytes were printed)"
    )


def test_outcomes_of_ends_are_distinguished():
    """A call that takes too long is no crash."""
    cells = {"f": "import os, time\ndef long():\n    time.sleep(60)\ndef gone():\n    os._exit(3)"}
    submission = Submission(Jail(), LIMITS, "pytorch", cells, time_factor=0.2)
    outcomes = []
    for name in ("long", "gone"):
        with pytest.raises(StudentError) as caught:
            submission.call(name)
        outcomes.append(caught.value.outcome)
        submission.renew()
    submission.end()

    assert outcomes == [Outcome.TIMEOUT, Outcome.CRASHED]
