"""What a world promises: Gymnasium's ``reset``, ``step`` and ``close``, and a contract."""

from __future__ import annotations

from typing import Any, Protocol

from cleandesk.state.contract import Contract


class World(Protocol):
    """A test world. No base class is needed; these members are.

    The constructor may take ``at`` (see ``worlds/at.py``) and what the suite gives under
    ``with``. Optional members: ``pays = "end"`` (every step reward is 0), ``action_space``
    and ``observation_space`` (of Gymnasium), ``tools`` (the actions, described for
    agents), ``fire(event, **values)`` (events of the suite), ``observe()``
    (the first observation where setup steps came after ``reset``), ``not_read`` (what the
    world knows that its contract does not read), and the methods that setup steps call.
    """

    contract: Contract

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Return to the start of ``seed`` and return the first observation and info."""

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Carry out ``action``.

        Returns:
            observation, reward, terminated, truncated, info. ``info["action_error"]``
            says that the action could not be carried out; it is noted, not scored.
        """

    def close(self) -> None:
        """Release what the world holds."""
