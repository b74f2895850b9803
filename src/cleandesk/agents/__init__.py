"""Agents: what they promise, the process that runs them, and the known ones."""
