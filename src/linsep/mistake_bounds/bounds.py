"""What :func:`linsep.bounds` answers: bounds, each with what was counted and its source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linsep.mistake_bounds.rounding import shown


@dataclass(frozen=True)
class Bound:
    """Something that is at most ``value``, by a theorem.

    Attributes
    ----------
    name : str
    value : float
        Rounded up: no less than the theorem says, in real arithmetic.
    what : str
        What is bounded: "mistakes", "updates", "errors" (rows predicted wrongly) or "margin".
    learner : str
        Who keeps the bound.
    source : str
        Where it is proved.
    counted : int, float or None
        What a run made of it; None where there was no run.
    """

    name: str
    value: float
    what: str
    learner: str
    source: str
    counted: float | None = None

    @property
    def kept(self) -> bool | None:
        """Whether what was counted is within the bound; None where nothing was counted."""
        return None if self.counted is None else bool(self.counted <= self.value)

    @property
    def ratio(self) -> float | None:
        """What was counted over the bound."""
        if self.counted is None or not self.value:
            return None
        return self.counted / self.value

    def __str__(self) -> str:
        if self.what == "margin":
            most = f"margin {{}}at most {shown(self.value)} ({self.name})"
            counted = None if self.counted is None else f"{self.counted:.4g} of "
        else:  # whole numbers: at most 132.7 mistakes are at most 132
            most = f"{{}}at most {_whole(self.value)} {self.what} ({self.name})"
            counted = None if self.counted is None else f"{int(self.counted):,} of "
        if counted is None:
            return f"{self.learner}: {most.format('')}"
        return ("kept: " if self.kept else "BROKEN: ") + most.format(counted)


@dataclass(frozen=True)
class Bounds:
    """All bounds that are known, and why others are not.

    Attributes
    ----------
    bounds : tuple of Bound
    left_out : dict
        {name: why it is not known}.
    longest : float or None
        R, no row z is longer (z = [x; 1] with an intercept); None where no rows were looked at.
    margin : (low, high) or None
        The widest margin of the rows z lies in this interval, the smallest of several machines';
        None where they are not separable, or nobody looked.
    mistakes, passes : int or None
        Of the run, if there was one.

    ``bounds["Novikoff"]`` is the bound of that name, ``print(bounds)`` a text for people.
    """

    bounds: tuple[Bound, ...]
    left_out: dict[str, str]
    longest: float | None = None
    margin: tuple[float, float] | None = None
    mistakes: int | None = None
    passes: int | None = None

    def __getitem__(self, name: str) -> Bound:
        for bound in self.bounds:
            if bound.name == name:
                return bound
        why = self.left_out.get(name, "the known ones are " + ", ".join(map(repr, self.names())))
        raise KeyError(f"{name}: {why}")

    def names(self) -> list[str]:
        """The names of the bounds that are known."""
        return [bound.name for bound in self.bounds]

    def __iter__(self) -> Any:
        return iter(self.bounds)

    def __len__(self) -> int:
        return len(self.bounds)

    @property
    def kept(self) -> bool:
        """Whether no bound is broken."""
        return all(bound.kept is not False for bound in self.bounds)

    def __str__(self) -> str:
        about = []
        if self.mistakes is not None and self.passes is not None:
            about.append(f"{self.mistakes:,} mistakes in {self.passes:,} passes")
        if self.longest is not None:
            about.append(f"rows of length at most {shown(self.longest)}")
        if self.margin is not None:
            low, high = (f"{end:.4g}" for end in self.margin)
            about.append(f"margin {low}" if low == high else f"margin {low} to {high}")
        lines = [", ".join(about)] if about else []
        lines += [str(bound) for bound in self.bounds]
        lines += [f"not known: {name}: {why}" for name, why in self.left_out.items()]
        return "\n".join(lines)


class Unknown(Exception):
    """A bound cannot be stated here; the reason is a phrase for people."""


def _whole(value: float) -> str:
    return f"{int(value):,}" if value < 1e15 else shown(value, 3)
