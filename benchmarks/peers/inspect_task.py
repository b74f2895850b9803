"""The measured work, written for Inspect AI: a counter, 50 rows, so many bumps.

It runs in the peers' environment and imports nothing of ours. The model is Inspect's
own mock, so no network is asked; the live view of samples, which costs more, is off.

    python inspect_task.py SAMPLES STEPS LOG_FOLDER
"""

from __future__ import annotations

import json
import resource
import sys
import time

from inspect_ai import Task
from inspect_ai import eval as run_eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, accuracy, scorer
from inspect_ai.solver import generate, solver, use_tools
from inspect_ai.tool import tool
from inspect_ai.util import store

_MOCK = "mockllm/model"


@tool
def bump():
    async def execute() -> str:
        """Add one to the counter."""
        world = store()
        world.set("count", world.get("count") + 1)
        return f"count={world.get('count')}"

    return execute


@solver
def reset():
    async def solve(state, generate):  # noqa: ARG001 -- the signature is Inspect's
        rows = {str(number): {"id": number, "v": "x" * 20} for number in range(50)}
        state.store.set("count", 0)
        state.store.set("rows", rows)
        return state

    return solve


@scorer(metrics=[accuracy()])
def counts(steps: int):
    async def score(state, target):  # noqa: ARG001 -- the signature is Inspect's
        return Score(value=int(state.store.get("count") == steps))

    return score


def bumping(steps: int):
    """Return what the mock model answers: ``steps`` calls of the tool, then a text."""

    def answer(messages, tools, tool_choice, config):  # noqa: ARG001 -- Inspect's
        called = sum(message.role == "tool" for message in messages)
        if called < steps:
            output = ModelOutput.for_tool_call(_MOCK, "bump", {})
        else:
            output = ModelOutput.from_content(_MOCK, "done")
        # Said outright: counting the tokens would download a file first.
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    return answer


def main() -> None:
    samples, steps, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    task = Task(
        dataset=MemoryDataset([Sample(input=f"Bump {steps} times.", id=n) for n in range(samples)]),
        solver=[reset(), use_tools(bump()), generate()],
        scorer=counts(steps),
    )
    model = get_model(_MOCK, custom_outputs=bumping(steps))
    cpu, wall = time.process_time(), time.perf_counter()
    (log,) = run_eval(task, model=model, display="none", log_dir=folder, log_realtime=False)
    wall = time.perf_counter() - wall
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = time.process_time() - cpu + children.ru_utime + children.ru_stime
    right = log.results.scores[0].metrics["accuracy"].value if log.results else 0
    if log.status != "success" or right != 1:
        raise SystemExit(f"the peer's run went wrong: {log.status}, accuracy {right}")
    print(json.dumps({"cpu": cpu, "wall": wall}))


if __name__ == "__main__":
    main()
