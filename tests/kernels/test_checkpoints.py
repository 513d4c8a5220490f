"""Ops that save and restore."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphvm_runtime import dtypes
from graphvm_runtime.errors import InvalidArgumentError, NotFoundError
from tests.kernels.calling import Bench
from tests.ops.rows import strings


def text(value: object) -> Any:
    return np.array(str(value).encode(), object)


def save(bench: Bench, prefix: Path, slices: Any = None, **tensors: Any) -> None:
    names = strings(*(n.encode() for n in tensors))
    blank = strings(*(b"" for _ in tensors))
    bench(
        "SaveV2", text(prefix), names, blank if slices is None else slices, list(tensors.values())
    )


def restore(bench: Bench, prefix: Path, name: str, dtype: dtypes.DType, spec: bytes = b"") -> Any:
    return bench("RestoreV2", text(prefix), strings(name.encode()), strings(spec), dtypes=(dtype,))


def test_what_was_saved_is_restored(tmp_path: Path) -> None:
    bench = Bench()
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), strings(b"a", b"bc")
    save(bench, tmp_path / "model", x=x, y=y, z=np.int64(7))
    np.testing.assert_array_equal(restore(bench, tmp_path / "model", "x", dtypes.float32), x)
    got = bench(
        "RestoreV2", text(tmp_path / "model"), strings(b"y", b"z"), strings(b"", b""),
        dtypes=(dtypes.string, dtypes.int64),
    )  # fmt: skip
    assert got[0].tolist() == [b"a", b"bc"]
    assert got[1] == 7


def test_slices_are_saved_and_restored(tmp_path: Path) -> None:
    bench = Bench()
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    for i, spec in enumerate((b"3 2 0,1:-", b"3 2 1,2:-")):
        save(bench, tmp_path / f"part{i}", strings(spec), x=x[:1] if i == 0 else x[1:])
    parts = strings(*(str(tmp_path / f"part{i}").encode() for i in range(2)))
    bench("MergeV2Checkpoints", parts, text(tmp_path / "whole"))
    bench.step = bench.new_step()
    np.testing.assert_array_equal(restore(bench, tmp_path / "whole", "x", dtypes.float32), x)
    part = restore(bench, tmp_path / "whole", "x", dtypes.float32, b"3 2 1,2:0,1")
    np.testing.assert_array_equal(part, x[1:3, :1])


def test_a_restore_of_another_type_or_shape_is_refused(tmp_path: Path) -> None:
    bench = Bench()
    save(bench, tmp_path / "model", x=np.zeros(3, np.float32))
    with pytest.raises(InvalidArgumentError, match=r"tensor 'x' .* is of float32, not int32"):
        restore(bench, tmp_path / "model", "x", dtypes.int32)
    with pytest.raises(InvalidArgumentError, match=r"has the shape \[3\], not \[4\]"):
        restore(bench, tmp_path / "model", "x", dtypes.float32, b"4 0,2")


def test_a_missing_tensor_or_file_is_not_found(tmp_path: Path) -> None:
    bench = Bench()
    save(bench, tmp_path / "model", x=np.zeros(3, np.float32))
    with pytest.raises(NotFoundError, match="no tensor 'y'"):
        restore(bench, tmp_path / "model", "y", dtypes.float32)
    with pytest.raises(NotFoundError):
        restore(bench, tmp_path / "nowhere", "x", dtypes.float32)
    with pytest.raises(NotFoundError):
        bench("MergeV2Checkpoints", strings(b"nowhere"), text(tmp_path / "whole"))


def test_a_failed_save_leaves_nothing_behind(tmp_path: Path) -> None:
    bench = Bench()
    with pytest.raises(InvalidArgumentError):
        save(bench, tmp_path / "model", strings(b"3 0,2"), x=np.zeros(3, np.float32))
    assert list(tmp_path.iterdir()) == []


def test_names_must_be_as_many_as_tensors(tmp_path: Path) -> None:
    bench = Bench()
    with pytest.raises(InvalidArgumentError, match="1 tensors, but names of shape"):
        bench("SaveV2", text(tmp_path / "m"), strings(b"a", b"b"), strings(b""), [np.int32(1)])
