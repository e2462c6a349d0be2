"""Judge what a program did to a simulated device: which calls came in which order, and how long it took.

The device itself is `asynclab.simulated.VirtualDevice`, the same that students try their programs on. It stays outside
of the jail: the submission only sends messages to it, so nothing that is judged here can be forged there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from asynclab.simulated import VirtualDevice, VirtualHost
from coursework.model import Failed
from coursework.values import Remote

#: What a program may call of a device, unless an exercise says otherwise.
DEVICE = ("submit", "wait")


def offered(device: VirtualDevice, *methods: str) -> Remote:
    """Give a device to a submission.

    Args:
        device: The device.
        methods: What may be called of it; by default `DEVICE`.
    """
    return Remote(device, methods or DEVICE)


def check_submitted(device: VirtualDevice, batches: Sequence[Any]) -> None:
    """See that each batch was submitted once, in its order.

    Raises:
        Failed: If it was not; says what was seen.
    """
    seen = [run.operation for run in device.runs]
    if seen == list(batches):
        return
    if len(seen) < len(batches):
        raise Failed("Not every batch was submitted.", private=f"submitted {seen!r:.300}", sign="batches missing")
    if len(seen) > len(batches):
        raise Failed("Some batches were submitted twice.", private=f"submitted {seen!r:.300}", sign="batches twice")
    raise Failed(
        "The batches were not submitted as they came.", private=f"submitted {seen!r:.300}", sign="other batches"
    )


def hidden_share(host: VirtualHost) -> float:
    """Say which part of the host's work was done while the device was at work, too.

    Work on the last result does not count: after it there is nothing to compute.

    Args:
        host: The host, after the program has returned.

    Returns:
        From 0 to 1, up to the accuracy of a clock on the wall; 1 if there was no work that could overlap.
    """
    could_s = sum(end_s - began_s for began_s, end_s in host.spans[:-1])
    return host.overlapped_s() / could_s if could_s else 1.0
