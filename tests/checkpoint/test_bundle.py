"""V2 checkpoints: written, read, cut in slices, merged, damaged."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphvm_runtime import dtypes
from graphvm_runtime.checkpoint import (
    BundleReader,
    BundleWriter,
    TensorSlice,
    merge_bundles,
    open_checkpoint,
)
from graphvm_runtime.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
)

NUMERIC = [
    d
    for d in (dtypes.from_enum(e) for e in range(1, 31) if e not in (7, 20, 21, 26, 27, 28))
    if d.is_numpy_compatible
]
TEXTS = np.array([[b"a", b""], [b"\0\xff" * 200, b"z"]], object)


def write(prefix: Path, **tensors: Any) -> str:
    with BundleWriter(str(prefix)) as writer:
        for name, value in tensors.items():
            writer.add(name, value)
    return str(prefix)


def same(got: Any, want: Any) -> None:
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    assert got.tolist() == want.tolist()


@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (0, 4)])
def test_every_type_is_read_as_written(tmp_path: Path, shape: tuple[int, ...]) -> None:
    size = int(np.prod(shape))
    values = {d: (np.arange(size) % 2).astype(d.numpy).reshape(shape) for d in NUMERIC}
    with BundleWriter(str(tmp_path / "m")) as writer:
        for dtype, value in values.items():
            writer.add(dtype.name, value, dtype)
    reader = BundleReader(str(tmp_path / "m"))
    assert reader.names() == sorted(d.name for d in values)
    for dtype, value in values.items():
        assert reader.dtype(dtype.name) is dtype
        assert reader.shape(dtype.name) == shape
        same(reader.get_tensor(dtype.name), value)


def test_strings_are_read_as_written(tmp_path: Path) -> None:
    empty = np.empty((0, 3), object)
    reader = BundleReader(write(tmp_path / "m", a=TEXTS, b=empty, c=b"one\0", d="é"))
    same(reader.get_tensor("a"), TEXTS)
    same(reader.get_tensor("b"), empty)
    assert reader.get_tensor("c").item() == b"one\0"
    assert reader.get_tensor("d").item() == "é".encode()


def test_views_and_foreign_byte_orders_are_written_in_order(tmp_path: Path) -> None:
    value = np.arange(12, dtype=">f8").reshape(3, 4).T[::2]
    same(BundleReader(write(tmp_path / "m", a=value)).get_tensor("a"), value.astype(np.float64))


def test_values_are_the_callers_own(tmp_path: Path) -> None:
    reader = BundleReader(write(tmp_path / "m", a=np.arange(3)))
    reader.get_tensor("a")[:] = 9
    assert reader.get_tensor("a").tolist() == [0, 1, 2]


@given(names=st.sets(st.text(min_size=1, max_size=20).filter(lambda s: s[0] != "\0"), max_size=9))
def test_any_names(names: set[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("names")
    reader = BundleReader(write(folder / "m", **{n: np.int64(i) for i, n in enumerate(names)}))
    assert set(reader.names()) == names
    for i, name in enumerate(names):
        assert reader.get_tensor(name) == i


def test_missing_things_are_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"none\.index"):
        open_checkpoint(str(tmp_path / "none"))
    reader = BundleReader(write(tmp_path / "m", a=np.arange(3)))
    assert "a" in reader
    assert "b" not in reader
    with pytest.raises(NotFoundError, match="no tensor 'b'"):
        reader.get_tensor("b")
    os.remove(tmp_path / "m.data-00000-of-00001")
    with pytest.raises(NotFoundError, match=r"'a' lies in .*m\.data-00000-of-00001"):
        reader.get_tensor("a")


def test_a_torn_data_file_names_file_and_tensor(tmp_path: Path) -> None:
    prefix = write(tmp_path / "m", a=np.arange(3), b=np.arange(500))
    data = tmp_path / "m.data-00000-of-00001"
    os.truncate(data, 1000)
    reader = BundleReader(prefix)
    assert reader.get_tensor("a").tolist() == [0, 1, 2]
    with pytest.raises(DataLossError, match=r"m\.data-00000-of-00001 .*'b'.*cut off"):
        reader.get_tensor("b")


def test_any_flipped_bit_of_the_data_is_data_loss(tmp_path: Path) -> None:
    prefix = write(tmp_path / "m", a=np.arange(3, dtype=np.int16), b=np.array([b"ab", b""], object))
    path = tmp_path / "m.data-00000-of-00001"
    data = path.read_bytes()
    reader = BundleReader(prefix)
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1 << at % 8
        path.write_bytes(damaged)
        name, other = ("a", "b") if at < 6 else ("b", "a")
        with pytest.raises(DataLossError, match=f"m.data-00000-of-00001 .*'{name}'"):
            reader.get_tensor(name)
        reader.get_tensor(other)


def test_a_torn_index_is_data_loss(tmp_path: Path) -> None:
    prefix = write(tmp_path / "m", a=np.arange(3))
    index = tmp_path / "m.index"
    os.truncate(index, index.stat().st_size - 1)
    with pytest.raises(DataLossError, match=r"m\.index"):
        BundleReader(prefix)


def test_an_error_while_writing_leaves_what_was_there(tmp_path: Path) -> None:
    prefix = write(tmp_path / "m", a=np.arange(3))
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    with pytest.raises(RuntimeError), BundleWriter(prefix) as writer:  # noqa: PT012
        writer.add("a", np.zeros(3))
        raise RuntimeError
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_nothing_is_seen_before_it_is_whole(tmp_path: Path) -> None:
    writer = BundleWriter(str(tmp_path / "new" / "m"))
    writer.add("a", np.arange(3))
    with pytest.raises(NotFoundError):
        BundleReader(writer.prefix)
    writer.finish()
    assert BundleReader(writer.prefix).names() == ["a"]
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == [
        "m.data-00000-of-00001",
        "m.index",
    ]
    with pytest.raises(FailedPreconditionError, match="finished"):
        writer.add("b", np.arange(3))


def test_what_cannot_be_stored_is_refused(tmp_path: Path) -> None:
    with BundleWriter(str(tmp_path / "m")) as writer:
        writer.add("a", np.arange(3))
        for name, value, dtype, message in (
            ("a", np.arange(3), None, "twice"),
            ("", np.arange(3), None, "cannot be the name"),
            ("b", np.arange(3), dtypes.float32, "no tensor of float32"),
            ("b", np.array([3], object), None, "must be a string: 3"),
            ("b", np.arange(3), dtypes.resource, "resource cannot be stored"),
        ):
            with pytest.raises(InvalidArgumentError, match=message):
                writer.add(name, value, dtype)
    assert BundleReader(str(tmp_path / "m")).names() == ["a"]


FULL = np.arange(24, dtype=np.float32).reshape(4, 6)


def write_slices(prefix: Path, *texts: str, full: Any = FULL) -> str:
    with BundleWriter(str(prefix)) as writer:
        for text in texts:
            cut = TensorSlice.parse(text)
            writer.add_slice(
                "p", full.shape, cut, full[tuple(slice(*b) for b in cut.bounds(full.shape))]
            )
    return str(prefix)


def test_slices_are_put_together(tmp_path: Path) -> None:
    reader = BundleReader(write_slices(tmp_path / "m", "0,2:-", "2,2:0,3", "2,2:3,3"))
    assert reader.names() == ["p"]
    assert len(reader.stored("p").slices) == 3
    same(reader.get_tensor("p"), FULL)
    same(reader.get_slice("p", TensorSlice.parse("2,2:3,3")), FULL[2:, 3:])
    same(reader.get_slice("p", TensorSlice.parse("1,2:2,2")), FULL[1:3, 2:4])
    texts = write_slices(tmp_path / "t", "0,1:-", "1,1:-", full=TEXTS)
    same(BundleReader(texts).get_tensor("p"), TEXTS)


def test_a_slice_of_a_tensor_stored_whole(tmp_path: Path) -> None:
    reader = BundleReader(write(tmp_path / "m", a=FULL))
    same(reader.get_slice("a", TensorSlice.parse("1,2:-")), FULL[1:3])
    with pytest.raises(InvalidArgumentError, match="beyond"):
        reader.get_slice("a", TensorSlice.parse("3,2:-"))


def test_a_missing_slice_is_data_loss(tmp_path: Path) -> None:
    reader = BundleReader(write_slices(tmp_path / "m", "0,2:-", "2,2:0,3"))
    same(reader.get_slice("p", TensorSlice.parse("1,3:0,2")), FULL[1:, :2])
    with pytest.raises(DataLossError, match="only a part of tensor 'p'"):
        reader.get_tensor("p")


def test_slices_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    with BundleWriter(str(tmp_path / "m")) as writer:
        writer.add("a", FULL)
        cut = TensorSlice.parse("0,2:-")
        writer.add_slice("p", (4, 6), cut, FULL[:2])
        with pytest.raises(InvalidArgumentError, match="twice"):
            writer.add_slice("p", (4, 6), cut, FULL[:2])
        with pytest.raises(InvalidArgumentError, match="has shape"):
            writer.add_slice("p", (4, 6), cut, FULL[:3])
        for name, value in (("a", FULL[:2]), ("p", FULL[:2].astype(np.float64))):
            with pytest.raises(InvalidArgumentError, match="does not fit"):
                writer.add_slice(name, (4, 6), cut, value)


def test_merging(tmp_path: Path) -> None:
    parts = [str(tmp_path / "tmp" / f"part{i}") for i in range(3)]
    for i, part in enumerate(parts):
        with BundleWriter(part) as writer:
            writer.add(f"v{i}", np.full(3, i))
            if i < 2:
                writer.add_slice("p", (4, 6), TensorSlice(((2 * i, 2), (0, -1))), FULL[2 * i :][:2])
    merge_bundles(parts, str(tmp_path / "m"), delete_old_dirs=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        *(f"m.data-0000{i}-of-00003" for i in range(3)),
        "m.index",
    ]
    reader = BundleReader(str(tmp_path / "m"))
    assert reader.names() == ["p", "v0", "v1", "v2"]
    same(reader.get_tensor("p"), FULL)
    assert reader.get_tensor("v2").tolist() == [2, 2, 2]
    other = write(tmp_path / "other", w=FULL)
    merge_bundles([str(tmp_path / "m"), other], str(tmp_path / "m"))  # onto one of themselves
    assert len(list(tmp_path.iterdir())) == 5
    same(BundleReader(str(tmp_path / "m")).get_tensor("w"), FULL)
    same(BundleReader(str(tmp_path / "m")).get_tensor("p"), FULL)


def test_what_cannot_be_merged_stays(tmp_path: Path) -> None:
    one, two = (write(tmp_path / name, a=FULL) for name in ("one", "two"))
    with pytest.raises(InvalidArgumentError, match="'a' is in two"):
        merge_bundles([one, two], str(tmp_path / "m"))
    with pytest.raises(NotFoundError, match="none"):
        merge_bundles([one, str(tmp_path / "none")], str(tmp_path / "m"))
    with pytest.raises(NotFoundError, match="none of the checkpoints"):
        merge_bundles([str(tmp_path / "none")], str(tmp_path / "m"), allow_missing=True)
    same(BundleReader(one).get_tensor("a"), FULL)
    merge_bundles([one, str(tmp_path / "none")], str(tmp_path / "m"), allow_missing=True)
    same(BundleReader(str(tmp_path / "m")).get_tensor("a"), FULL)


def test_threads_may_share_a_reader(tmp_path: Path) -> None:
    values = {f"v{i}": np.full(2000, i) for i in range(20)}
    reader = BundleReader(write(tmp_path / "m", **values))
    with ThreadPoolExecutor(4) as pool:
        for name, got in zip(values, pool.map(reader.get_tensor, values), strict=True):
            same(got, values[name])
