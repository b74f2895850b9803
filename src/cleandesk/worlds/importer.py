"""The importer: a clean process that has imported a world and never steps it.

It forks a child for each world that is asked for. The child's channel comes with the
request, so that whoever asked talks to the child alone. Two importers serve one world
reference: one for the runs, one that builds independently; these two differ in hash
seed and in the states of the global random generators, because two forks of one
process share both and would agree falsely.
"""

from __future__ import annotations

import random
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cleandesk.errors import CleandeskError, WorldError
from cleandesk.finding import find, look_in, source_digest
from cleandesk.processes import channel_of_arguments, serve_forks
from cleandesk.state import decode, encode
from cleandesk.state.contract import Contract
from cleandesk.worlds.network import guard_network
from cleandesk.worlds.serve import arguments_of, serve_world


def main() -> None:
    """Import the world named in the first frame, then fork a child per request."""
    channel = channel_of_arguments()
    requests = socket.socket(fileno=int(sys.argv[3]))
    _, (hello,) = channel.receive()
    settings: dict[str, Any] = decode(hello)
    look_in(settings["path"])
    guard_network(settings["network"])
    try:
        factory, leading = find_world(settings["reference"], settings["path"])
        if not isinstance(factory, Contract):
            prepare_world(factory, leading)
            arguments_of(factory)
    except CleandeskError as error:
        channel.send(b"X", encode([error.code, error.message, error.where, error.do]))
        return
    seed_globals(settings["variant"])
    about = described(factory, settings)
    load_readers(Contract.from_plain(about["contract"]) if about["contract"] else None)
    channel.send(b"I", encode(about))
    serve_forks(channel, requests, lambda given: serve_world(given, factory, leading))


def find_world(reference: str, folders: Sequence[str]) -> tuple[Any, tuple[Any, ...]]:
    """Return the class or function that builds ``reference``, and its leading arguments.

    ``gym:ID`` and other schemes of registered bridges give the bridge and the ID. A
    relative path of a file is looked for in ``folders`` first.

    Raises:
        WorldError: CD-201, there is no such world.
    """
    from cleandesk.finding import registered

    scheme, _, rest = reference.partition(":")
    is_file = scheme.endswith(".py") or Path(scheme).exists()
    # What has a dot is a module: then the installed packages need not be searched.
    if rest and not is_file and "." not in scheme and scheme in registered("bridge"):
        return find("bridge", scheme), (rest,)
    factory = find("world", reference, folders=folders)
    if not callable(factory) and not isinstance(factory, Contract):
        raise WorldError(
            "CD-201",
            f"{reference!r} is no class or function but a {type(factory).__name__}",
            where=f"world {reference!r}",
            do="name the class of the world",
        )
    return factory, ()


def prepare_world(factory: Any, leading: tuple[Any, ...]) -> None:
    """Let a bridge import now what it would otherwise import in every child."""
    prepare = getattr(factory, "prepare", None)
    # A world of the user's may have a method of that name, for its own ends.
    if prepare is not None and leading:
        prepare(*leading)


def described(factory: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is known of a world before it is built: contract, file, source digest."""
    early = factory if isinstance(factory, Contract) else getattr(factory, "contract", None)
    where, _, _ = settings["reference"].rpartition(":")
    # A contract is made of a class of ours; where it was written down is what counts.
    home = where if isinstance(factory, Contract) else getattr(factory, "__module__", "")
    module = sys.modules.get(home)
    file = getattr(module, "__file__", None) or (where if where.endswith(".py") else "")
    return {
        "contract": early.to_plain() if isinstance(early, Contract) else None,
        "file": file,
        "source": source_digest(factory),
    }


def load_readers(terms: Contract | None) -> None:
    """Import now what reading this contract needs: in every child it would cost its start."""
    kinds = {surface.kind for surface in terms.surfaces.values()} if terms is not None else set()
    if terms is not None and terms.clock is not None:
        import cleandesk.worlds.clocks
    if "process" in kinds:
        import cleandesk.surfaces.process.reading
    if kinds - {"objects"}:
        # Also for at.serve, which asks whether a program is ready.
        import cleandesk.surfaces.http.reading
        import cleandesk.worlds.apps  # noqa: F401


def seed_globals(variant: int) -> None:
    """Put the global random generators in the state of ``variant``: 0 or 1."""
    random.seed(variant)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(variant)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(variant)


if __name__ == "__main__":
    main()
