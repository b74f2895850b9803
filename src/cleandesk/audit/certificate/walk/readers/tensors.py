"""Tensors of torch and arrays of jax, copied to the host; generators of torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cleandesk.audit.certificate.leaf import Kind, Leaf
from cleandesk.audit.certificate.walk.readers.protocol import REST


class Tensors:
    """Reads ``torch.Tensor``, ``torch.Generator`` and arrays of jax."""

    def takes(self, kind: type) -> bool:
        """Tell whether ``kind`` is a tensor, or a generator of torch."""
        return any(_is_tensor(each) or _is_generator(each) for each in kind.__mro__)

    def read(self, handle: Any) -> Mapping[str, object] | None:
        """Return the data, and what else belongs to a tensor."""
        if any(_is_generator(each) for each in type(handle).__mro__):
            state = np.array(handle.get_state().cpu().numpy())
            return {REST: Leaf(Kind.TOKEN, state.tobytes(), "torch.Generator")}
        if not hasattr(handle, "detach"):
            return {REST: Leaf(Kind.ARRAY, np.array(handle), "jax.Array")}
        host = handle.detach().cpu()
        about = f"{type(handle).__name__} {handle.dtype} on {handle.device}"
        found: dict[str, object] = {REST: Leaf(Kind.ARRAY, _numbers(host), about)}
        if handle.requires_grad:
            found["grad"] = handle.grad
        return found

    def write(self, handle: Any, name: str, leaf: Leaf) -> None:
        """Put the data back in place; torch only."""
        if name or not hasattr(handle, "detach"):
            raise LookupError("this part of a tensor can't be put back")
        import torch  # type: ignore[import-not-found, unused-ignore]

        with torch.no_grad():
            handle.detach().copy_(torch.from_numpy(np.array(leaf.value)).reshape(handle.shape))


def _numbers(host: Any) -> Any:
    try:
        return np.array(host.numpy())
    except TypeError:
        # numpy has no bfloat16 and the like; float32 holds each of their values.
        return np.array(host.float().numpy())


def _is_tensor(kind: type) -> bool:
    module = str(kind.__module__).partition(".")[0]
    return (module, kind.__name__) in {("torch", "Tensor"), ("jaxlib", "ArrayImpl")}


def _is_generator(kind: type) -> bool:
    return str(kind.__module__).startswith("torch") and kind.__name__ == "Generator"
