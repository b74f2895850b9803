"""An agent to edit: it reads the goal with a pattern. Put your model here."""

import re

import cleandesk as cd


class Clerk:
    """Does what the goals of suite.toml ask for."""

    def start(self, goal):
        self.goal = goal
        self.is_done = False

    def act(self, observation):
        letters = observation["letters"]
        if "How many" in self.goal:
            return cd.done(sum(place == "desk" for place in letters.values()))
        letter, drawer = re.search(r"letter (\w+) into the (?:drawer )?(\w+)", self.goal).groups()
        if letter not in letters:
            return cd.infeasible(f"there is no letter {letter}")
        if self.is_done:
            return cd.done()
        self.is_done = True
        return {"do": "put", "letter": letter, "drawer": drawer}
