"""The checksum against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphvm_runtime.checkpoint.crc32c import crc32c, masked, unmasked


def by_definition(data: bytes, crc: int = 0) -> int:
    register = crc ^ 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0x82F63B78 if register & 1 else 0)
    return register ^ 0xFFFFFFFF


def test_published_vectors() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA  # RFC 3720, B.4
    assert crc32c(b"\xff" * 32) == 0x62A8AB43
    assert crc32c(bytes(range(32))) == 0x46DD794E
    assert crc32c(b"") == 0


@pytest.mark.parametrize("size", [1, 767, 768, 769, 1023, 4097, 16383, 16384, 16389, 50_003])
def test_every_path_agrees_with_the_definition(size: int) -> None:
    data = np.random.default_rng(size).bytes(size)
    assert crc32c(data) == by_definition(data)
    assert crc32c(data, 12345) == by_definition(data, 12345)


@given(st.binary(max_size=2000), st.integers(0, 2000))
def test_data_may_come_in_parts(data: bytes, cut: int) -> None:
    assert crc32c(data[cut:], crc32c(data[:cut])) == crc32c(data)


def test_any_buffer_will_do() -> None:
    data = np.arange(4000, dtype=np.uint16)
    assert crc32c(data) == crc32c(data.tobytes()) == crc32c(bytearray(data))
    assert crc32c(np.empty((0, 3))) == 0


@given(st.integers(0, 2**32 - 1))
def test_masking_is_undone(crc: int) -> None:
    assert unmasked(masked(crc)) == crc
    assert masked(crc) != crc
