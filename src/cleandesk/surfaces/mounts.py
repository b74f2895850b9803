"""A private mount namespace of this process, and how another process enters it.

What is mounted here is seen by nobody else and is gone with the last process that is
inside, whichever way that ends. Linux alone; whatever is not permitted is said with its
reason, so that a surface can do without.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import ClassVar

from cleandesk.errors import WorldError

_NEW_MOUNTS, _NEW_USERS = 0x00020000, 0x10000000
_PRIVATE, _RECURSIVE, _BIND, _REMOUNT, _READ_ONLY = 1 << 18, 1 << 14, 1 << 12, 1 << 5, 1
_DETACH = 2
_CAPABILITIES_3 = 0x20080522
_DROP_BOUND = 24
_LAST_CAPABILITY = 63
_libc = ctypes.CDLL(None, use_errno=True)


class UnavailableError(Exception):
    """This machine or this process may not do it; the message says why."""


class _State:
    """What this process has made so far."""

    holder: int | None = None
    refused: str | None = None
    stays: bool = False
    # Number of a mount that was taken away while somebody used it -> where it was.
    left: ClassVar[dict[int, str]] = {}


def namespace() -> int | None:
    """Return this process's id if it made a namespace of its own, else None."""
    # A fork is inside the namespace too, and it is not the one to be asked for.
    return _State.holder if _State.holder == os.getpid() else None


@contextlib.contextmanager
def staying() -> Iterator[None]:
    """Have this process keep the mounts that it has: it is somebody else's, not a worker of ours.

    A namespace can't be left again, and what else it runs would find itself in it.
    """
    before, _State.stays = _State.stays, True
    try:
        yield
    finally:
        _State.stays = before


def stays() -> bool:
    """Tell whether this process is to keep its mounts."""
    return _State.stays


def hold(tried: Callable[[], None]) -> None:
    """Make the private namespace of this process, once; it can't be left again.

    Args:
        tried: What is to work inside; it is tried in a child first, and what it
            raises there (``UnavailableError``, ``OSError``) is the reason.

    Raises:
        UnavailableError: It can't be made, or ``tried`` does not work in it.
    """
    if namespace() is not None:
        return
    if _State.refused is not None:
        raise UnavailableError(_State.refused)
    if not sys.platform.startswith("linux"):
        raise UnavailableError(f"{sys.platform} has no overlay")
    if len(os.listdir("/proc/self/task")) > 1:  # noqa: PTH208 - only counted
        raise UnavailableError("this process has other threads")
    reason = _reason_in_child(tried)
    if reason:
        _State.refused = reason
        raise UnavailableError(reason)
    _enter_new()
    _State.holder = os.getpid()


def enter(holder: int) -> None:
    """Enter the mounts of the process ``holder``; for a process of one thread.

    The working folder stays the same path. Whatever capabilities the entry gives are
    dropped: a world is to meet the permissions that it would meet outside.

    Raises:
        WorldError: CD-241, it can't be entered.
    """
    place = Path.cwd()
    try:
        opened = []
        for kind, flag in (("user", _NEW_USERS), ("mnt", _NEW_MOUNTS)):
            theirs = f"/proc/{holder}/ns/{kind}"
            if Path(theirs).stat().st_ino != Path(f"/proc/self/ns/{kind}").stat().st_ino:
                # All are opened first: from inside, /proc may show another picture.
                opened.append((os.open(theirs, os.O_RDONLY | os.O_CLOEXEC), flag))
        for fd, flag in opened:
            _call("setns", fd, flag)
            os.close(fd)
        os.chdir(place)
        if any(flag == _NEW_USERS for _, flag in opened):
            _drop_capabilities()
    except OSError as error:
        raise WorldError(
            "CD-241",
            f"the world can't see the folders that were mounted for it: {error.strerror}",
            where=f"mounts of process {holder}",
            do='start no threads before the world is built, or say method="portable"',
        ) from error


def mount_overlay(lower: Path, upper: Path, work: Path, place: Path) -> str:
    """Mount ``lower`` with everything that is written going to ``upper``.

    Returns:
        The prefix of the attributes in which the kernel keeps its marks.

    Raises:
        OSError: It can't be mounted.
    """
    prefix = _mark_prefix(upper)
    more = ",userxattr" if prefix.startswith("user.") else ",metacopy=off"
    with contextlib.ExitStack() as stack:
        # Named by descriptor: neither length nor special signs of a path matter then.
        ways = [stack.enter_context(_pinned(each)) for each in (lower, upper, work)]
        text = "lowerdir={},upperdir={},workdir={},redirect_dir=nofollow,index=off".format(*ways)
        try:
            # Without "volatile" the end of each mount waits for the disk.
            _mount("overlay", place, "overlay", 0, f"{text}{more},volatile")
        except OSError:
            _mount("overlay", place, "overlay", 0, text + more)
    return prefix


def _mark_prefix(upper: Path) -> str:
    """Return where the kernel can keep its marks on this file system, for us.

    Raises:
        OSError: Nowhere: then a mount would work and writing to it would not.
    """
    for kind in ("trusted.", "user."):
        try:
            os.setxattr(upper, f"{kind}cleandesk", b"")
            os.removexattr(upper, f"{kind}cleandesk")
        except OSError:
            continue
        return f"{kind}overlay."
    raise OSError(errno.ENOTSUP, "the file system has no extended attributes")


@contextlib.contextmanager
def _pinned(path: Path) -> Iterator[str]:
    fd = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{fd}"
    finally:
        os.close(fd)


def mount_memory(place: Path) -> None:
    """Mount an empty file system in memory at ``place``.

    Raises:
        OSError: It can't be mounted.
    """
    _mount("tmpfs", place, "tmpfs", 0, "mode=0700")


def show_read_only(place: Path) -> None:
    """Let ``place`` be read alone from inside, where that can be done."""
    with contextlib.suppress(OSError):
        _mount(str(place), place, None, _BIND, None)
        _mount(None, place, None, _BIND | _REMOUNT | _READ_ONLY, None)


def unmount(place: Path) -> None:
    """Take away what is mounted at ``place``; who still uses it keeps it to himself.

    Raises:
        OSError: Nothing is mounted there.
    """
    try:
        _call("umount2", os.fsencode(place), 0)
    except OSError:
        with _pinned(place) as way:
            number = mount_number(way)
        _call("umount2", os.fsencode(place), _DETACH)
        _State.left[number] = str(place)


def mount_number(way: str) -> int:
    """Return the number of the mount that ``/proc/PROCESS/fd/NUMBER`` lies on.

    Raises:
        OSError: There is no such descriptor, or it may not be looked at.
    """
    lines = Path(way.replace("/fd/", "/fdinfo/")).read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("mnt_id:"))


def still_used(places: Collection[str]) -> dict[int, str]:
    """Return the mounts that were taken from ``places`` while somebody used them: number -> place.

    They are told once: whoever is told looks whether somebody still does.
    """
    found = {number: place for number, place in _State.left.items() if place in places}
    for number in found:
        del _State.left[number]
    # Of one that is gone the number may be given again, also to what is mounted there now.
    lines = Path("/proc/self/mountinfo").read_text().splitlines() if found else ()
    return {number: found[number] for number in found.keys() - {int(e.split()[0]) for e in lines}}


def _enter_new() -> None:
    uid, gid = os.geteuid(), os.getegid()
    if uid == 0:
        _call("unshare", _NEW_MOUNTS)
    else:
        _call("unshare", _NEW_MOUNTS | _NEW_USERS)
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{uid} {uid} 1"),
            ("gid_map", f"{gid} {gid} 1"),
        ):
            Path(f"/proc/self/{name}").write_text(text)
    _mount(None, Path("/"), None, _RECURSIVE | _PRIVATE, None)


def _reason_in_child(tried: Callable[[], None]) -> str:
    """Return why it does not work, empty if it does: tried in a child, it costs nothing here."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        answer = "-it failed"
        try:
            _enter_new()
            tried()
            answer = "+"
        except (OSError, UnavailableError) as error:
            answer = f"-{error}"
        finally:
            os.write(write, answer.encode(errors="replace")[:500])
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as held:
        answer = held.read().decode(errors="replace")
    # Whoever ignores the end of its children has none to wait for.
    with contextlib.suppress(ChildProcessError):
        os.waitpid(child, 0)
    return "" if answer == "+" else answer[1:] or "it ended"


def _drop_capabilities() -> None:
    for number in range(_LAST_CAPABILITY + 1):
        # Those that this kernel does not have are refused; that is fine.
        _libc.prctl(_DROP_BOUND, number, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES_3, 0)
    _call("capset", header, (ctypes.c_uint32 * 6)())


def _mount(source: str | None, place: Path, kind: str | None, flags: int, data: str | None) -> None:
    texts = [None if text is None else os.fsencode(text) for text in (source, kind, data)]
    _call("mount", texts[0], os.fsencode(place), texts[1], ctypes.c_ulong(flags), texts[2])


def _call(name: str, *arguments: object) -> None:
    if getattr(_libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
