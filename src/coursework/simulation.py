"""Judge what a program did to a simulated device: which calls came in which order, and how long it took.

The device itself is `asynclab.simulated.VirtualDevice`, the same that students try their programs on. It stays outside
of the jail: the submission only sends messages to it, so nothing that is judged here can be forged there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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


def bounded(device: VirtualDevice, host: VirtualHost, count: int) -> tuple[Remote, Remote]:
    """Give a device and a host to a submission, each for no more than it has to ask of them.

    On the wall's clock what they are asked for takes time on this side, while no other submission may run.

    Args:
        device: The device.
        host: The host.
        count: How many batches there are; more than that are not submitted, and more results not worked on.
    """
    return Remote(_Bounded(device, host, count), DEVICE), Remote(_Bounded(device, host, count), ("use",))


@dataclass(frozen=True)
class _Bounded:
    device: VirtualDevice
    host: VirtualHost
    count: int

    def submit(self, batch: Any) -> int:
        if len(self.device.runs) >= self.count:
            raise _twice([*(run.operation for run in self.device.runs), batch])
        return self.device.submit(batch)

    def wait(self, number: int) -> Any:
        return self.device.wait(number)

    def use(self, result: Any) -> Any:
        if len(self.host.spans) >= self.count:
            raise Failed("The host did not work once on each result.", sign="not all results")
        return self.host.use(result)


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
        raise _twice(seen)
    raise Failed(
        "The batches were not submitted as they came.", private=f"submitted {seen!r:.300}", sign="other batches"
    )


def _twice(seen: Sequence[Any]) -> Failed:
    return Failed("Some batches were submitted twice.", private=f"submitted {seen!r:.300}", sign="batches twice")


def hidden_shares(host: VirtualHost) -> list[float]:
    """Say of each piece of the host's work which part of it was done while the device was at work, too.

    Work on the last result is left out: after it there is nothing to compute. On a clock on the wall a busy machine can
    only make these parts smaller, as the host then begins late; it never makes a device busy that has nothing to do.

    Args:
        host: The host, after the program has returned.

    Returns:
        From 0 to 1, up to the accuracy of the clock.
    """
    return [
        sum(max(0.0, min(run.end_s, end_s) - max(run.start_s, began_s)) for run in host.device.runs) / (end_s - began_s)
        for began_s, end_s in host.spans[:-1]
    ]
