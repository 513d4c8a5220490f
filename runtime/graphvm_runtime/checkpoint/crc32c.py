"""CRC-32C (Castagnoli), as LevelDB tables and event files use it.

The register after a block of 32-bit words is linear in the words: each contributes itself, moved
on by the number of words from it to the end. So the words are laid out in rows; one vectorised
step moves a whole row on by one row and adds the next one, and the last row is folded in halves.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Words: TypeAlias = NDArray[Any]  # of uint32
# What offers its bytes without a copy: bytes, bytearray, memoryview, contiguous arrays.
Buffer: TypeAlias = Any

_POLYNOMIAL = 0x82F63B78  # bits reversed, as the register is
_ROW_BITS = 12
_ROW = 1 << _ROW_BITS  # words: a row and its tables stay in the second-level cache
_SHORT = 768  # bytes: below, a plain loop is quicker than NumPy
_LAST = 4  # 2**_LAST words are left to the loop when folding
_MASK_DELTA = 0xA282EAD8


def _byte_table() -> Words:
    table: Words = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = (table >> 1) ^ np.where(table & 1, np.uint32(_POLYNOMIAL), np.uint32(0))
    return table


_BYTE_TABLE = _byte_table()
_BYTES = _BYTE_TABLE.tolist()


def crc32c(data: Buffer, crc: int = 0) -> int:
    """The checksum of `data`, or of all bytes so far where `crc` is theirs."""
    view = memoryview(data)
    if not view.nbytes:  # cannot be cast
        return crc
    view = view.cast("B")
    register = crc ^ 0xFFFFFFFF
    whole = 0
    if len(view) >= _SHORT:
        words = np.frombuffer(view, "<u4", len(view) // 4)
        whole = 4 * len(words)
        # Zeros in front of everything add nothing, so the odd row comes first.
        odd = len(words) % _ROW
        register = _rows(words[odd:], _folded(words[:odd], register))
    return _plain(view[whole:], register) ^ 0xFFFFFFFF


def masked(crc: int) -> int:
    """The checksum in the form that is stored among the data it covers."""
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & 0xFFFFFFFF


def unmasked(stored: int) -> int:
    """The checksum that `masked` made `stored` of."""
    turned = (stored - _MASK_DELTA) & 0xFFFFFFFF
    return ((turned >> 17) | (turned << 15)) & 0xFFFFFFFF


def _plain(data: memoryview | bytes, register: int) -> int:
    for byte in data:
        register = _BYTES[(register ^ byte) & 255] ^ (register >> 8)
    return register


@cache
def _shift(power: int) -> Words:
    """What moving on by 2**power words does to each of the register's four bytes: 4 x 256."""
    if power:
        half = _shift(power - 1)
        return _moved(half, half.ravel()).reshape(4, 256)
    table = np.zeros((4, 256), np.uint32)
    for place in range(4):
        moved = np.arange(256, dtype=np.uint32) << (8 * place)
        for _ in range(4):
            moved = _BYTE_TABLE[moved & 255] ^ (moved >> 8)
        table[place] = moved
    return table


@cache
def _row_shift() -> tuple[Words, Words]:
    """What moving on by a row does to the low and to the high half of the register."""
    halves = np.arange(1 << 16, dtype=np.uint32)
    table = _shift(_ROW_BITS)
    return _moved(table, halves), _moved(table, halves << 16)


def _moved(table: Words, registers: Words) -> Words:
    moved: Words = table[0][registers & 255]
    for place in range(1, 4):
        moved ^= table[place][(registers >> (8 * place)) & 255]
    return moved


def _folded(words: Words, register: int) -> int:
    """The register after `words`, at most a row of them."""
    if not len(words):
        return register
    power = max((len(words) - 1).bit_length(), _LAST)
    state = np.zeros(1 << power, np.uint32)
    state[-len(words) :] = words
    state[-len(words)] ^= np.uint32(register)
    while power > _LAST:
        power -= 1
        half = 1 << power
        state = _moved(_shift(power), state[:half]) ^ state[half:]
    return _plain(state.astype("<u4").tobytes(), 0)


def _rows(words: Words, register: int) -> int:
    """The register after `words`, a whole number of rows."""
    if not len(words):
        return register
    low, high = _row_shift()
    state = words[:_ROW].astype(np.uint32)
    state[0] ^= np.uint32(register)
    moved, other = np.empty(_ROW, np.uint32), np.empty(_ROW, np.uint32)
    index = np.empty(_ROW, np.intp)
    for start in range(_ROW, len(words), _ROW):
        np.bitwise_and(state, 0xFFFF, out=index, casting="unsafe")
        np.take(low, index, out=moved, mode="clip")
        np.right_shift(state, 16, out=index, casting="unsafe")
        np.take(high, index, out=other, mode="clip")
        np.bitwise_xor(moved, other, out=moved)
        np.bitwise_xor(moved, words[start : start + _ROW], out=state)
    return _folded(state, 0)
