"""Every sentence that a certificate says, with the clause that it rests on.

A printed sentence is a promise. A test fails when one of these names no clause of the
specification, or when a clause has no test.

Source: docs/spec/certificate.md.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sentence:
    """A text with blanks.

    Attributes:
        clause: The clause that it rests on: ``C-36``.
        text: With ``{name}`` for each blank.
    """

    clause: str
    text: str

    def __call__(self, **blanks: object) -> str:
        """Return the text with its blanks filled in; what comes from a rig is not escaped.

        A text of a rig that holds braces is put in as it is and never read as a blank.
        """
        return self.text.format_map({name: str(value) for name, value in blanks.items()})


# --- Reasons: one of them stands in the second line of each certificate. ---

BIT_IDENTICAL = Sentence(
    "C-36",
    "{boundaries}: all fields that were read equal those of a fresh build, and every row of "
    "the trace does",
)
BIT_IDENTICAL_INERT = Sentence(
    "C-47",
    "{boundaries}: every row of the trace equals that of a fresh build; what differs ({inert}) "
    "moved no row",
)
STATE_CLEAN = Sentence(
    "C-37",
    "all fields that were read equal those of a fresh build; the rows differ, as those of two "
    "fresh builds do, and the final states are {deviation} apart (at most {tolerance})",
)
STATE_ONLY = Sentence(
    "C-38",
    "all fields that were read equal those of a fresh build; no trace was played, so what "
    "can't be read was not judged",
)
NOTHING_MOVED = Sentence(
    "C-30",
    "no action had an effect: all steps said the same, so that no reset had anything to "
    "restore; give the rig actions that it knows",
)
REFUSED_GLOBAL_RNG = Sentence(
    "C-22",
    "two fresh builds disagree in {varies}, and agree once the global random generators are "
    "held equal: no reset is judged",
)
REFUSED_HASH_ORDER = Sentence(
    "C-22",
    "two fresh builds disagree in {varies}, and agree once the hash seed is held equal: no "
    "reset is judged",
)
REFUSED_WALL_CLOCK = Sentence(
    "C-22",
    "two fresh builds disagree in {varies}, and agree once the clock is held equal: no reset "
    "is judged",
)
REFUSED_ENTROPY = Sentence(
    "C-22",
    "two fresh builds disagree in {varies}, whatever is held equal: no reset is judged",
)
REFUSED_UNSEEDED = Sentence(
    "C-22",
    "two fresh builds disagree in {varies}, and agree once the system's entropy is held "
    "equal: no reset is judged",
)
REFUSED_WALK = Sentence(
    "C-19",
    "looking at the rig changes what it does, in {varies}: no reset is judged",
)
FAIL_LEAKS = Sentence("C-40", "the reset does not restore {leaks}")
FAIL_DIFFERS = Sentence(
    "C-50",
    "{fields} differ from a fresh build after the reset; which of them is the cause was not "
    "told apart",
)
FAIL_HANDLE = Sentence(
    "C-50",
    "the reset keeps {handle}, and what it holds differs from that of a fresh build: it can't "
    "be put back field by field",
)
FAIL_NO_TRACE = Sentence(
    "C-50",
    "after the reset {fields} is not as in a fresh build; without a trace nothing can be shown "
    "to be without effect",
)
FAIL_UNNAMED = Sentence(
    "C-44",
    "the trace differs from that of a fresh build and no field does: the divergence lives "
    "outside what was read; {opaque}",
)
FAIL_UNNAMED_BUT_CARRIED = Sentence(
    "C-44",
    "the trace differs from that of a fresh build; no field did after the reset, and at the "
    "end {fields} can't be bounded",
)
FAIL_DEVIATION = Sentence(
    "C-37",
    "all fields that were read equal those of a fresh build after the reset; the rows differ, "
    "and the final states are {deviation} apart (more than {tolerance})",
)
SEEN_OUTSIDE = Sentence("C-44", "outside the rig, {says}")
FAIL_INFO = Sentence(
    "C-43",
    "the trace differs from that of a fresh build, first in the channel info",
)
FAIL_CHECK = Sentence(
    "C-42", "the trace equals that of a fresh build; the check {check} fails: {says}"
)
FAIL_DECLARED = Sentence("C-46", "the declaration {pattern} is wrong: {problem}")
ERROR_BUILD = Sentence("C-41", "the rig can't be built: {error}")
ERROR_PLAY = Sentence("C-41", "the rig raised in {stage}: {error}")
ERROR_ENDED = Sentence("C-41", "the process of the rig ended in {stage} ({how})")
OVER_BUDGET = Sentence(
    "C-45",
    "over the budget of {budget} s after {done} of {asked} boundaries: nothing is said of the rest",
)

# --- Conditions, limits and weaker evidence: they stand beside every verdict. ---

CONDITION = Sentence("C-24", "held equal on request: {pins}")
CARRIED_OVER = Sentence("C-97", "given to each fresh build before its reset: {names}")
NOT_GIVEN = Sentence("C-97", "could not be given to a fresh build: {names}")
PROFILE = Sentence("C-84", "{boundaries}, {steps}, {policy}")
OPAQUE = Sentence("C-85", "{handles} whose content can't be read: {names}")
OPAQUE_LIMIT = Sentence(
    "C-85", "a write inside is seen only where the played steps reach its effect"
)
TOKENS = Sentence("C-68", "{fields} not measurable, compared by bytes alone: {names}")
NOT_ORDERABLE = Sentence("C-64", "{fields} not measurable in full: {names}")
ONE_SIDED = Sentence("C-67", "{fields} on one side only: {names}")
BITS_ONLY = Sentence("C-66", "{fields} different in bits only: {names}")
SKIPPED = Sentence("C-86", "not walked: {names}")
NOT_HIDDEN = Sentence("C-87", "folders: what two devices write to one path they both see ({why})")
MACHINE = Sentence("C-88", "any other machine or build: bit-identical is said of {machine}")
COVERAGE = Sentence("C-89", "episodes ended {endings}; {distinct}")
INERT = Sentence("C-47", "{fields} different, and no row moved by it ({evidence}): {names}")
INERT_EVIDENCE = Sentence("C-47", "all {rows} rows equal")
ACCUMULATES = Sentence("C-49", "accumulates: {names}")
FUSED = Sentence("C-48", "fused at {boundary}")
CONFIRMED = Sentence("C-52", "confirmed by restoring it")
NOT_CONFIRMED = Sentence("C-52", "not confirmed")
ECHO = Sentence("C-51", "{fields} cleared by restoring it: {names}")
CARRIED = Sentence("C-50", "read by the reset itself; it no longer differs after it")
PARTS = Sentence("C-50", "{fields} below it came with it")
INSIDE = Sentence("C-50", "{fields} inside with a difference, such as {path}")
INERT_RESTORED = Sentence("C-47", "with the leaks restored all rows are equal")
NODES_GROW = Sentence("C-49", "the rig holds more objects after every reset: it accumulates")
NO_TRACE = Sentence("C-38", "what the rig does: no trace was played")
HORIZON = Sentence("C-84", "anything beyond {resets} and {steps} after each")
UNREAD_CHANNEL = Sentence("C-32", "values of type {type} in the channel {channel}")
FLEET = Sentence("C-79", "each device is judged by itself; nothing is said of one from another")


def all_sentences() -> dict[str, Sentence]:
    """Return every sentence by the name of its constant."""
    return {name: value for name, value in globals().items() if isinstance(value, Sentence)}
