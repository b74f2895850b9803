"""Box2D: what a world says of its bodies, joints and contacts.

Its broad-phase tree and its allocator decide in which order pairs are found and solved,
and no interface reads them: a world always stays a handle with a part that was not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cleandesk.audit.certificate.leaf import Kind, Leaf
from cleandesk.audit.certificate.walk.readers.protocol import REST

_WORLD = (
    "autoClearForces", "continuousPhysics", "subStepping", "warmStarting", "locked",
    "bodyCount", "jointCount", "contactCount", "proxyCount",
)  # fmt: skip
_BODY = (
    "active", "angle", "angularDamping", "angularVelocity", "awake", "bullet", "fixedRotation",
    "gravityScale", "inertia", "linearDamping", "mass", "sleepingAllowed", "type",
)  # fmt: skip
_BODY_VECTORS = ("position", "linearVelocity", "localCenter")
_FIXTURE = ("density", "friction", "restitution", "sensor")
_FILTER = ("categoryBits", "groupIndex", "maskBits")
_SHAPE = ("radius", "vertexCount", "childCount")
_JOINT = (
    "active", "limitEnabled", "lowerLimit", "upperLimit", "motorEnabled", "motorSpeed",
    "maxMotorTorque", "maxMotorForce", "frequency", "dampingRatio", "length", "maxForce",
    "maxTorque", "ratio",
)  # fmt: skip
_REST = Leaf(Kind.OPAQUE, None, "Box2D b2World (broad phase, allocator)")


class Box2d:
    """Reads ``b2World``; a body is read through the world to which it belongs."""

    def takes(self, kind: type) -> bool:
        """Tell whether ``kind`` is a world of Box2D."""
        return str(kind.__module__).startswith("Box2D") and kind.__name__ == "b2World"

    def read(self, handle: Any) -> Mapping[str, object]:
        """Return the world's settings, bodies, joints and contacts, in its own order."""
        bodies = list(handle.bodies)
        places = {body: place for place, body in enumerate(bodies)}
        found: dict[str, object] = {name: getattr(handle, name) for name in _WORLD}
        found["gravity"] = _pair(handle.gravity)
        found["allowSleeping"] = bool(handle.GetAllowSleeping())
        for number, body in enumerate(bodies):
            found[f"body {number}"] = _body(body)
        for number, joint in enumerate(handle.joints):
            found[f"joint {number}"] = _joint(joint, places)
        found["contacts"] = [_contact(contact, places) for contact in handle.contacts]
        found[REST] = _REST
        return found

    def write(self, handle: Any, name: str, leaf: Leaf) -> None:  # noqa: ARG002 - as the Protocol
        """Refuse: a body put back is another body to the broad phase."""
        raise LookupError(f"{name} of a Box2D world can't be put back: make a new world")


def _pair(vector: Any) -> tuple[float, float]:
    return (vector[0], vector[1])


def _body(body: Any) -> dict[str, object]:
    found: dict[str, object] = {name: getattr(body, name) for name in _BODY}
    found |= {name: _pair(getattr(body, name)) for name in _BODY_VECTORS}
    found["fixtures"] = [_fixture(fixture) for fixture in body.fixtures]
    return found


def _fixture(fixture: Any) -> dict[str, object]:
    found: dict[str, object] = {name: getattr(fixture, name) for name in _FIXTURE}
    found |= {name: getattr(fixture.filterData, name) for name in _FILTER}
    shape = fixture.shape
    found["shape"] = type(shape).__name__
    found |= {name: getattr(shape, name) for name in _SHAPE if hasattr(shape, name)}
    if hasattr(shape, "vertices"):
        found["vertices"] = [_pair(vertex) for vertex in shape.vertices]
    if hasattr(shape, "pos"):
        found["pos"] = _pair(shape.pos)
    return found


def _joint(joint: Any, places: Mapping[Any, int]) -> dict[str, object]:
    found: dict[str, object] = {"kind": type(joint).__name__}
    found |= {name: getattr(joint, name) for name in _JOINT if hasattr(joint, name)}
    found["bodies"] = [places.get(joint.bodyA, -1), places.get(joint.bodyB, -1)]
    found["anchors"] = [_pair(joint.anchorA), _pair(joint.anchorB)]
    found["reaction"] = [_pair(joint.GetReactionForce(1.0)), joint.GetReactionTorque(1.0)]
    return found


def _contact(contact: Any, places: Mapping[Any, int]) -> dict[str, object]:
    manifold = contact.manifold
    points = list(manifold.points)[: manifold.pointCount]
    return {
        "bodies": [places.get(contact.fixtureA.body, -1), places.get(contact.fixtureB.body, -1)],
        "children": [contact.childIndexA, contact.childIndexB],
        "enabled": bool(contact.enabled),
        "friction": contact.friction,
        "impulses": [[point.normalImpulse, point.tangentImpulse] for point in points],
        "restitution": contact.restitution,
        "touching": bool(contact.touching),
    }
