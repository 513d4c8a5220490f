"""Hash functions of bytes whose values TensorFlow's files and models rely on.

Of Python's integers, modulo 2**64: strings are short, and each is hashed by itself.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable

_MASK = 2**64 - 1
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
_MURMUR = 0xC6A4A7935BD1E995


def _turned(value: int, by: int) -> int:
    """64 bits turned to the right."""
    return (value >> by | value << (64 - by)) & _MASK


def _mixed(value: int) -> int:
    return value ^ value >> 47


def _of_two(u: int, v: int, multiplier: int) -> int:
    a = _mixed((u ^ v) * multiplier & _MASK)
    b = _mixed((v ^ a) * multiplier & _MASK)
    return b * multiplier & _MASK


def fingerprint64(data: bytes) -> int:
    """FarmHash's `Fingerprint64`."""
    size = len(data)
    if size > 64:
        return _of_many(data)
    if size > 32:
        return _to_64(data)
    if size > 16:
        return _to_32(data)
    multiplier = _K2 + size * 2 & _MASK
    if size >= 8:
        a, b = _word(data, 0) + _K2 & _MASK, _word(data, size - 8)
        c = _turned(b, 37) * multiplier + a & _MASK
        d = (_turned(a, 25) + b) * multiplier & _MASK
        return _of_two(c, d, multiplier)
    if size >= 4:
        a, b = (int.from_bytes(data[i : i + 4], "little") for i in (0, size - 4))
        return _of_two(size + (a << 3), b, multiplier)
    if not size:
        return _K2
    y = data[0] + (data[size >> 1] << 8)
    z = size + (data[-1] << 2)
    return _mixed((y * _K2 ^ z * _K0) & _MASK) * _K2 & _MASK


def _word(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little")


def _ends(data: bytes, first: int) -> tuple[int, int, int, int, int]:
    """How hashes of 17 to 64 bytes begin, `first` the factor of the first word."""
    size = len(data)
    multiplier = _K2 + size * 2 & _MASK
    a, b = _word(data, 0) * first & _MASK, _word(data, 8)
    c, d = _word(data, size - 8) * multiplier & _MASK, _word(data, size - 16) * _K2
    y = _turned(a + b & _MASK, 43) + _turned(c, 30) + d & _MASK
    z = _of_two(y, a + _turned(b + _K2 & _MASK, 18) + c & _MASK, multiplier)
    return a, b, y, z, multiplier


def _to_32(data: bytes) -> int:
    return _ends(data, _K1)[3]


def _to_64(data: bytes) -> int:
    a, _, y, z, multiplier = _ends(data, _K2)
    size = len(data)
    e, f = _word(data, 16) * multiplier & _MASK, _word(data, 24)
    g = (y + _word(data, size - 32)) * multiplier & _MASK
    h = (z + _word(data, size - 24)) * multiplier & _MASK
    left = _turned(e + f & _MASK, 43) + _turned(g, 30) + h & _MASK
    return _of_two(left, e + _turned(f + a & _MASK, 18) + g & _MASK, multiplier)


def _weak(words: tuple[int, ...], a: int, b: int) -> tuple[int, int]:
    w, x, y, z = words
    a = a + w & _MASK
    b = _turned(b + a + z & _MASK, 21)
    c = a
    a = a + x + y & _MASK
    return a + z & _MASK, b + _turned(a, 44) + c & _MASK


def _of_many(data: bytes) -> int:
    x = 81
    y = x * _K1 + 113 & _MASK
    z = _mixed(y * _K2 + 113 & _MASK) * _K2 & _MASK
    v = w = (0, 0)
    x = x * _K2 + _word(data, 0) & _MASK

    def step(at: int, by: int, last: bool) -> None:
        nonlocal x, y, z, v, w
        s = struct.unpack_from("<8Q", data, at)
        many = 9 if last else 1
        x = _turned(x + y + v[0] + s[1] & _MASK, 37) * by & _MASK
        y = _turned(y + v[1] + s[6] & _MASK, 42) * by & _MASK
        x ^= w[1] * many & _MASK
        y = y + v[0] * many + s[5] & _MASK
        z = _turned(z + w[0] & _MASK, 33) * by & _MASK
        v = _weak(s[:4], v[1] * by & _MASK, x + w[0] & _MASK)
        w = _weak(s[4:], z + w[1] & _MASK, y + s[2] & _MASK)
        z, x = x, z

    rest = len(data) - 1 & 63
    for at in range(0, len(data) - 1 - rest, 64):
        step(at, _K1, False)
    by = _K1 + ((z & 0xFF) << 1) & _MASK
    w = (w[0] + rest & _MASK, w[1])
    v = (v[0] + w[0] & _MASK, v[1])
    w = (w[0] + v[0] & _MASK, w[1])
    step(len(data) - 64, by, True)
    left = _of_two(v[0], w[0], by) + _mixed(y) * _K0 + z & _MASK
    return _of_two(left, _of_two(v[1], w[1], by) + x & _MASK, by)


def combined(first: int, second: int) -> int:
    """TensorFlow's fingerprint of two fingerprints."""
    out = first ^ _MURMUR
    out ^= _mixed(second * _MURMUR & _MASK) * _MURMUR & _MASK
    out = out * _MURMUR & _MASK
    return _mixed(_mixed(out) * _MURMUR & _MASK)


def hash64(data: bytes, seed: int = 0xDECAFCAFFE) -> int:
    """TensorFlow's `Hash64`, which is MurmurHash64A."""
    out = seed ^ len(data) * _MURMUR & _MASK
    whole = len(data) & ~7
    for (word,) in struct.iter_unpack("<Q", data[:whole]):
        out = (out ^ _mixed(word * _MURMUR & _MASK) * _MURMUR) * _MURMUR & _MASK
    if whole < len(data):
        out = (out ^ int.from_bytes(data[whole:], "little")) * _MURMUR & _MASK
    return _mixed(_mixed(out) * _MURMUR & _MASK)


def siphash(key: Iterable[int]) -> Callable[[bytes], int]:
    """SipHash-2-4 with a key of two 64-bit words."""
    k0, k1 = (word & _MASK for word in key)
    begin = (
        k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D,
        k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573,
    )  # fmt: skip

    def call(data: bytes) -> int:
        a, b, c, d = begin
        padded = data + bytes(7 - len(data) % 8) + bytes([len(data) & 0xFF])
        for (word,) in struct.iter_unpack("<Q", padded):
            a, b, c, d = _rounds(2, a, b, c, d ^ word)
            a ^= word
        a, b, c, d = _rounds(4, a, b, c ^ 0xFF, d)
        return a ^ b ^ c ^ d

    return call


def _rounds(count: int, a: int, b: int, c: int, d: int) -> tuple[int, int, int, int]:
    for _ in range(count):
        a, c = a + b & _MASK, c + d & _MASK
        b, d = _turned(b, 51) ^ a, _turned(d, 48) ^ c
        a = _turned(a, 32)
        c, a = c + b & _MASK, a + d & _MASK
        b, d = _turned(b, 47) ^ c, _turned(d, 43) ^ a
        c = _turned(c, 32)
    return a, b, c, d
