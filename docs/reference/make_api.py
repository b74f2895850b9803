"""Writes api.md from the docstrings of the public names; run it after changing one."""

from __future__ import annotations

import enum
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cleandesk
from cleandesk.audit.certificate.settings import Settings as CertifySettings
from cleandesk.run.settings import Settings

_SETTINGS = {cleandesk.run: Settings, cleandesk.certify: CertifySettings}
PAGE = Path(__file__).with_name("api.md")

GROUPS = {
    "Running": "run RunResult load_suite Suite Task Blame verify classify compare_states",
    "Worlds": "World At Clock contract Contract propose_contract Proposal",
    "Certificates of resets": "certify Certificate certify_again certify_against write_reference "
    "certify_fleet sweep assert_resets guard LeakWarning Rig Recipe Outcome Declared Script",
    "Surfaces": "objects sqlite files postgres http process watch Watched",
    "Agents": "Session Step done Done infeasible Infeasible report_usage ProviderError",
    "Checkers": "passed fail Score Unscored Metric",
    "State": "Snapshot Change ABSENT diff fingerprint encode decode Pattern Named",
    "Numbers and chance": "estimate Estimate derive stream Stream",
    "Verdicts and errors": "Verdict Status CleandeskError",
    "Beginning": "begin demo catalogue",
}

INTRODUCTION = """\
# The Python interface

Made from the docstrings by `make_api.py`; edit those. Everything here is a name of the package: `import cleandesk as cd`. Names that are not on this page may change without notice.
"""

_WIDTH = 96
_SECTION = re.compile(r"^(Args|Attributes|Returns|Yields|Raises|Example|Source|Law):$")
_ITEM = re.compile(r"^(\*{0,2}\w[\w, *]*?): (.*)$")


def page() -> str:
    """Return the text of api.md."""
    listed = [name for names in GROUPS.values() for name in names.split()]
    if sorted(listed) != sorted(cleandesk.__all__):
        missing = sorted(set(cleandesk.__all__) ^ set(listed))
        raise SystemExit(f"the groups of make_api.py and the public names differ by {missing}")
    parts = [INTRODUCTION]
    for group, names in GROUPS.items():
        parts.append(f"## {group}\n")
        parts += [_entry(name, getattr(cleandesk, name)) for name in names.split()]
    return "\n".join(parts).rstrip() + "\n"


def _entry(name: str, found: Any) -> str:
    lines = [f"### {name}\n"]
    if inspect.isclass(found):
        lines += [_signature(name, found)] if _is_made(found) else []
    elif callable(found):
        lines.append(_signature(name, found))
    lines.append(_markdown(inspect.getdoc(found) or ""))
    if inspect.isclass(found):
        lines += _members(found)
    if found in _SETTINGS:
        text = _markdown(inspect.getdoc(_SETTINGS[found]) or "")
        lines.append(f"#### Settings of {name}\n\n{text}")
    return "\n".join(lines)


def _is_made(found: type) -> bool:
    is_protocol = getattr(found, "_is_protocol", False)
    return not is_protocol and not issubclass(found, enum.Enum | Warning)


def _signature(name: str, function: Any) -> str:
    signature = inspect.signature(function)
    given = list(_parameters(signature))
    bare = signature.return_annotation is inspect.Signature.empty
    end = "" if bare or inspect.isclass(function) else f" -> {signature.return_annotation}"
    one = f"{name}({', '.join(given)}){end}"
    if len(one) > _WIDTH:
        one = "\n".join([f"{name}(", *(f"    {text}," for text in given), f"){end}"])
    return f"```text\n{one}\n```\n"


def _parameters(signature: inspect.Signature) -> Iterator[str]:
    is_named_only = False
    last = None
    for parameter in signature.parameters.values():
        if last is parameter.POSITIONAL_ONLY is not parameter.kind:
            yield "/"
        last = parameter.kind
        if parameter.kind is parameter.VAR_POSITIONAL:
            is_named_only = True
        if parameter.kind is parameter.KEYWORD_ONLY and not is_named_only:
            is_named_only = True
            yield "*"
        yield _parameter(parameter)


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    # Annotations are texts here: they are shown as they are written in the source.
    kind = "" if parameter.annotation is parameter.empty else f": {parameter.annotation}"
    if parameter.default is parameter.empty:
        return f"{stars}{parameter.name}{kind}"
    default = repr(parameter.default)
    shown = "..." if default.startswith("<") else default
    return f"{parameter.name}{kind} = {shown}" if kind else f"{parameter.name}={shown}"


def _members(found: type) -> Iterator[str]:
    rows = []
    for name, member in vars(found).items():
        if name.startswith("_"):
            continue
        if isinstance(member, enum.Enum):
            rows.append(f"- `{name}`: `{member.value!r}`")
            continue
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if isinstance(function, property):
            rows.append(f"- `{name}`: {_first_line(function)}")
        elif inspect.isfunction(function):
            rows.append(f"- `{name}{_shape(function)}`: {_first_line(function)}")
    if rows:
        yield "\n".join(rows) + "\n"


def _shape(function: Any) -> str:
    given = [name for name in inspect.signature(function).parameters if name not in {"self", "cls"}]
    return f"({', '.join(given)})"


def _first_line(found: Any) -> str:
    return _plain((inspect.getdoc(found) or "").split("\n\n")[0].replace("\n", " "))


def _markdown(text: str) -> str:
    """Turn a docstring of Google's style into Markdown."""
    lines: list[str] = []
    for block in text.split("\n\n"):
        head, _, body = block.partition("\n")
        section = _SECTION.match(head)
        if section is None:
            lines += [_plain(block), ""]
        elif section[1] == "Example":
            lines += ["```text", textwrap.dedent(body), "```", ""]
        else:
            lines += [f"**{section[1]}**", "", *_items(textwrap.dedent(body)), ""]
    return "\n".join(lines)


def _items(body: str) -> Iterator[str]:
    held: list[str] = []
    for line in body.split("\n"):
        if line.startswith(" ") and held:
            held[-1] += " " + line.strip()
        elif held and not _ITEM.match(line):
            held[-1] += " " + line
        else:
            held.append(line)
    for text in held:
        found = _ITEM.match(text)
        yield f"- `{found[1]}`: {_plain(found[2])}" if found else _plain(text)


def _plain(text: str) -> str:
    return text.replace("``", "`")


if __name__ == "__main__":
    PAGE.write_text(page())
