"""The agent's process: a new agent for each episode, driven over a channel.

Requests are frames: G begin an episode, O and T what an action led to (T: and that
was the last), Q the episode is over. Answers: A an action, D done, F infeasible,
K the agent has stopped, X failure.
"""

from __future__ import annotations

import inspect
import os
import shlex
import shutil
import traceback
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cleandesk.agents.answers import Done, Infeasible
from cleandesk.agents.command import CommandAgent, command_digest
from cleandesk.agents.providers import is_providers
from cleandesk.agents.session import EpisodeOver, Session, reports
from cleandesk.channel import Channel, ChannelClosedError
from cleandesk.errors import AgentError, CleandeskError, shown, text_of
from cleandesk.finding import find, look_in, source_digest
from cleandesk.processes import channel_of_arguments, pin_to
from cleandesk.state.canon import decode, encode
from cleandesk.worlds.network import guard_network

if TYPE_CHECKING:
    import asyncio

_START = ("goal", "task", "trial", "action_space", "tools", "max_steps", "rng")


def main() -> None:
    """Load the agent named in the first frame, then serve episodes."""
    channel = channel_of_arguments()
    _, (hello,) = channel.receive()
    settings = decode(hello)
    look_in(settings["path"])
    guard_network(settings["network"])
    try:
        make, source = load_agent(settings["reference"], settings["path"])
    except CleandeskError as error:
        channel.send(b"X", encode([error.code, error.message, error.where, error.do]))
        return
    pin_to(settings["core"])
    channel.send(b"I", source.encode())
    # The parent may set this process aside at any point; then there is nothing to say.
    try:
        _serve(channel, make, settings)
    except ChannelClosedError:
        os._exit(0)


def load_agent(reference: str, folders: Sequence[str] = ()) -> tuple[Callable[[], Any], str]:
    """Return a function that makes a new agent, and the digest of its source.

    Args:
        reference: A registered name, ``module:attribute``, ``file.py:attribute``, or
            ``cmd:`` and a command line.
        folders: Where a relative path of a file is looked for first.

    Raises:
        AgentError: CD-301, it can't be found; CD-302, it is no agent.
    """
    if reference.startswith("cmd:"):
        command = reference.removeprefix("cmd:")
        _require_program(command)
        return lambda: CommandAgent(command), command_digest(command)
    found = find("agent", reference, folders=folders)
    is_class = inspect.isclass(found)
    if is_class and not any(hasattr(found, name) for name in ("act", "play")):
        raise AgentError(
            "CD-302",
            f"the class {found.__qualname__} has neither act(observation) nor play(session)",
            where=f"agent {reference!r}",
            do="give it one of the two",
        )
    if not callable(found):
        raise AgentError(
            "CD-302",
            f"{reference!r} is a {type(found).__name__}, no agent",
            where=f"agent {reference!r}",
            do="name a class with act or play, or a function of the observation",
        )
    if is_class:
        _require_plain_constructor(found, reference)
    return (found if is_class else lambda: found), source_digest(found)


def _require_program(command: str) -> None:
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    if not words or shutil.which(words[0]) is None:
        raise AgentError(
            "CD-301",
            f"there is no program {shown(repr(words[0]))}" if words else "this is no command line",
            where=f"cmd:{shown(command)}",
            do="give cmd: a command line that works in this folder",
        )


def _require_plain_constructor(found: type, reference: str) -> None:
    try:
        inspect.signature(found).bind()
    except TypeError as error:
        raise AgentError(
            "CD-302",
            f"a new {found.__qualname__} is made for each episode, without arguments: {error}",
            where=f"agent {reference!r}",
            do="give its arguments defaults, or name a function or class that binds them",
        ) from error
    except ValueError:
        # Compiled, without a signature: making one will tell.
        return


def _serve(channel: Channel, make: Callable[[], Any], settings: dict[str, Any]) -> None:
    while True:
        kind, parts = channel.receive()
        if kind != b"G":
            continue
        start = decode(parts[0])
        session = Session(channel, start, (decode(parts[1]), decode(parts[2])))
        session.begin()
        try:
            with _Driver(session) as driver:
                driver.drive(make())
        except ChannelClosedError:
            raise
        except Exception as error:  # noqa: BLE001 - an agent may raise anything; blame is decided outside
            if settings["debug"]:
                import pdb

                pdb.post_mortem(error.__traceback__)
            channel.send(b"X", encode(_failure(error)))
            continue
        except BaseException as error:
            if not _is_over(error):
                raise
        channel.send(b"K", *reports())


def _is_over(error: BaseException) -> bool:
    """Tell whether ``error`` only says that the harness ended the episode."""
    if isinstance(error, BaseExceptionGroup):
        return error.subgroup(EpisodeOver) is not None
    return isinstance(error, EpisodeOver)


class _Driver:
    """Drives one agent through one episode, whatever its shape."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._runner: asyncio.Runner | None = None

    def __enter__(self) -> _Driver:
        return self

    def __exit__(self, *_: object) -> None:
        # What an asynchronous agent left running must not go on into the next episode.
        if self._runner is not None:
            self._runner.close()

    def drive(self, agent: Any) -> None:
        session = self._session
        if hasattr(agent, "start"):
            self._await(agent.start(**_asked(agent.start, session)))
        if hasattr(agent, "play"):
            self._finish(self._await(agent.play(session)))
            return
        act = agent.act if hasattr(agent, "act") else agent
        extra = _asked(act, session, given=1)
        while not session.is_over:
            action = self._await(act(session.observation, **extra))
            if isinstance(action, Done | Infeasible):
                self._finish(action)
            else:
                session.step(action)

    def _finish(self, ending: Any) -> None:
        if isinstance(ending, Infeasible):
            self._session.infeasible(ending.reason)
        else:
            self._session.done(ending.answer if isinstance(ending, Done) else ending)

    def _await(self, value: Any) -> Any:
        # Not inspect.isawaitable: it costs more than the rest of a turn.
        if not hasattr(value, "__await__"):
            return value
        # Slow to import, and most agents are not asynchronous.
        import asyncio

        if self._runner is None:
            self._runner = asyncio.Runner()

        async def waited() -> Any:
            return await value

        return self._runner.run(waited())


def _asked(function: Callable[..., Any], session: Session, given: int = 0) -> dict[str, Any]:
    """Return what ``function`` asks for by argument name, after the first ``given``."""
    try:
        parameters = list(inspect.signature(function).parameters.values())[given:]
    except (TypeError, ValueError):
        return {}
    if any(item.kind is item.VAR_KEYWORD for item in parameters):
        return {name: getattr(session, name) for name in _START}
    return {item.name: getattr(session, item.name) for item in parameters if item.name in _START}


def _failure(error: Exception) -> dict[str, Any]:
    is_ours = isinstance(error, AgentError)
    blame = "provider" if is_providers(error) else "agent" if is_ours else "unclassified"
    used, blocked = reports()
    return {
        "blame": blame,
        "blocked": blocked,
        "code": error.code if isinstance(error, CleandeskError) else "",
        "message": error.message if isinstance(error, CleandeskError) else text_of(error),
        "traceback": "".join(traceback.format_exception(error))[-8000:],
        "usage": used,
    }


if __name__ == "__main__":
    main()
