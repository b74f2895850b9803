"""Explaining a FAIL: the true writes, the shortest way to reproduce it, the line that wrote.

Everything here is tried on replays in devices of their own, never on the judged rig.
"""
