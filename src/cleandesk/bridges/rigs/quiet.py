"""Building without a window, a sound or a warning about either."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterator

_HEADLESS = {
    "PYGAME_HIDE_SUPPORT_PROMPT": "1",
    "SDL_AUDIODRIVER": "dummy",
    "SDL_VIDEODRIVER": "dummy",
}


def headless() -> None:
    """Have the libraries that draw and play do so nowhere, unless the user chose already."""
    for name, value in _HEADLESS.items():
        os.environ.setdefault(name, value)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Leave out the warnings of what is imported and built: they are not about resets."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
