"""Apps: programs in any language that a world starts on its private copies.

An app is a child of the world's process, in a group of its own and in the world's
session, and ends with it. Whatever it started ends with it as well, even what left its
group: it is found by a mark in its environment.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypedDict, Unpack

from cleandesk.errors import WorldError, shown
from cleandesk.surfaces.process.wording import Own
from cleandesk.worlds.app_process import Around, Condition, Program, Running, start_program
from cleandesk.worlds.clocks import Pinned

_STARTS = 5
_LINE = "line:"


class How(TypedDict, total=False):
    """What else ``serve`` takes.

    Attributes:
        name: The app's name, ``app`` if not given.
        env: Variables over those of the world.
        cwd: The folder where it starts; the world's own if not given.
        timeout_s: How long to wait for readiness and for idleness, 30 if not given.
    """

    name: str
    env: Mapping[str, str]
    cwd: str
    timeout_s: float


class App:
    """One app, started and ready unless it was stopped.

    Attributes:
        name: Its name among the world's apps.
        keep: It goes on running while the copies are put back, with whatever it keeps
            in memory.
    """

    def __init__(self, program: Program, around: Around) -> None:
        self.name = program.name
        self.keep = program.keep
        self._program = program
        self._around = around
        self._running: Running | None = None
        self._port = 0
        self._is_proven = False

    @property
    def url(self) -> str:
        """Where it answers, such as ``http://127.0.0.1:40001``; after a restart, ask again."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def port(self) -> int:
        """The loopback port that it was given.

        Raises:
            WorldError: CD-264, its command has no ``{port}``.
        """
        if not self._program.has_port:
            raise self._program.refused("it has no port", "put {port} into its command")
        return self._port

    @property
    def pid(self) -> int:
        """Its process id.

        Raises:
            WorldError: CD-265, it is not running.
        """
        return self._alive().pid

    @property
    def has_port(self) -> bool:
        """Whether its command gives it a port."""
        return self._program.has_port

    @property
    def is_running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._running is not None and not self._running.has_ended()

    def start(self) -> None:
        """Start it and wait until it is ready; where it runs already, do nothing.

        The port stays the same where nobody took it meanwhile.

        Raises:
            WorldError: CD-261, it ended before it was ready; CD-262, it was not ready in
                time; CD-264, its command can't be run.
        """
        if self.is_running:
            return
        self.stop()
        for attempt in range(_STARTS):
            is_last = attempt == _STARTS - 1
            if self._program.has_port:
                self._port = self._around.free_port(self._port)
            self._is_proven = False
            self._running = start_program(self._program, self._port, self._around)
            if self._program.has_port:
                self._around.allow("127.0.0.1", self._port)
            try:
                self._await(self._running, self._program.ready, "CD-262", "ready")
            except WorldError as error:
                self.stop()
                # Between the choice and the program's own try, somebody took the port.
                was_taken = error.code == "CD-261" and self._around.is_taken(self._port)
                if is_last or not was_taken:
                    raise
            else:
                return

    def settle(self) -> None:
        """Wait until it is idle; without an idle condition, only look that it runs.

        Raises:
            WorldError: CD-263, it was not idle in time; CD-265, it has ended.
        """
        running = self._alive()
        if self._program.idle is not None:
            self._await(running, self._program.idle, "CD-263", "idle")

    def restart(self) -> None:
        """Stop it and start it again: what it kept in memory is gone."""
        self.stop()
        self.start()

    def stop(self) -> None:
        """End it and all that it started; one that has ended already is fine."""
        if self._running is not None:
            self._running.stop()
            self._running = None

    def own(self) -> Own:
        """Return what the harness holds for it in this process."""
        return self._running.own() if self._running is not None else Own()

    def _alive(self) -> Running:
        if self._running is None:
            raise self._program.failed("CD-265", "was stopped", "", "start it again")
        if self._running.has_ended():
            raise self._running.ended("CD-265", "ended by itself")
        return self._running

    def _await(self, running: Running, condition: Condition, code: str, word: str) -> None:
        deadline = time.monotonic() + self._program.timeout_s
        poll = select.poll()
        poll.register(running.handle, select.POLLIN)
        is_line = isinstance(condition, str) and condition.startswith(_LINE)
        if is_line:
            poll.register(running.output.signal_end, select.POLLIN)
        pause_s = 0.001
        while True:
            left_s = deadline - time.monotonic()
            # Asked once more at the end: a busy machine is no reason to give up unasked.
            if not is_line and self._holds(running, condition, max(left_s, 1.0)):
                return
            if left_s <= 0:
                text = f"was not {word} within {self._program.timeout_s:g} s"
                raise self._program.failed(
                    code, text, running.output_so_far(), "look at its output, or give timeout_s"
                )
            # A line and the end are events; a server can only be asked, ever slower.
            wait_s = left_s if is_line else min(pause_s, left_s)
            happened = {handle for handle, _ in poll.poll(wait_s * 1000)}
            if is_line and running.output.signal_end in happened:
                return
            if running.handle in happened:
                raise running.ended("CD-261", f"ended before it was {word}")
            pause_s = min(2 * pause_s, 0.1)

    def _holds(self, running: Running, condition: Condition, left_s: float) -> bool:
        if callable(condition):
            return bool(condition(self))
        # Not above: a world that serves nothing is spared what this loads.
        from cleandesk.surfaces.http.reading import is_answered

        if not is_answered(self.url, condition, min(left_s, 10.0)):
            return False
        # Asked once for each start: whoever listens goes on to listen.
        self._is_proven = self._is_proven or running.listens_at(self.port)
        return self._is_proven


class Apps:
    """The apps of one world."""

    def __init__(
        self,
        places: Mapping[str, str] | None = None,
        allow: Callable[[str, int], None] | None = None,
        clock: Pinned | None = None,
    ) -> None:
        """Start with none.

        Args:
            places: Name -> path or URL of the world's private copies, for ``{name}`` in
                commands.
            allow: Told of each app's address before it is asked anything, so that a
                guard of connections lets it through.
            clock: The clock tier, whose variables the apps get.
        """
        self._around = Around(
            places if places is not None else {}, allow or (lambda _host, _port: None), clock
        )
        self._apps: dict[str, App] = {}
        self._stopped: list[App] = []

    def serve(
        self,
        command: str | Sequence[str],
        *,
        ready: Condition,
        idle: Condition | None = None,
        keep: bool = False,
        **how: Unpack[How],
    ) -> App:
        """Start a program and wait until it is ready.

        Args:
            command: The words of the command, or one text that is split into words as a
                shell would; no shell is started. In each word ``{port}`` becomes a free
                loopback port and ``{db}`` the place of the surface ``db``. ``python`` as
                the first word is the interpreter that runs the world.
            ready: A path that must be answered with 200, a function that is called with
                the app, or ``line:REGEX`` for a line that it prints.
            idle: The same forms (but for a line): what must hold before state is read.
            keep: Let it run on while the copies are put back. What it keeps in memory
                then outlives the episode.
            how: See ``How``.

        Raises:
            WorldError: CD-261, it ended before it was ready; CD-262, it was not ready in
                time; CD-264, the command or a condition can't be meant.
        """
        program = Program.of(command, (ready, idle), self._around.places, keep=keep, how=dict(how))
        before = self._apps.get(program.name)
        if before is not None and before.is_running:
            raise program.refused("the world serves an app of this name already", "give a name")
        app = App(program, self._around)
        self._apps[program.name] = app
        app.start()
        return app

    def settle(self) -> None:
        """Wait until every running app is idle.

        Raises:
            WorldError: CD-263, one was not idle in time; CD-265, one ended by itself.
        """
        for app in self._served():
            app.settle()

    def stop_for_restore(self) -> None:
        """Stop the apps that are not to outlive a restore of their copies."""
        self._stopped = [app for app in self._served() if not app.keep]
        for app in self._stopped:
            app.stop()

    def start_after_restore(self) -> None:
        """Start what ``stop_for_restore`` stopped, and wait until it is ready."""
        stopped, self._stopped = self._stopped, []
        for app in stopped:
            app.start()

    def kept(self) -> tuple[str, ...]:
        """Return the names of the apps that outlive a restore."""
        return tuple(app.name for app in self._apps.values() if app.keep)

    def url_of(self, name: str | None = None) -> str:
        """Return the address of an app; without a name, of the only one.

        Raises:
            WorldError: CD-266, there is no such app, or more than one without a name.
        """
        if name is None and len(self._apps) == 1:
            return next(iter(self._apps.values())).url
        if name in self._apps:
            return self._apps[name].url
        known = ", ".join(self._apps) or "none"
        raise WorldError(
            "CD-266",
            f"the world serves no app {shown(repr(name), 40)}"
            if name is not None
            else f"the world serves {len(self._apps)} apps",
            where=f"http(..) of the contract; the apps: {known}",
            do="serve it in the world's constructor with at.serve, or name it: http(app=..)",
        )

    def urls(self) -> dict[str, str]:
        """Return name -> address of the apps that have a port."""
        return {name: app.url for name, app in self._apps.items() if app.has_port}

    def own(self) -> Own:
        """Return what the harness holds for all of them in this process."""
        held = [app.own() for app in self._apps.values()]
        return Own(
            frozenset(number for one in held for number in one.descriptors),
            frozenset(thread for one in held for thread in one.threads),
            frozenset(pid for one in held for pid in one.children),
        )

    def close(self) -> None:
        """Stop all apps and forget them."""
        for app in self._apps.values():
            app.stop()
        self._apps.clear()
        self._stopped = []

    def _served(self) -> Iterator[App]:
        # One that the world stopped itself is none of ours to wait for.
        return (app for app in self._apps.values() if app.own().children)
