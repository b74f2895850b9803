"""What comes from the server, taken from libpq itself: each line and each way counts.

A cursor's own way costs several times as much, for a line and for a small statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any


def lines(connection: Any, query: str) -> Iterator[bytes]:
    """Yield the lines of a query's result in the text form of COPY."""
    link = connection.pgconn
    if _is_copying(link.exec_(f"COPY ({query}) TO STDOUT".encode())):
        size, data = link.get_copy_data(0)
        try:
            while size > 0:
                yield bytes(data)
                size, data = link.get_copy_data(0)
        finally:
            if size > 0:
                # Whoever reads does not want the rest: what is on the way is lost with it.
                connection.close()
    while (result := link.get_result()) is not None:
        _is_copying(result)


def batch(connection: Any, queries: Sequence[str]) -> list[list[bytes]]:
    """Return the lines of several queries that are sent in one go."""
    if not queries:
        return []
    link = connection.pgconn
    found = []
    result = link.exec_(";".join(f"COPY ({query}) TO STDOUT" for query in queries).encode())
    while result is not None:
        if _is_copying(result):
            held = []
            size, data = link.get_copy_data(0)
            while size > 0:
                held.append(bytes(data))
                size, data = link.get_copy_data(0)
            found.append(held)
        result = link.get_result()
    return found


def several(connection: Any, texts: Sequence[str]) -> list[list[tuple[str, ...]]]:
    """Run several statements in one go; return the rows of each as texts, a null as ""."""
    from psycopg import pq

    link = connection.pgconn
    link.send_query(";".join(texts).encode())
    found = []
    refused = None
    while (result := link.get_result()) is not None:
        if result.status == pq.ExecStatus.TUPLES_OK:
            found.append(_texts(result))
        elif result.status != pq.ExecStatus.COMMAND_OK:
            # The rest is taken all the same, so that the session stays of use.
            refused = result
    if refused is not None:
        raise _refused(refused)
    return found


def _texts(result: Any) -> list[tuple[str, ...]]:
    columns = range(result.nfields)
    return [
        tuple((result.get_value(row, column) or b"").decode() for column in columns)
        for row in range(result.ntuples)
    ]


def _is_copying(result: Any) -> bool:
    """Tell whether lines follow a result; what Postgres refused is raised."""
    from psycopg import pq

    if result.status == pq.ExecStatus.COPY_OUT:
        return True
    if result.status != pq.ExecStatus.COMMAND_OK:
        raise _refused(result)
    return False


def _refused(result: Any) -> Exception:
    from psycopg import DataError

    return DataError(result.error_message.decode("utf-8", "replace"))
