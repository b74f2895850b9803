"""The stock world: the inventory again, as a real program over a real database.

The app (``stock_app``) keeps what it was asked for in its own memory. Putting the
database back does not reach that memory: only ending the program does. With
``cache="keep"`` it lives on, and the next episode may be told the stock of the last.
"""

from __future__ import annotations

import http.client
import json
from typing import Any, Literal
from urllib.parse import urlencode, urlsplit

from cleandesk.errors import WorldError, shown
from cleandesk.state.contract import contract
from cleandesk.surfaces.http import http as service
from cleandesk.surfaces.sqlite import sqlite
from cleandesk.worlds.at import At
from cleandesk.worlds.calls import refusal

_COMMAND = "python -m cleandesk.worlds.stock_app --db {db} --port {port}"
_TIMEOUT_S = 20.0

Step = tuple[dict[str, Any], float, bool, bool, dict[str, Any]]


class Stock:
    """Two tools that ask and change the stock of warehouses, over HTTP.

    The records are ``db.stock`` and ``db.reservations``; ``app.cache`` is what the app
    keeps in its memory.
    """

    contract = contract(
        "stock",
        "1",
        db=sqlite("stock.sql"),
        app=service(cache="/cache", incidental=["cache"]),
    )
    pays = "end"
    tools = (
        {
            "do": "query",
            "says": "ask how many of an item a warehouse holds",
            "arguments": {"item": "text", "warehouse": "text"},
        },
        {
            "do": "reserve",
            "says": "reserve some of an item in a warehouse",
            "arguments": {"item": "text", "warehouse": "text", "quantity": "1 or more"},
        },
    )

    def __init__(self, at: At, *, cache: Literal["restart", "keep"] = "restart") -> None:
        """Start the app on the private copy of the database.

        Args:
            at: The place.
            cache: ``restart``: the app is restarted at each reset; ``keep``: it lives
                on, cache and all, a leak planted on purpose.

        Raises:
            WorldError: CD-267, there is no such kind of cache.
        """
        if cache not in {"restart", "keep"}:
            raise WorldError(
                "CD-267",
                f"stock has no cache {shown(repr(cache), 40)}",
                where="world 'stock', with.cache",
                do="write restart or keep",
            )
        self.app = at.serve(_COMMAND, ready="/healthz", idle="/idle", keep=cache == "keep")

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the first observation; database and app are put back by the harness."""
        del seed, options
        return self.observe(), {}

    def observe(self) -> dict[str, Any]:
        """Return what there is to ask for."""
        return self._ask("GET", "/places")

    def step(self, action: Any) -> Step:
        """Make one call.

        Returns:
            What the app answered (``stock``, ``reserved`` or ``error``) and what there
            is to ask for.
        """
        problem = refusal(action, self.tools)
        if problem:
            return self.observe(), 0.0, False, False, {"action_error": problem}
        given = {name: value for name, value in action.items() if name != "do"}
        if action["do"] == "query":
            answer = self._ask("GET", f"/stock?{urlencode(given)}")
        else:
            answer = self._ask("POST", "/reserve", given)
        return {**self.observe(), **answer}, 0.0, False, False, {}

    def set_stock(self, item: str, warehouse: str, quantity: int) -> None:
        """Put ``quantity`` of an item into a warehouse, as a setup step may.

        It is written past the app's cache.

        Raises:
            ValueError: There is no such item there, or ``quantity`` can't be.
        """
        given = {"item": item, "warehouse": warehouse, "quantity": quantity}
        answer = self._ask("POST", "/restock", given)
        if "error" in answer:
            raise ValueError(answer["error"])

    def close(self) -> None:
        """Stop the app."""
        self.app.stop()

    def _ask(self, method: str, path: str, given: Any = None) -> dict[str, Any]:
        place = urlsplit(self.app.url)
        connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=_TIMEOUT_S)
        try:
            body = None if given is None else json.dumps(given)
            connection.request(method, path, body)
            answer: dict[str, Any] = json.loads(connection.getresponse().read())
            return answer
        finally:
            connection.close()
