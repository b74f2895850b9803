"""Faults that are injected on purpose, by key.

A disturbance is part of the world, so what the agent makes of it is scored. It depends
on (instance, operation, arguments, count of that call) and on nothing else (law 9),
so that an unrelated call moves nothing. An outage depends on the instance, the
operation and the window of the world's time instead, so that faults come together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from cleandesk.seeding import stream
from cleandesk.state.canon import encode


class Disturbances:
    """The disturbances of one episode, with their counters.

    Each rule is a mapping with ``on`` (the operation) and ``fault`` (its name), and any
    of ``when`` (arguments that must be equal), ``count`` (which calls of one key, from
    1), ``share`` (of all keys and counts, in [0, 1]) and ``outage`` (``share`` of the
    windows of ``minutes``, in which every call fails).
    """

    def __init__(self, rules: Sequence[Mapping[str, Any]], *, instance: str, seed: int) -> None:
        self._rules = rules
        self._instance = instance
        self._seed = seed
        self._counts: Counter[bytes] = Counter()

    def fault(self, operation: str, arguments: Mapping[str, Any], now: datetime) -> str | None:
        """Count this call and return the fault to show, or None."""
        key = encode([self._instance, operation, dict(arguments)])
        self._counts[key] += 1
        for rule in self._rules:
            if rule["on"] == operation and self._fits(rule, arguments):
                # By what the rule says, not by its place: another rule moves nothing.
                drawn = encode(dict(rule)).decode(), key.decode()
                if self._strikes(rule, drawn, self._counts[key], now):
                    return str(rule["fault"])
        return None

    @staticmethod
    def _fits(rule: Mapping[str, Any], arguments: Mapping[str, Any]) -> bool:
        return all(arguments.get(name) == value for name, value in rule.get("when", {}).items())

    def _strikes(
        self, rule: Mapping[str, Any], drawn: tuple[str, str], count: int, now: datetime
    ) -> bool:
        if "outage" in rule:
            return self._is_out(rule, drawn[0], now)
        counts = rule.get("count")
        if counts is not None and count not in counts:
            return False
        if "share" in rule:
            source = stream(self._seed, "disturbance", *drawn, count)
            return source.random() < float(rule["share"])
        return True

    def _is_out(self, rule: Mapping[str, Any], spelled: str, now: datetime) -> bool:
        outage = rule["outage"]
        since_epoch = (now - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
        window = int(since_epoch // (60 * float(outage["minutes"])))
        source = stream(self._seed, "outage", spelled, self._instance, rule["on"], window)
        return source.random() < float(outage["share"])
