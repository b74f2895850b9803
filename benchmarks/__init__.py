"""Side-by-side measurements: what cleandesk costs, beside a peer or a bare floor.

``python -m benchmarks`` runs them and prints one table; docs/why/speed.md says what
each figure is. They are never tests: a busy machine must not fail a build.
"""
