"""The inventory: tools that ask warehouses for their stock, through a cache.

Reading the stock changes nothing that an agent asked for, and still leaves something
behind: the cache. Which kind of cache the world has says what the next episode sees.

==============  ======================  ================  ==================================
``cache``       key                     survives a reset  what the contract says of it
==============  ======================  ================  ==================================
``episode``     item, warehouse         no                incidental
``snapshot``    item, warehouse, stock  yes               declared: any entries; the key makes
                                                          a wrong answer impossible
``warm``        item, warehouse         yes               declared, in a contract of its own
                                                          name: a labelled warm-cache variant
``stale``       item, warehouse         yes               incidental; a leak planted on purpose
==============  ======================  ================  ==================================
"""

from __future__ import annotations

import hashlib
from typing import Any, Literal

from cleandesk.errors import WorldError, shown
from cleandesk.state.canon import encode
from cleandesk.state.contract import Contract, contract
from cleandesk.surfaces.objects import objects
from cleandesk.worlds.at import At
from cleandesk.worlds.calls import refusal

WAREHOUSES = ("HZ", "SZ")
ITEMS = ("bolt", "nut")

_CALL_SECONDS = 30.0
_MOST_DRAWN = 9

Stock = dict[str, dict[str, int]]
Step = tuple[dict[str, Any], float, bool, bool, dict[str, Any]]


class Inventory:
    """Warehouses with stock, a budget of calls, a cache, and faults by key.

    Every call costs one of the budget and half a minute of the world's time, also one
    that times out; one that breaks the tool contract costs nothing.

    Attributes:
        stock: Warehouse -> item -> how many it holds.
        reservations: What was reserved, in order.
        budget_left: How many calls are left.
        calls: Tool -> how often it was called.
        cache: Answers by key.
        faults: The faults shown so far: tool, arguments, fault.
        is_spent: A call was refused because the budget was spent.
    """

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

    def __init__(
        self,
        at: At,
        *,
        cache: Literal["episode", "snapshot", "warm", "stale"] = "episode",
        budget: int = 8,
    ) -> None:
        """Build the world, without any stock yet.

        Args:
            at: The place; it draws the stock and says which call is disturbed.
            cache: The kind of cache, see above.
            budget: How many calls one episode may make.

        Raises:
            WorldError: CD-231, there is no such kind of cache, or the budget is not a
                whole number of 1 or more.
        """
        if cache not in {"episode", "snapshot", "warm", "stale"}:
            raise WorldError(
                "CD-231",
                f"inventory has no cache {shown(repr(cache), 40)}",
                where="world 'inventory', with.cache",
                do="write episode, snapshot, warm or stale",
            )
        if type(budget) is not int or budget < 1:
            raise WorldError(
                "CD-231",
                f"a budget of {shown(repr(budget), 40)} calls can't be",
                where="world 'inventory', with.budget",
                do="write a whole number of 1 or more",
            )
        self.at = at
        self.contract = _contract(cache)
        self._cache_kind = cache
        self._budget = budget
        self.cache: dict[str, int] = {}
        self._begin({})

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Fill the warehouses; clear counters, faults and, as its kind says, the cache.

        Args:
            seed: Not used here: the stock is drawn from the episode's stream.
            options: ``{"stock": {warehouse: {item: quantity}}}`` in place of a draw.

        Raises:
            WorldError: CD-232, options that are something else.
        """
        del seed
        self._begin(self._drawn() if not options else _stock_of(options))
        if self._cache_kind == "episode":
            self.cache = {}
        return self._observe({}), {}

    def step(self, action: Any) -> Step:
        """Make one call.

        Returns:
            What the tool answered (``stock``, ``reserved`` or ``error``) and the budget
            left; True as the third value if the budget was spent already.
        """
        problem = self._broken_terms(action)
        if problem:
            return self._observe({}), 0.0, False, False, {"action_error": problem}
        if self.budget_left == 0:
            self.is_spent = True
            return self._observe({"error": "the budget is spent"}), 0.0, True, False, {}
        arguments = {name: value for name, value in action.items() if name != "do"}
        return self._observe(self._call(action["do"], arguments)), 0.0, False, False, {}

    def set_stock(self, item: str, warehouse: str, quantity: int) -> None:
        """Put ``quantity`` of an item into a warehouse, as a setup step may.

        Raises:
            ValueError: ``quantity`` is not a whole number of 0 or more.
        """
        if type(quantity) is not int or quantity < 0:
            raise ValueError(f"a warehouse can't hold {quantity!r}")
        self.stock.setdefault(warehouse, {})[item] = quantity

    def warm_cache(self) -> None:
        """Put the answer to every query into the cache, as a setup step may."""
        for warehouse, held in self.stock.items():
            for item in held:
                self._query(item, warehouse)

    def close(self) -> None:
        """Release nothing; there is nothing to release."""

    def _begin(self, stock: Stock) -> None:
        self.stock = stock
        self.reservations: list[dict[str, Any]] = []
        self.budget_left = self._budget
        self.calls = {str(tool["do"]): 0 for tool in self.tools}
        self.faults: list[dict[str, Any]] = []
        self.is_spent = False

    def _drawn(self) -> Stock:
        source = self.at.rng("stock")
        return {
            warehouse: {item: source.integer(0, _MOST_DRAWN) for item in ITEMS}
            for warehouse in WAREHOUSES
        }

    def _call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self.budget_left -= 1
        self.calls[tool] += 1
        self.at.clock.advance(_CALL_SECONDS)
        fault = self.at.disturbed(tool, **arguments)
        if fault is not None:
            self.faults.append({"tool": tool, "arguments": arguments, "fault": fault})
            return {"error": fault}
        return self._query(**arguments) if tool == "query" else self._reserve(**arguments)

    def _query(self, item: str, warehouse: str) -> dict[str, Any]:
        key = self._key(item, warehouse)
        if key not in self.cache:
            self.cache[key] = self.stock[warehouse][item]
        return {"stock": self.cache[key]}

    def _reserve(self, item: str, warehouse: str, quantity: int) -> dict[str, Any]:
        if quantity > self.stock[warehouse][item]:
            return {"error": f"{warehouse} does not hold {quantity}"}
        self.stock[warehouse][item] -= quantity
        self.reservations.append({"item": item, "warehouse": warehouse, "quantity": quantity})
        # Written through, so that within an episode every kind of cache is right.
        self.cache[self._key(item, warehouse)] = self.stock[warehouse][item]
        return {"reserved": quantity}

    def _key(self, item: str, warehouse: str) -> str:
        if self._cache_kind != "snapshot":
            return f"{item} {warehouse}"
        digest = hashlib.sha256(encode(self.stock)).hexdigest()[:16]
        return f"{item} {warehouse} {digest}"

    def _broken_terms(self, action: Any) -> str:
        """Say which term of the tool contract ``action`` breaks, or nothing."""
        problem = refusal(action, self.tools)
        if problem:
            return problem
        item, warehouse = action["item"], action["warehouse"]
        if type(warehouse) is not str or warehouse not in self.stock:
            known = ", ".join(self.stock)
            return f"there is no warehouse {shown(repr(warehouse), 60)}; there are {known}"
        if type(item) is not str or item not in self.stock[warehouse]:
            return f"{warehouse} has no item {shown(repr(item), 60)}"
        quantity = action.get("quantity", 1)
        if type(quantity) is not int or quantity < 1:
            return f"{shown(repr(quantity), 60)} is not a quantity of 1 or more"
        return ""

    def _observe(self, answer: dict[str, Any]) -> dict[str, Any]:
        return {
            **answer,
            "warehouses": sorted(self.stock),
            "items": sorted({item for held in self.stock.values() for item in held}),
            "budget_left": self.budget_left,
        }


def _contract(cache: str) -> Contract:
    names = {"snapshot": "inventory-snapshot", "warm": "inventory-warm"}
    survives = cache in names
    return contract(
        names.get(cache, "inventory"),
        "1",
        desk=objects(
            "stock",
            "reservations",
            "budget_left",
            "calls",
            "cache",
            "faults",
            "is_spent",
            incidental=[
                "budget_left",
                "calls",
                # Where the cache is declared, its entries still may change in the run.
                "cache[*]" if survives else "cache",
                "faults",
                "is_spent",
            ],
            declared={"cache": "any"} if survives else {},
        ),
        clock="2024-01-07T09:00:00Z",
    )


def _stock_of(options: dict[str, Any]) -> Stock:
    stock = options.get("stock")
    if set(options) != {"stock"} or not isinstance(stock, dict) or not stock:
        raise _bad_stock(f"{shown(repr(options), 80)} is not a stock")
    for warehouse, held in stock.items():
        if not isinstance(held, dict):
            raise _bad_stock(f"{warehouse} holds {shown(repr(held), 60)}, which is no table")
        for item, quantity in held.items():
            if type(quantity) is not int or quantity < 0:
                raise _bad_stock(f"{warehouse} can't hold {shown(repr(quantity), 60)} of {item}")
    return {warehouse: dict(held) for warehouse, held in stock.items()}


def _bad_stock(message: str) -> WorldError:
    return WorldError(
        "CD-232",
        message,
        where="world 'inventory', options",
        do="write options.stock = {HZ = {bolt = 2}, SZ = {bolt = 7}}",
    )
