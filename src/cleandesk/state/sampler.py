"""What a declared field may hold: the support of the distribution it is drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cleandesk.errors import ContractError

_FORMS = "any | uniform LOW HIGH | integer LOW HIGH | choice A B ..."


@dataclass(frozen=True, slots=True)
class Sampler:
    """A sampler as a contract writes it.

    Attributes:
        text: ``any``, ``uniform LOW HIGH``, ``integer LOW HIGH`` or ``choice A B ...``.
    """

    text: str

    @classmethod
    def parse(cls, text: str) -> Sampler:
        """Read a sampler.

        Raises:
            ContractError: CD-205, the text is none of the four forms.
        """
        word, *rest = text.split() or [""]
        try:
            fits = {
                "any": lambda: not rest,
                "uniform": lambda: float(rest[0]) <= float(rest[1]) and len(rest) == 2,
                "integer": lambda: int(rest[0]) <= int(rest[1]) and len(rest) == 2,
                "choice": lambda: bool(rest),
            }[word]()
        except (KeyError, ValueError, IndexError):
            fits = False
        if not fits:
            raise ContractError(
                "CD-205", f"{text!r} is not a sampler", where="declared", do=f"write {_FORMS}"
            )
        return cls(text)

    def holds(self, value: Any) -> bool:
        """Tell whether ``value`` can have been drawn from here."""
        word, *rest = self.text.split()
        if word == "any":
            return True
        if hasattr(value, "ravel"):
            # Of numpy: each element was drawn from here.
            return all(self.holds(item) for item in value.ravel().tolist())
        if word == "choice":
            return str(value) in rest
        number = type(value) is int or (word == "uniform" and type(value) is float)
        return number and float(rest[0]) <= value <= float(rest[1])
