"""Read environment variables that switch something on or off, each in the same words."""

from __future__ import annotations

import os

from polybook.errors import ConfigError

_ON, _OFF = ("1", "yes", "true", "on"), ("0", "no", "false", "off", "")


def environment_switch(name: str) -> bool:
    """Tell whether a variable switches something on; one that is not set does not.

    Raises:
        ConfigError: If it says neither.
    """
    value = os.environ.get(name, "").strip()
    if value.lower() not in {*_ON, *_OFF}:
        allowed = f"{', '.join(_ON)} or {', '.join(filter(None, _OFF))}"
        raise ConfigError(
            f"the environment variable {name} is {value!r}, but has to be {allowed}.\nCorrect or unset it."
        )
    return value.lower() in _ON
