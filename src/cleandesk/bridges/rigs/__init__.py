"""Rigs over other people's interfaces: what the reset certificate is pointed at.

``DrivenRig`` has the twelve members; a driver for each kind of environment has what
differs between them. One maker for each scheme is registered as ``rig.SCHEME``.
"""
