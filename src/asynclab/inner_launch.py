"""Start an IPython kernel that does not outlive the kernel which started it. Run as a script, by the inner interpreter.

Standard library only, apart from ``ipykernel``: the environment owes asynclab nothing else.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """Ask Linux to kill this process when its parent is gone, whatever it is doing then. See prctl(2)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            sys.exit("the kernel that started this one is gone")


if __name__ == "__main__":
    # A script's own folder comes first on sys.path, where this package's modules would shadow the world's.
    sys.path = [entry for entry in sys.path if entry != os.path.dirname(os.path.abspath(__file__))]  # noqa: PTH100, PTH120
    die_with_parent(int(os.environ["JPY_PARENT_PID"]))
    from ipykernel import kernelapp

    class IPKernelApp(kernelapp.IPKernelApp):
        """A kernel that keeps output until it is read: ZeroMQ drops it silently after a thousand messages.

        Under its base's name, because settings of a kernel go by that.
        """

        def init_iopub(self, context: object) -> None:
            """Make the socket for output without a limit."""
            context.sndhwm = 0  # type: ignore[attr-defined]
            super().init_iopub(context)

    IPKernelApp.launch_instance()
