"""Hand-written policies for grids and cards: toy text and MiniGrid.

Each maps an observation to an action and keeps nothing between two steps.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

# The best policy of the slippery 4 x 4 map: 0 left, 1 down, 2 right, 3 up, row by row.
_FROZEN_LAKE = (0, 3, 3, 3, 0, 0, 0, 0, 3, 1, 0, 0, 0, 2, 1, 0)

_CLIFF_WIDTH = 12
_UP, _RIGHT, _DOWN = 0, 1, 2

_TAXI_STOPS = ((0, 0), (0, 4), (4, 0), (4, 3))
# Pairs of columns between which a row of the taxi's map has a wall.
_TAXI_WALLS = {0: {(1, 2)}, 1: {(1, 2)}, 3: {(0, 1), (2, 3)}, 4: {(0, 1), (2, 3)}}
_PICK_UP, _DROP_OFF = 4, 5

_DOOR, _KEY, _GOAL = 4, 5, 8
_EMPTY, _FLOOR = 1, 3
_TURN_LEFT, _TURN_RIGHT, _FORWARD, _TAKE, _TOGGLE = 0, 1, 2, 3, 5
_AHEAD = ((0, -1), (1, 0), (0, 1), (-1, 0))

S = TypeVar("S")
Cell = tuple[int, int]


def frozen_lake(observation: Any) -> int:
    """Return the best direction on the slippery 4 x 4 map.

    Args:
        observation: The place, 0 to 15, row by row.
    """
    return _FROZEN_LAKE[int(observation)]


def cliff_walking(observation: Any) -> int:
    """Walk along the cliff: one up, all the way right, one down.

    Args:
        observation: The place, row by row; the start is 36, the goal 47.
    """
    row, column = divmod(int(observation), _CLIFF_WIDTH)
    if column == _CLIFF_WIDTH - 1:
        return _DOWN
    return _UP if row == 3 else _RIGHT


def blackjack(observation: Any) -> int:
    """Take a card (1) below 17, else stay (0).

    Args:
        observation: The sum, the dealer's card, whether an ace counts as 11.
    """
    return int(int(observation[0]) < 17)


def taxi(observation: Any) -> int:
    """Drive by the shortest way to the passenger, then to where they want to go.

    Args:
        observation: ((row * 5 + column) * 5 + passenger's stop) * 4 + destination; stop
            4 is the taxi itself.

    Returns:
        0 south, 1 north, 2 east, 3 west, 4 pick up, 5 drop off.
    """
    rest, destination = divmod(int(observation), 4)
    place, stop = divmod(rest, 5)
    is_aboard = stop == len(_TAXI_STOPS)
    goal = _TAXI_STOPS[destination if is_aboard else stop]
    way = _shortest(divmod(place, 5), _taxi_moves, lambda cell: cell == goal)
    return way[0] if way else (_DROP_OFF if is_aboard else _PICK_UP)


def _taxi_moves(cell: Cell) -> Iterator[tuple[int, Cell]]:
    row, column = cell
    walls = _TAXI_WALLS.get(row, set())
    if row < 4:
        yield 0, (row + 1, column)
    if row > 0:
        yield 1, (row - 1, column)
    if column < 4 and (column, column + 1) not in walls:
        yield 2, (row, column + 1)
    if column > 0 and (column - 1, column) not in walls:
        yield 3, (row, column - 1)


def mini_grid(observation: Mapping[str, Any]) -> int:
    """Walk to the goal; where a door is in the way, fetch the key and open it.

    Args:
        observation: ``image`` is what lies before the agent, columns x rows x (object,
            colour, state); the agent stands in the middle of the last row and looks
            towards the first. What it carries is shown where it stands.

    Returns:
        0 turn left, 1 turn right, 2 forward, 3 take, 5 open.
    """
    image = observation["image"]
    view = _View(image)
    for action, target in view.errands():
        way = view.way_to(target)
        if way is not None:
            return way[0] if way else action
    # Nothing that it looks for is in sight.
    return _TURN_LEFT


class _View:
    """What the agent of MiniGrid sees, and ways through it."""

    def __init__(self, image: Any) -> None:
        self._width, self._height = len(image), len(image[0])
        self._cells = {
            (x, y): tuple(int(part) for part in image[x][y])
            for x in range(self._width)
            for y in range(self._height)
        }
        self._own = (self._width // 2, self._height - 1)

    def errands(self) -> Iterator[tuple[int, Cell]]:
        """Yield (action, cell to stand before), the most wanted first."""
        has_key = self._cells[self._own][0] == _KEY
        for cell, (kind, _, _) in self._cells.items():
            if kind == _GOAL:
                yield _FORWARD, cell
        for cell, (kind, _, state) in self._cells.items():
            if kind == _DOOR and state == 0 and cell != self._own:
                yield _FORWARD, cell
            elif kind == _DOOR and (state == 1 or has_key):
                yield _TOGGLE, cell
            elif kind == _KEY and cell != self._own:
                yield _TAKE, cell

    def way_to(self, target: Cell) -> list[int] | None:
        """Return the moves after which the agent looks at ``target`` from next to it."""
        return _shortest(
            (*self._own, 0),
            self._moves,
            lambda state: self._before(state) == target,
        )

    def _moves(self, state: tuple[int, int, int]) -> Iterator[tuple[int, tuple[int, int, int]]]:
        x, y, heading = state
        yield _TURN_LEFT, (x, y, (heading - 1) % 4)
        yield _TURN_RIGHT, (x, y, (heading + 1) % 4)
        ahead = self._before(state)
        kind, _, door = self._cells.get(ahead, (0, 0, 0))
        if kind in {_EMPTY, _FLOOR} or (kind == _DOOR and door == 0):
            yield _FORWARD, (*ahead, heading)

    @staticmethod
    def _before(state: tuple[int, int, int]) -> Cell:
        across, along = _AHEAD[state[2]]
        return state[0] + across, state[1] + along


def _shortest(
    start: S, moves: Callable[[S], Iterator[tuple[int, S]]], is_goal: Callable[[S], bool]
) -> list[int] | None:
    """Return the fewest moves from ``start`` to a goal, or None if there is no way."""
    waiting: deque[tuple[S, list[int]]] = deque([(start, [])])
    seen = {start}
    while waiting:
        state, way = waiting.popleft()
        if is_goal(state):
            return way
        for move, reached in moves(state):
            if reached not in seen:
                seen.add(reached)
                waiting.append((reached, [*way, move]))
    return None
