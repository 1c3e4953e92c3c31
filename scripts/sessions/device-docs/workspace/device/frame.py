"""Frames on the serial line."""

from dataclasses import dataclass


class FrameError(ValueError):
    pass


@dataclass(frozen=True)
class Frame:
    address: int
    command: int
    payload: bytes = b""


def encode(frame):
    if not 0 <= frame.address <= 247:
        raise FrameError(f"address {frame.address} is not between 0 and 247")
    if len(frame.payload) > 252:
        raise FrameError(f"{len(frame.payload)} bytes of payload, 252 at most")
    body = bytes([frame.address, frame.command, len(frame.payload)]) + frame.payload
    return body + checksum(body).to_bytes(2, "little")


def decode(data):
    if len(data) < 5 or len(data) != data[2] + 5:
        raise FrameError(f"{len(data)} bytes are no frame")
    body, check = data[:-2], int.from_bytes(data[-2:], "little")
    if checksum(body) != check:
        raise FrameError(f"checksum {check:04x} instead of {checksum(body):04x}")
    return Frame(data[0], data[1], data[3:-2])


def checksum(data):
    value = 0xFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ 0xA001 if value & 1 else value >> 1
    return value
