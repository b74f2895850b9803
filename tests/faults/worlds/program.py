"""An agent program that fails as its first argument says; ``clean`` does not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading

ANSWERS = {
    "much": {"action": "x" * 17_000_000},
    "keyless": {"thought": "hm"},
    "list": [1, 2],
    "provider": {"error": {"kind": "provider", "message": "429"}},
    "error": {"error": "no idea"},
    "usage": {"action": 1, "usage": [1, 2]},
    "infeasible": {"infeasible": "can't be done"},
}


def fail(how):
    if how == "exits":
        sys.exit(3)
    if how == "leaves":
        child = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL)
        sys.stderr.write(f"left {child.pid} behind\n")
        sys.stdout.write('{"done": true}\n')
        sys.stdout.flush()
        sys.exit(0)
    if how == "closes":
        os.close(1)
    if how in {"closes", "silent"}:
        threading.Event().wait()
    if how == "junk":
        sys.stdout.write("I think that I should click\n")
    if how in ANSWERS:
        sys.stdout.write(json.dumps(ANSWERS[how]) + "\n")


def answer(request, steps):
    if steps < 2:
        return {"action": {"seen": request["observation"]}, "usage": {"tokens": 5}}
    return {"done": True, "answer": {"goal": "kept", "steps": steps}}


def main(how):
    for steps, line in enumerate(sys.stdin):
        request = json.loads(line)
        if request["type"] == "end":
            return
        sys.stderr.write(f"heard {request['type']}\n")
        fail(how)
        if how == "clean":
            sys.stdout.write(json.dumps(answer(request, steps)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
