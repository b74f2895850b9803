"""Frames over pipes: what arrives, and how each way of failing is told apart."""

from __future__ import annotations

import os
import struct
import threading

import pytest

from cleandesk.channel import (
    Channel,
    ChannelClosedError,
    ChannelTimeoutError,
    FrameBrokenError,
    FrameTooLargeError,
)


@pytest.fixture
def ends():
    one, other = Channel.pair()
    with one, other:
        yield one, other


@pytest.mark.parametrize(
    "parts", [(), (b"",), (b"a",), (b"", b"bc", b""), (bytes(range(256)), b"\x00" * 1000)]
)
def test_a_frame_arrives_with_its_letter_and_its_parts(ends, parts):
    one, other = ends
    one.send(b"r", *parts)

    assert other.receive(1.0) == (b"r", list(parts))


def test_frames_arrive_in_order_and_in_both_directions(ends):
    one, other = ends
    one.send(b"a", b"1")
    one.send(b"b", b"2", b"3")
    other.send(b"c")

    assert other.receive(1.0) == (b"a", [b"1"])
    assert other.receive() == (b"b", [b"2", b"3"])
    assert one.receive(1.0) == (b"c", [])


def test_a_frame_larger_than_the_pipe_arrives_whole(ends):
    one, other = ends
    big = os.urandom(3_000_000)
    sender = threading.Thread(target=one.send, args=(b"s", big, b"end"))
    sender.start()
    kind, parts = other.receive(10.0)
    sender.join()

    assert kind == b"s"
    assert parts == [big, b"end"]


def test_an_answer_that_does_not_come_in_time_is_a_timeout(ends):
    one, other = ends

    with pytest.raises(ChannelTimeoutError):
        other.receive(0.01)
    one.send(b"l", b"late")
    assert other.receive(1.0) == (b"l", [b"late"])


def test_half_a_frame_is_a_timeout_and_its_rest_may_still_come(ends):
    one, other = ends
    one.send(b"x", b"abc")
    whole = os.read(other.descriptors[0], 100)
    os.write(one.descriptors[1], whole[:9])

    with pytest.raises(ChannelTimeoutError):
        other.receive(0.01)
    os.write(one.descriptors[1], whole[9:])
    assert other.receive(1.0) == (b"x", [b"abc"])


def test_the_other_side_that_is_gone_is_told_apart_from_a_slow_one(ends):
    one, other = ends
    one.close()

    with pytest.raises(ChannelClosedError):
        other.receive(1.0)
    with pytest.raises(ChannelClosedError):
        other.send(b"x")


def test_the_other_side_that_goes_in_the_middle_of_a_frame_is_gone(ends):
    one, other = ends
    one.send(b"x", b"abc")
    whole = os.read(other.descriptors[0], 100)
    os.write(one.descriptors[1], whole[:-1])
    one.close()

    with pytest.raises(ChannelClosedError):
        other.receive(1.0)


def test_what_was_sent_before_the_end_still_arrives(ends):
    one, other = ends
    one.send(b"x", b"last words")
    one.close()

    assert other.receive(1.0) == (b"x", [b"last words"])
    with pytest.raises(ChannelClosedError):
        other.receive(1.0)


def test_a_frame_over_the_limit_is_refused_before_it_is_read(ends):
    one, other = ends
    other.limit_bytes = 1000
    sender = threading.Thread(target=one.send, args=(b"x", bytes(50_000)))
    sender.start()
    sender.join()

    with pytest.raises(FrameTooLargeError) as caught:
        other.receive(1.0)

    assert caught.value.size_bytes == 50_004
    assert "50004 bytes" in str(caught.value)


def test_a_frame_at_the_limit_is_taken(ends):
    one, other = ends
    other.limit_bytes = 4 + 96
    one.send(b"x", bytes(96))

    assert other.receive(1.0) == (b"x", [bytes(96)])


def test_closing_twice_is_fine_and_a_closed_channel_says_so(ends):
    one, _ = ends
    one.close()
    one.close()

    assert one.descriptors == (-1, -1)
    with pytest.raises(ChannelClosedError):
        one.send(b"x")
    with pytest.raises(ChannelClosedError):
        one.receive()


def test_leaving_the_block_closes_both_descriptors():
    one, other = Channel.pair()
    with one, other:
        read, write = one.descriptors

    for descriptor in (read, write):
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)


def test_a_side_that_does_not_read_does_not_hold_up_the_sender(ends):
    one, _ = ends
    one.limit_sends()

    with pytest.raises(ChannelTimeoutError):
        one.send(b"x", bytes(1_000_000), timeout_s=0.01)


def test_a_limited_send_still_arrives_whole(ends):
    one, other = ends
    one.limit_sends()
    big = os.urandom(1_000_000)
    sender = threading.Thread(target=one.send, args=(b"x", big), kwargs={"timeout_s": 10.0})
    sender.start()
    received = other.receive(10.0)
    sender.join()

    assert received == (b"x", [big])


@pytest.mark.parametrize(
    "junk",
    [
        struct.pack(">cIH", b"x", 0, 5) + bytes(40),
        struct.pack(">cIH", b"x", 4, 1) + struct.pack(">I", 9) + bytes(40),
        struct.pack(">cIH", b"x", 8, 1) + struct.pack(">I", 0) + bytes(40),
    ],
    ids=["parts without lengths", "a part beyond the frame", "bytes of no part"],
)
def test_what_is_no_frame_is_said_to_be_broken(ends, junk):
    one, other = ends
    os.write(one.descriptors[1], junk)

    with pytest.raises(FrameBrokenError):
        other.receive(1.0)
