"""Worlds: what they promise, how they are built and isolated, and the built-in ones."""
