"""The episodes of a run that are still to be run."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from cleandesk.run.plan import Planned


class Queues:
    """The planned episodes, each with the number of its next attempt.

    Each shared world has a fixed share of the episodes, in order, so that what leaks
    from one into the next does not depend on who was idle first. Otherwise all workers
    take from one queue.
    """

    def __init__(self, planned: Sequence[Planned], shares: int) -> None:
        self._share = {item.episode: place % shares for place, item in enumerate(planned)}
        self._queues = [
            deque((item, 1) for item in planned[share::shares]) for share in range(shares)
        ]

    def take(self, worker: int, is_free: Callable[[Planned], bool]) -> tuple[Planned, int] | None:
        """Take the first episode for a worker for which ``is_free`` holds, with its attempt."""
        queue = self._queues[worker % len(self._queues)]
        for place, (item, attempt) in enumerate(queue):
            if is_free(item):
                del queue[place]
                return item, attempt
        return None

    def put_back(self, item: Planned, attempt: int, *, last: bool) -> None:
        """Put an episode back for one more attempt, as the next one or the last one."""
        queue = self._queues[self._share[item.episode]]
        (queue.append if last else queue.appendleft)((item, attempt))

    def drop(self, is_dropped: Callable[[Planned], bool]) -> list[Planned]:
        """Take out every episode for which ``is_dropped`` holds; return them."""
        dropped = []
        for queue in self._queues:
            held = list(queue)
            dropped += [item for item, _ in held if is_dropped(item)]
            queue.clear()
            queue.extend(pair for pair in held if not is_dropped(pair[0]))
        return dropped
