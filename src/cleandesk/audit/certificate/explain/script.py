"""A script that reproduces a failure with nothing of cleandesk in it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from textwrap import indent, wrap
from typing import Any

from cleandesk.audit.certificate.explain import running
from cleandesk.audit.certificate.explain.shrink import Episode, Shrunk
from cleandesk.audit.certificate.rig import Recipe, Script
from cleandesk.errors import shown
from cleandesk.processes import kill_group
from cleandesk.state.pattern import Pattern

_COLUMNS = 100
_LONG = 60
_MOST_CHARACTERS = 60_000
_DEFINES_PLAIN = "def plain("
_PLAIN = '''
def plain(value, at="seen"):
    """Each part as text by where it stands, bit for bit: -0.0 is not 0.0, and NaN is NaN."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, (dict, list, tuple)) and value:
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        return {k: v for key, part in pairs for k, v in plain(part, f"{at}[{key!r}]").items()}
    is_plain = value is None or isinstance(value, (bool, int, float, complex, str, bytes))
    return {at: repr(value) if is_plain else type(value).__name__}

'''
_COMPARED = """
for step, (one, other) in enumerate(zip(fresh, after)):
    for at in {**one, **other}:
        if one.get(at) != other.get(at):
            print(f"step {step}, {at}: {one.get(at)} fresh, {other.get(at)} after the reset")
            sys.exit(1)
print("after the reset it says what a fresh build says")
"""


def script_text(
    written: Script,
    found: Shrunk,
    recipe: Recipe,
    *,
    expression: str = "",
    is_apart: bool = False,
    is_here: bool = False,
) -> str | None:
    """Return the script, or None where some action can't be written down.

    Args:
        written: How a person makes, resets and steps it.
        found: What is to be done.
        recipe: What it is made from.
        expression: A field, in terms of ``env``, where the rows are equal and fields differ.
        is_apart: Whether the fresh build is given a process of its own, where it can't
            leave anything in a class or module.
        is_here: Whether modules are also looked for where the script is run.
    """
    texts = [each.actions.to_python() for each in (*found.episodes, found.judged)]
    if None in texts:
        return None
    *dirty, judged = [text for text in texts if text is not None]
    lines = [
        *_play(written),
        *_PLAIN.split("\n"),
        *_runs(written.make, found, (dirty, judged), expression, is_apart=is_apart),
    ]
    text = "\n".join(lines) + _COMPARED
    imports = _imports(written, text, recipe if is_here else None)
    whole = "\n".join([*_title(found, recipe), *imports, text])
    return _without_machine(whole, recipe) if len(whole) <= _MOST_CHARACTERS else None


def _runs(
    make: str,
    found: Shrunk,
    texts: tuple[Sequence[str], str],
    expression: str,
    *,
    is_apart: bool,
) -> list[str]:
    """Return the lines that set ``fresh`` and ``after``."""
    dirty, judged = texts
    seed = found.judged.seed
    named = [_assigned("actions", judged)] if len(judged) > _LONG else []
    trace = "actions" if named else judged
    first, after = f"play({make}, {seed}, {trace})", f"play(env, {seed}, {trace})"
    history = [f"env = {make}", *_history(found.episodes, dirty)]
    if expression:
        named = _look(seed, expression)
        first, after = f"look({make})", "look(env)"
    if not is_apart:
        return [*named, f"fresh = {first}", *history, f"after = {after}"]
    apart = [
        "def fresh_build():",
        f"    return {first}",
        "",
        "",
        'with get_context("fork").Pool(1) as pool:',
        "    fresh = pool.apply(fresh_build)  # in a process of its own: classes live in a process",
    ]
    return [*named, *apart, *history, f"after = {after}"]


def _look(seed: int, expression: str) -> list[str]:
    return [
        "def look(env):",
        f"    play(env, {seed}, [])",
        f'    return [plain({expression}, "{expression}")]',
        "",
        "",
    ]


def _title(found: Shrunk, recipe: Recipe) -> list[str]:
    said = "does not give what a fresh build gives"
    if found.raised:
        said = f"raises {found.raised}, which a fresh build does not"
    what = f"reset(seed={found.judged.seed}) of {recipe.reference}"
    end = "Exit status 1 while that is so, and 0 once it is mended."
    text = f"After {_done(found.episodes)}, {what} {said}. {end}"
    return [f"# {line}" for line in wrap(text, _COLUMNS - 2)]


def _done(episodes: Sequence[Episode]) -> str:
    steps = sum(len(each.actions) for each in episodes)
    resets = f"{len(episodes)} reset{'s' if len(episodes) != 1 else ''}"
    return f"{resets} and {steps or 'no'} step{'s' if steps != 1 else ''}"


def _imports(written: Script, text: str, here: Recipe | None) -> list[str]:
    """Return what is needed of the lines before; ``plain`` has a shorter form here."""
    lines = [line for line in written.imports if not line.startswith(_DEFINES_PLAIN)]
    lines = [line for line in lines if line not in {"import sys", "import numpy as np"}]
    numpy = ["import numpy as np"] if "np." in "\n".join([text, *lines]) else []
    forks = ["from multiprocessing import get_context"] if "get_context" in text else []
    found = here.path if here is not None else ()
    folders = [f"sys.path.insert(0, {folder!r})" for folder in reversed(found)]
    return ["import sys", *forks, *folders, *lines, *numpy, ""]


def _play(written: Script) -> list[str]:
    is_plain = any(line.startswith(_DEFINES_PLAIN) for line in written.imports)
    said = "dict(seen)" if is_plain else "plain(seen)"
    return [
        "",
        "def play(env, seed, actions):",
        *(indent(line, "    ") for line in written.reset),
        f"    trace = [{said}]",
        "    for action in actions:",
        *(indent(line, "        ") for line in written.step),
        f"        trace.append({said})",
        "        if over:",
        "            break",
        "    return trace",
        "",
    ]


def _history(episodes: Sequence[Episode], texts: Sequence[str]) -> list[str]:
    """Return the lines that play the history; equal ones as a loop."""
    lines: list[str] = []
    done = 0
    while done < len(episodes):
        seeds = [each.seed for each in episodes[done:]]
        run = next(
            (n for n, text in enumerate(texts[done:]) if text != texts[done]), len(texts) - done
        )
        if run > 1:
            lines += [f"for seed in {seeds[:run]}:", f"    play(env, seed, {texts[done]})"]
        elif len(texts[done]) > _LONG:
            lines += [_assigned("before", texts[done]), f"play(env, {seeds[0]}, before)"]
        else:
            lines += [f"play(env, {seeds[0]}, {texts[done]})"]
        done += run
    return lines


def _assigned(name: str, text: str) -> str:
    """Return an assignment whose value goes on for as many lines as it needs."""
    if (
        len(name) + len(text) + 3 <= _COLUMNS
        or not text.startswith("[")
        or text.endswith("]") is False
    ):
        return f"{name} = {text}"
    inside = wrap(text[1:-1], _COLUMNS - 4, break_long_words=False, break_on_hyphens=False)
    if any(quote in text for quote in "'\""):
        return f"{name} = {text}"
    return "\n".join([f"{name} = [", *(f"    {line}" for line in inside), "]"])


def _without_machine(text: str, recipe: Recipe) -> str:
    """Write the folders of the recipe relative to the first, in which the script is run."""
    for folder in sorted(recipe.path, key=len, reverse=True):
        if folder.startswith("/") and len(folder) > 1:
            whole = folder.rstrip("/")
            text = text.replace(f"'{whole}'", "'.'").replace(f"{whole}/", "")
    return text


def expression_of(path: str, recipe: Recipe) -> str | None:
    """Return how a script reads a field of the innermost environment, or None."""
    root, *parts = Pattern.parse(path).parts
    if root != "env" or None in parts:
        return None
    text = "env.unwrapped" if recipe.reference.startswith(("gym:", "pettingzoo:")) else "env"
    for part in parts:
        name = str(part)
        if name.isidentifier():
            text += f".{name}"
        elif re.fullmatch(r"-?\d+", name):
            text += f"[{name}]"
        else:
            return None
    return text


def why_not_confirmed(text: str, recipe: Recipe, found: Shrunk, limit_s: float) -> str:
    """Run a script in a process of its own; return why it is no reproduction, or nothing.

    Args:
        text: The script.
        recipe: Its first folder is where the script is run.
        found: What it must show: the row at which it differs, or what it raises.
        limit_s: How long it may take.
    """
    with tempfile.TemporaryDirectory(prefix="cleandesk-") as folder:
        place = Path(folder) / "reproduce.py"
        place.write_text(text)
        private = Path(folder) / "tmp"
        private.mkdir()
        where = recipe.path[0] if recipe.path else str(private)
        try:
            status, said = _run(place, where, private, limit_s)
        except OSError as error:
            return f"the script could not be run: {error.strerror}"
    if status is None:
        return f"the script did not end within {limit_s:.0f} s"
    last = said.rstrip().rpartition("\n")[2]
    # A class of a package is named with its module.
    is_raised = bool(found.raised) and found.raised in last.partition(":")[0].split(".")
    if status != 1 or not (is_raised or last.startswith(f"step {found.row or 0}, ")):
        return f"the script ended with status {status} and said {shown(last, 200)!r}"
    return ""


def _run(place: Path, where: str, private: Path, limit_s: float) -> tuple[int | None, str]:
    environment = {
        **os.environ,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "random",
        "PYTHONWARNINGS": "ignore",
        "SDL_AUDIODRIVER": "dummy",
        "SDL_VIDEODRIVER": "dummy",
        "TMPDIR": str(private),
    }
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(  # noqa: S603 - the very script that is handed out
            [sys.executable, "-P", "-m", running.__name__, str(place)],
            cwd=where,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        status: int | None
        try:
            status = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            kill_group(process.pid)
            process.wait()
        output.seek(0, os.SEEK_END)
        output.seek(max(0, output.tell() - 4000))
        return status, output.read().decode(errors="replace")


def script_of(told: dict[str, Any] | None) -> Script | None:
    """Return what the rig said of how it is written, from plain values."""
    if told is None:
        return None
    return Script(
        tuple(told["imports"]), str(told["make"]), tuple(told["reset"]), tuple(told["step"])
    )
