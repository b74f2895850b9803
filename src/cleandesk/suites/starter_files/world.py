"""A world to edit: letters on a desk, and drawers to put them into."""

import cleandesk as cd


class Drawers:
    """Three letters lie on the desk; an action moves one into a drawer."""

    contract = cd.contract(
        "drawers",
        "1",
        room=cd.objects("letters", "opened", incidental=["opened"]),
    )
    tools = [{"do": "put", "letter": "a, b or c", "drawer": "red or green"}]

    def __init__(self, at):
        self.at = at
        self.letters = {}
        self.opened = 0

    def reset(self, *, seed=None, options=None):
        self.letters = {"a": "desk", "b": "desk", "c": "desk"}
        self.opened = 0
        return self.observe(), {}

    def step(self, action):
        info = {}
        if action.get("do") == "put" and action.get("letter") in self.letters:
            self.letters[action["letter"]] = action.get("drawer")
            self.opened += 1
        else:
            info["action_error"] = f"no such action: {action}"
        return self.observe(), 0.0, False, False, info

    def observe(self):
        return {"letters": dict(self.letters)}

    def close(self):
        pass
