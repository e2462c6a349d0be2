"""Write measured numbers with as many digits as they deserve, in the unit that suits them."""

import math

#: Units of time by the seconds from which they read best; below the last one nothing is finer.
_UNITS = ((0.01, 1.0, "s"), (1e-4, 1e3, "ms"), (0.0, 1e6, "µs"))


def three_digits(value: float) -> str:
    """Write a positive number with three significant digits and no exponent.

    Args:
        value: The number; at least 0.

    Returns:
        Such as ``"6.49"``, ``"162"`` or ``"1170"``.
    """
    return f"{float(f'{value:.3g}'):.{decimals(value)}f}"


def decimals(value: float) -> int:
    """Say how many decimals make up three significant digits.

    Args:
        value: The number; at least 0.

    Returns:
        Number of decimals; at least 0.
    """
    rounded = float(f"{value:.3g}")
    if rounded == 0 or not math.isfinite(rounded):
        return 0
    return max(0, 2 - math.floor(math.log10(rounded)))


def time_unit(seconds: float) -> tuple[str, float]:
    """Choose the unit in which a duration reads best.

    Args:
        seconds: Duration in seconds.

    Returns:
        ``"s"``, ``"ms"`` or ``"µs"``, and how many of it make a second.
    """
    return next((unit, factor) for from_s, factor, unit in _UNITS if seconds >= from_s)
