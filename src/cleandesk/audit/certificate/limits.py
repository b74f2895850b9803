"""What a certificate did not look at, in sentences: they stand beside every verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cleandesk.audit.certificate import sentences
from cleandesk.audit.certificate.explain.scenario import Explained
from cleandesk.audit.certificate.fields import do_nodes_grow
from cleandesk.audit.certificate.judge import Judgement
from cleandesk.audit.certificate.seen import Seen, counted, listed
from cleandesk.audit.certificate.walk import SKIPPED
from cleandesk.errors import shown


def not_checked(
    seen: Seen, judgement: Judgement | None, explained: Explained | None
) -> tuple[str, ...]:
    """Return every limit.

    Args:
        seen: What was seen.
        judgement: What came of it, or None where nothing was judged.
        explained: Why it failed, or None.
    """
    said: list[str] = []
    if seen.sequence.cut:
        said.append(seen.sequence.cut)
    said += _of_horizon(seen)
    handles = seen.opaque
    if handles:
        names = listed([each.path for each in handles])
        count = counted(len(handles), "handle")
        said.append(sentences.OPAQUE(handles=count, names=names))
        said.append(sentences.OPAQUE_LIMIT())
    tokens = judgement.deviation.not_measurable if judgement and judgement.deviation else ()
    if tokens:
        count = counted(len(tokens), "field")
        said.append(sentences.TOKENS(fields=count, names=listed(tokens)))
    for each in dict.fromkeys(note for walked in seen.walks() for note in walked["notes"]):
        said.append(shown(each, 300))
    said += _unread(seen)
    said += [shown(each, 300) for each in seen.sequence.about["not_private"]]
    lost = dict.fromkeys(path for each in seen.passages for path in each.fresh["not_given"])
    if lost:
        said.append(sentences.NOT_GIVEN(names=listed([*lost])))
    said += seen.declaring.unchecked()
    if judgement is not None and do_nodes_grow(judgement.boundaries):
        said.append(sentences.NODES_GROW())
    if explained is not None:
        said += [text for text in (explained.outside_note, explained.no_repro) if text]
    said.append(sentences.SKIPPED(names="; ".join(SKIPPED)))
    said.append(sentences.MACHINE(machine=_machine(seen.stamp)))
    return tuple(dict.fromkeys(said))


def _of_horizon(seen: Seen) -> Iterable[str]:
    horizon = seen.horizon
    if not horizon.has_trace:
        yield sentences.NO_TRACE()
        return
    yield sentences.HORIZON(
        resets=counted(len(seen.passages), "reset"), steps=counted(horizon.steps, "step")
    )


def _unread(seen: Seen) -> Iterator[str]:
    for each in seen.passages:
        for channel, name in each.judged["unread"].items():
            yield sentences.UNREAD_CHANNEL(channel=channel, type=shown(name, 80))


def _machine(stamp: Mapping[str, Any]) -> str:
    machine = stamp.get("machine", {})
    return f"{machine.get('cpu', 'this processor')}, Python {machine.get('python', '')}"
