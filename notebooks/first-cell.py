#@title Run this first: it sets the notebook up for $title { display-mode: "form" }
def set_up():
    import importlib.util, os, shutil, site, subprocess, sys

    if importlib.util.find_spec("asynclab") is None:
        pip = [sys.executable, "-m", "pip", "install", "-qq", "--retries", "1"]
        uv = [shutil.which("uv"), "pip", "install", "-q", "--python", sys.executable]
        for installer in [uv, pip] if uv[0] else [pip]:
            done = subprocess.run([*installer, "--no-deps", "$wheel"], capture_output=True, text=True)
            if done.returncode == 0:
                break
        else:
            class NotSetUp(Exception):
                _render_traceback_ = lambda self: str(self).splitlines()
            why = [line for line in done.stderr.splitlines() if line.lower().startswith("error")]
            told = ("check the connection, or whether packages may be added to this Python" if "://" in "$wheel" else
                    "may packages be added to this Python? Look into that" if os.path.exists("$wheel") else
                    "it is not there. Unpack all of the zip that this notebook came in, open the notebook there")
            told = f"asynclab could not be installed from $wheel: {told}, and run this cell again."
            raise NotSetUp("\n".join([told, *(why or done.stderr.splitlines())[:1]]))
        importlib.invalidate_caches()
        if site.ENABLE_USER_SITE:
            site.addsitedir(site.getusersitepackages())
    import asynclab.preparing
    asynclab.preparing.prepare("$framework", needs="$needs", wheel="$wheel", mirror="$mirror", made_with="$version")

set_up()
del set_up
import asynclab
