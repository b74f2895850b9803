"""What the walk never enters. The list is fixed, and printed beside every verdict."""

from __future__ import annotations

import sys
from typing import Any

SKIPPED: tuple[str, ...] = (
    "modules and classes of the standard library, and of numerical, graphics and engine "
    "packages (numpy, scipy, torch, jax, tensorflow, pygame, mujoco, Box2D, pymunk and the like): "
    "their globals and class attributes are not read",
    "global registries: the specs of Gymnasium's registry, loggers, threads, locks and sockets",
    "what Gymnasium's PassiveEnvChecker notes of the calls that it checked once",
    "views of the same engine memory: the named indexers of dm_control",
    "names with two underscores at both ends, save in a container's own attributes",
    "methods, properties and functions themselves; their cells, mutable defaults, attributes "
    "and caches are read",
    "modules that no class of a walked object, and no function used beside it, comes from",
    "the order in which a set is iterated, and aliases of what lies inside a plain container",
    "the random state from which a generator was once seeded",
)
"""A sentence for each kind of state that no walk looks at."""

_PACKAGES = frozenset(
    [
        "numpy",
        "scipy",
        "torch",
        "torchvision",
        "jax",
        "jaxlib",
        "flax",
        "tensorflow",
        "keras",
        "pandas",
        "matplotlib",
        "PIL",
        "cv2",
        "imageio",
        "moviepy",
        "pygame",
        "mujoco",
        "Box2D",
        "pymunk",
        "pybullet",
        "pybullet_utils",
        "OpenGL",
        "glfw",
        "lxml",
        "absl",
        "numba",
        "llvmlite",
        "sympy",
        "networkx",
        "cffi",
        "_cffi_backend",
        "typing_extensions",
        "cloudpickle",
        "importlib_metadata",
        "attr",
        "attrs",
        "pydantic",
        "pydantic_core",
        "h5py",
        "requests",
        "urllib3",
        "setuptools",
        "pkg_resources",
        "psutil",
        "tqdm",
        "yaml",
        "orjson",
        "msgspec",
        "click",
        "rich",
        "coverage",
        "pytest",
        "_pytest",
        "pluggy",
        "hypothesis",
        "ale_py",
        "dm_tree",
        "tree",
        "google",
        "labmaze",
        "pybind11_builtins",
        "mypy_extensions",
    ]
)

_OPENED = frozenset(
    [
        "collections",
        "types",
        "argparse",
        "string",
        "fractions",
        "statistics",
        "queue",
        "functools",
        "random",
        "contextlib",
        "configparser",
        "graphlib",
        "calendar",
        "dataclasses",
        "numbers",
        "builtins",
        "copy",
        "shelve",
        "html",
        "textwrap",
        "optparse",
        "sched",
        "heapq",
        "bisect",
        "ipaddress",
        "secrets",
        "typing",
        "abc",
        "_collections_abc",
    ]
)
"""Modules of the standard library whose objects are walked like any other."""

_FRAMEWORKS = frozenset({"gymnasium", "gym", "pettingzoo", "dm_control", "dm_env", "cleandesk"})
"""Packages whose modules are read where a walked class is defined, and no further."""

_NOTHING = frozenset(
    {
        ("gymnasium.envs.registration", "EnvSpec"),
        ("gymnasium.envs.registration", "WrapperSpec"),
        ("gym.envs.registration", "EnvSpec"),
        ("logging", "Logger"),
        ("logging", "RootLogger"),
        ("logging", "LoggerAdapter"),
        ("dm_control.mujoco.index", "FieldIndexer"),
        ("dm_control.mujoco.index", "RegularNamedAxis"),
        ("dm_control.mujoco.index", "RaggedNamedAxis"),
    }
)
"""Types of which nothing is recorded at all."""

_SPECS = frozenset({"spec", "_cached_spec"})
_CHECKER = _SPECS | {
    "checked_reset",
    "checked_step",
    "checked_render",
    "checked_data_reuse",
    "close_called",
    "_previous_data",
}
_THREAD = frozenset({"_ident", "_native_id", "_name", "_tstate_lock", "_started", "_handle"})
_ENGINE = frozenset(
    {
        "this",
        "_b2World__data",
        "allowSleeping",
        "_body",
        "_data_handle",
        "_constraints",
        "_space",
        "_shape",
        "_h",
        "_id",
        "_constraint",
        "_client",
        "_pid",
        "_a",
        "_b",
    }
)
"""Names under which wrappers of engines keep addresses; what is behind them is read."""
_NONE: frozenset[str] = frozenset()


def module_of(kind: Any) -> str:
    """Return the name of the module that defines a class or function."""
    # Types that compiled code makes may have none, and a class may set anything.
    name = getattr(kind, "__module__", "")
    return name if type(name) is str else ""


def name_of(kind: Any) -> str:
    """Return a class's or function's name with its module, as ``module:Qualname``."""
    return f"{module_of(kind) or 'unknown'}:{getattr(kind, '__qualname__', '?')}"


def is_foreign(module: str) -> bool:
    """Tell whether a module belongs to the standard library or to a package left out."""
    top = module.partition(".")[0]
    return not top or top in sys.stdlib_module_names or top in _PACKAGES


def is_left_out(kind: type) -> bool:
    """Tell whether instances of ``kind`` are not recorded at all."""
    return any((module_of(each), each.__name__) in _NOTHING for each in kind.__mro__)


def is_closed(kind: type) -> bool:
    """Tell whether a class of the standard library keeps what no reset could restore."""
    top = module_of(kind).partition(".")[0]
    return top in sys.stdlib_module_names and top not in _OPENED


def names_left_out(kind: type) -> frozenset[str]:
    """Return the attributes of instances of ``kind`` that are not state."""
    tops = {module_of(each).partition(".")[0] for each in kind.__mro__}
    if tops & {"Box2D", "pymunk", "pybullet_utils"}:
        return _ENGINE
    names = {(module_of(each).partition(".")[0], each.__name__) for each in kind.__mro__}
    if ("gymnasium", "PassiveEnvChecker") in names:
        return _CHECKER
    if names & {("gymnasium", "Env"), ("gymnasium", "Wrapper"), ("gym", "Env")}:
        return _SPECS
    return _THREAD if ("threading", "Thread") in names else _NONE


def is_followed(name: str, home: str) -> bool:
    """Tell whether a module leads on from another: both are of one package, a rig's own."""
    is_near = name.partition(".")[0] == home.partition(".")[0]
    return name != home and is_near and not is_framework(home)


def is_framework(module: str) -> bool:
    """Tell whether a module belongs to a package that is read only where it is used."""
    return module.partition(".")[0] in _FRAMEWORKS
