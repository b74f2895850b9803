"""Telling a provider that is out of reach from an agent that failed.

Client libraries are recognised by the shape of their errors, not imported: a status
code, or a class of theirs whose name says what happened.
"""

from __future__ import annotations

from collections.abc import Iterator

from cleandesk.errors import ProviderError
from cleandesk.worlds.network import NetworkBlockedError

_STATUSES = {408, 409, 425, 429, 500, 502, 503, 504, 529}
_LIBRARIES = {
    "aiohttp",
    "anthropic",
    "botocore",
    "cohere",
    "google",
    "groq",
    "httpcore",
    "httpx",
    "litellm",
    "mistralai",
    "openai",
    "requests",
    "urllib3",
}
_WORDS = ("RateLimit", "Timeout", "Connect", "Overloaded", "Unavailable", "InternalServer", "Quota")


def is_providers(error: BaseException) -> bool:
    """Tell whether ``error``, or what it was raised from, is the provider's.

    A group of errors is the provider's if each of its errors is.
    """
    if isinstance(error, BaseExceptionGroup):
        return all(is_providers(each) for each in error.exceptions)
    chain = list(_chain(error, set()))
    if any(isinstance(link, NetworkBlockedError) for link in chain):
        # The suite forbade the call, so nobody is known to be out of reach.
        return False
    return any(_is_one(link) for link in chain)


def _is_one(error: BaseException) -> bool:
    if isinstance(error, ProviderError | ConnectionError):
        return True
    status = getattr(error, "status_code", None)
    response = getattr(error, "response", None)
    if status is None and response is not None:
        status = getattr(response, "status_code", None)
    if status in _STATUSES:
        return True
    kind = type(error)
    return kind.__module__.split(".")[0] in _LIBRARIES and any(
        word in kind.__name__ for word in _WORDS
    )


def _chain(error: BaseException | None, seen: set[int]) -> Iterator[BaseException]:
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        if isinstance(error, BaseExceptionGroup):
            for each in error.exceptions:
                yield from _chain(each, seen)
        # `raise ... from None` says that what was there before is not the reason.
        hidden = None if error.__suppress_context__ else error.__context__
        error = error.__cause__ or hidden
