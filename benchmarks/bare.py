"""Record the core chapter's PyTorch variant on a bare machine, and show it in a build elsewhere.

Bare: an environment that holds PyTorch and NumPy and nothing else, in a process that inherits nothing. What it lacks is
carried there by ``make carry``. The exit status is 1 if anything of that does not hold.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
PAGE = "chapters/async-computation"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
UV = os.environ.get("UV") or shutil.which("uv") or str(REPOSITORY / ".venv-uv" / "bin" / "uv")


def run(*command: str | Path, cwd: Path = REPOSITORY) -> str:
    """Run a command and return what it printed; one that fails ends this script."""
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command[:4]))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def bare_environment(folder: Path) -> Path:
    """Make an environment that holds PyTorch, NumPy and what PyTorch itself depends on; return its interpreter."""
    run(UV, "venv", "--quiet", "--python", PYTHON, folder)
    python = folder / "bin" / "python"
    pins = REPOSITORY / "requirements" / "pytorch.txt"
    run(UV, "pip", "install", "--quiet", "--python", python, "-c", pins, "torch", "numpy")
    return python


def elsewhere(folder: Path, runs: Path) -> Path:
    """Copy the tracked files of the book, with the recorded runs and nothing that was run or made here."""
    for name in run("git", "ls-files").splitlines():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, folder / name)
    shutil.copytree(runs, folder / "runs", dirs_exist_ok=True)
    config = folder / "_config.yml"
    config.write_text(config.read_text("utf8").replace("execute:\n", "execute:\n  execute_notebooks: 'off'\n"), "utf8")
    run(BIN / "jupyter-book", "build", folder)
    return folder / "_build" / "html" / f"{PAGE}.html"


def main() -> int:
    """Do it and print the figures."""
    run("make", "carry", f"CARRY_PYTHON={PYTHON}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = bare_environment(folder / "venv")
        packages = run(UV, "pip", "list", "--format", "json", "--python", python)
        run("tar", "-xzf", REPOSITORY / "_build" / "carry.tar.gz", cwd=folder)
        host = folder / "carry"
        start = time.monotonic()
        told = run(
            *("/usr/bin/env", "-i", "PATH=/usr/bin:/bin", f"HOME={folder}", "PYTHONPATH=src"),
            *(python, "-m", "polybook", "run", "--plan", "plan.json", "--packages", "packages"),
            *("--record", "runs/bare", PAGE),
            cwd=host,
        )
        seconds = time.monotonic() - start
        record = host / "runs" / "bare" / f"{PAGE}.pytorch.json"
        data = json.loads(record.read_text("utf8"))
        html = elsewhere(folder / "elsewhere", host / "runs").read_text("utf8")
        names = [package["name"] for package in json.loads(packages)]
        private = [text for text in (name, str(REPOSITORY), str(Path.home())) if text in record.read_text("utf8")]
        shown = data["machine"]["summary"] in html and "· recorded" in html
        print(f"bare environment: {len(names)} packages, among them none of ours: {', '.join(sorted(names))}")
        print(told.strip())
        print(f"carried: {(REPOSITORY / '_build' / 'carry.tar.gz').stat().st_size / 2**20:.0f} MiB packed")
        print(f"plan and record: {(host / 'plan.json').stat().st_size} and {record.stat().st_size} bytes")
        print(
            f"recorded {len(data['cells'])} cells in {seconds:.1f} s; differs from the pins: {data['differs'] or 'no'}"
        )
        print(
            f"private names in the record: {private or 'none'}; shown by a build elsewhere: {'yes' if shown else 'NO'}"
        )
        lacking = {"ipykernel", "nbclient", "d2l", "ipython"} & set(names)
        return 0 if shown and not private and not lacking else 1


if __name__ == "__main__":
    sys.exit(main())
