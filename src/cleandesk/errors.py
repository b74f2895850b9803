"""What cleandesk says when it cannot do its job.

A finding (a bad state, a broken chain, a leaky reset) is a value and never one of
these. An error has a stable code with an entry in docs/errors.md, says what
happened with the observed value, where, and what to do next.
"""

from __future__ import annotations


class CleandeskError(Exception):
    """The root of every error that cleandesk raises on purpose."""

    def __init__(self, code: str, message: str, *, where: str = "", do: str = "") -> None:
        """Keep the parts apart, so that a caller can print them as data.

        Args:
            code: Stable code such as ``CD-102``.
            message: What happened, with the observed value.
            where: The nouns that locate it (file, task, field).
            do: The next action.
        """
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.where = where
        self.do = do

    def __str__(self) -> str:
        lines = [f"{self.code} {self.message}"]
        if self.where:
            lines.append(f"  where: {self.where}")
        if self.do:
            lines.append(f"  do:    {self.do}")
        return "\n".join(lines)


class StateError(CleandeskError):
    """A value that canon/1 does not know, or states that can't be compared."""


class ContractError(CleandeskError):
    """A contract that names what does not exist, or says two things of one field."""


class WorldError(CleandeskError):
    """A world that can't be found, built, reset, stepped or read."""


class AgentError(CleandeskError):
    """An agent that can't be found, exits, or does not speak its protocol."""


class ProviderError(CleandeskError):
    """A model or a judge that is out of reach; never the agent's failure."""


class SuiteError(CleandeskError):
    """A suite or task file that can't be used as it is."""


class CheckerError(CleandeskError):
    """A checker that can't be loaded or did not answer with a score."""


class LogError(CleandeskError):
    """A run folder that can't be read or written."""


class RunError(CleandeskError):
    """The run itself cannot go on."""


class UsageError(CleandeskError):
    """A command or call whose arguments do not fit."""


def shown(text: object, limit: int = 200) -> str:
    """Return ``text`` fit for a terminal: control characters escaped, cut at ``limit``.

    Texts of worlds, agents and files are untrusted: an escape sequence printed
    raw could repaint the terminal and fake a result.
    """
    escaped = "".join(
        char if char.isprintable() else char.encode("unicode_escape", "backslashreplace").decode()
        for char in str(text)[: limit + 1]
    )
    return escaped if len(escaped) <= limit else escaped[: limit - 1] + "…"


def text_of(error: BaseException, limit: int = 2000) -> str:
    """Return the class and the message of any exception, cut at ``limit``."""
    name = type(error).__name__
    try:
        return f"{name}: {error}"[:limit]
    except Exception:  # noqa: BLE001 - somebody else's __str__ may raise anything
        return f"{name} (its text can't be made)"


def remade(code: str, message: str, *, where: str = "", do: str = "") -> CleandeskError:
    """Return the error that another process raised, made anew from its parts."""
    number = int(code.removeprefix("CD-"))
    of_contract = range(202, 208)
    kind = ContractError if number in of_contract else _AREAS.get(number // 100, RunError)
    return kind(code, message, where=where, do=do)


_AREAS: dict[int, type[CleandeskError]] = {
    1: StateError,
    2: WorldError,
    3: AgentError,
    4: SuiteError,
    5: CheckerError,
    6: LogError,
    7: RunError,
    8: UsageError,
}
