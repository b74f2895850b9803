"""The process that every process of a rule is forked from.

It is clean: it has imported what a case names and opened nothing, so that a fork starts
in milliseconds and shares no connection, lock or thread with anybody.
``python -m cleandesk.testing.nursery``
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import socket
import sys
import traceback

from cleandesk.channel import Channel, ChannelClosedError
from cleandesk.errors import CleandeskError
from cleandesk.processes import (
    channel_of_arguments,
    die_with_parent,
    end_all,
    tidy_with_parent,
)
from cleandesk.state import decode, encode
from cleandesk.testing.case import resolve
from cleandesk.testing.hand import serve

MOST_BYTES = 1 << 16


def main() -> None:
    """Fork a hand for each pair of descriptors that comes in."""
    channel = channel_of_arguments()
    requests = socket.socket(fileno=int(sys.argv[3]))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    tidy_with_parent()
    while True:
        data, descriptors, _, _ = socket.recv_fds(requests, MOST_BYTES, 2)
        if not data:
            end_all()
        asked = decode(data)
        sys.path[:] = asked["path"]
        for held in asked["needed"]:
            # What is wrong with it the hand will say.
            with contextlib.suppress(CleandeskError):
                resolve(held)
        for name in asked["modules"]:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        sys.stdout.flush()
        sys.stderr.flush()
        own = os.getpid()
        if os.fork() == 0:
            requests.close()
            channel.close()
            _hand(Channel(*descriptors), own)
        for descriptor in descriptors:
            os.close(descriptor)


def _hand(channel: Channel, parent: int) -> None:
    status = 1
    try:
        for descriptor in channel.descriptors:
            os.set_inheritable(descriptor, False)  # noqa: FBT003 - it takes no names
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        die_with_parent()
        os.setsid()
        # The parent may have ended before the kernel knew that this child ends with it.
        if os.getppid() == parent:
            channel.send(b"p", encode(os.getpid()))
            serve(channel)
            status = 0
    except ChannelClosedError:
        pass
    except BaseException:  # noqa: BLE001 - nothing may leave this function but by the next line
        traceback.print_exc()
    finally:
        # Not sys.exit: a fork must not run what its parent registered for its own end.
        os._exit(status)


if __name__ == "__main__":
    main()
