"""The state file of a directory."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from graphvm_runtime.checkpoint import (
    BundleWriter,
    checkpoint_exists,
    latest_checkpoint,
    read_state,
    remove_checkpoint,
    write_state,
)
from graphvm_runtime.errors import DataLossError, InvalidArgumentError


def saved(prefix: Path) -> str:
    with BundleWriter(str(prefix)) as writer:
        writer.add("a", np.arange(3))
    return str(prefix)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    one, two = saved(tmp_path / "m-1"), saved(tmp_path / "m-2")
    write_state(str(tmp_path), two, [one, two], timestamps=[1.5, 2.5], last_preserved=0.5)
    state = read_state(str(tmp_path))
    assert state is not None
    assert state.model_checkpoint_path == two
    assert list(state.all_model_checkpoint_paths) == [one, two]
    assert list(state.all_model_checkpoint_timestamps) == [1.5, 2.5]
    assert state.last_preserved_timestamp == 0.5
    assert latest_checkpoint(str(tmp_path)) == two


def test_relative_paths_survive_a_move(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    write_state(str(tmp_path / "a"), saved(tmp_path / "a" / "m-1"), relative=True)
    text = (tmp_path / "a" / "checkpoint").read_text()
    assert text == 'model_checkpoint_path: "m-1"\nall_model_checkpoint_paths: "m-1"\n'
    os.rename(tmp_path / "a", tmp_path / "b")
    assert latest_checkpoint(str(tmp_path / "b")) == str(tmp_path / "b" / "m-1")


def test_paths_relative_to_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    saved(tmp_path / "logs" / "m-1")
    write_state("logs", "logs/m-1")
    assert 'model_checkpoint_path: "m-1"' in (tmp_path / "logs" / "checkpoint").read_text()
    assert latest_checkpoint("logs") == "logs/m-1"
    write_state("", "logs/m-1")
    assert latest_checkpoint("") == "logs/m-1"


def test_nothing_there(tmp_path: Path) -> None:
    assert read_state(str(tmp_path)) is None
    assert latest_checkpoint(str(tmp_path / "none")) is None
    write_state(str(tmp_path), str(tmp_path / "gone"), filename="other")
    assert latest_checkpoint(str(tmp_path), "other") is None
    assert read_state(str(tmp_path)) is None


@pytest.mark.parametrize("text", ["model_checkpoint_path: ", "", "\udcff"])
def test_a_damaged_state_is_data_loss(tmp_path: Path, text: str) -> None:
    (tmp_path / "checkpoint").write_text(text, "utf-8", "surrogateescape")
    with pytest.raises(DataLossError, match="checkpoint"):
        latest_checkpoint(str(tmp_path))


def test_timestamps_must_match(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="1 timestamps for 2"):
        write_state(str(tmp_path), "a", ["a", "b"], timestamps=[1.0])


def test_removing(tmp_path: Path) -> None:
    one, other = saved(tmp_path / "m[1]"), saved(tmp_path / "m[1]x")
    assert checkpoint_exists(one)
    remove_checkpoint(one)
    assert not checkpoint_exists(one)
    assert checkpoint_exists(other)
    assert len(list(tmp_path.iterdir())) == 2
    remove_checkpoint(one)
