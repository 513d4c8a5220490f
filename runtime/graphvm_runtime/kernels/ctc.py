"""Connectionist temporal classification: all batches at once, one time after the other.

Source: Graves, Fernandez, Gomez, Schmidhuber (2006), Connectionist temporal classification.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import FailedPreconditionError, InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.registry import kernel
from graphvm_runtime.kernels.shape_rule import refusing


def _labels(indices: Array, values: Array, batch: int, blank: int, collapse: bool) -> list[Array]:
    """The labels of each batch. Raises InvalidArgumentError where one has none, or a bad one."""
    rows = indices[:, 0]
    if len(rows) and not 0 <= rows.min() <= rows.max() < batch:
        raise InvalidArgumentError(f"labels_indices must be of {batch} batches, got {rows.max()}")
    if (values < 0).any():
        raise InvalidArgumentError(f"labels must not be negative, got {values.min()}")
    found = []
    for number in range(batch):
        of_batch = values[rows == number]
        known = of_batch < blank
        count = int(known.sum())
        if not known[:count].all():
            raise InvalidArgumentError(f"labels of batch {number} must be less than {blank}")
        labels = of_batch[:count]
        if collapse:
            labels = labels[np.append(True, labels[1:] != labels[:-1])[: len(labels)]]
        if not len(labels):
            raise InvalidArgumentError(f"labels of batch {number} must be one or more, got none")
        found.append(labels)
    return found


@kernel("CTCLoss")
@refusing
def _ctc_loss(node: Node) -> Callable[..., Any]:
    collapse = node.attrs["preprocess_collapse_repeated"]
    merge = node.attrs["ctc_merge_repeated"]
    skips = node.attrs["ignore_longer_outputs_than_inputs"]

    def call(inputs: Array, indices: Array, values: Array, lengths: Array) -> Any:
        times, batch, classes = inputs.shape
        if lengths.size and not 0 <= lengths.min() <= lengths.max() <= times:
            raise InvalidArgumentError(
                f"sequence_length must be between 0 and {times}, got {lengths.tolist()}"
            )
        labels = _labels(indices, values, batch, classes - 1, collapse)
        counts = np.array([len(each) for each in labels], np.int64)
        longer = counts > lengths
        if longer.any() and not skips:
            raise InvalidArgumentError(
                f"labels must be no longer than the sequence, got {counts.tolist()} labels for "
                f"{lengths.tolist()} times"
            )
        return _losses(inputs, labels, np.where(longer, 0, lengths), merge)

    return call


def _losses(inputs: Array, labels: list[Array], lengths: Array, merge: bool) -> tuple[Any, Any]:
    """Losses of all batches, and their gradients; both 0 where a length is."""
    times, batch, classes = inputs.shape
    logs = inputs - inputs.max(2, keepdims=True, initial=-np.inf)
    logs = logs - np.log(np.exp(logs).sum(2, keepdims=True))
    blank = classes - 1
    counts = np.array([2 * len(each) + 1 for each in labels], np.int64)
    states = np.full((batch, int(counts.max(initial=1))), blank, np.int64)
    for number, each in enumerate(labels):
        states[number, 1 : 2 * len(each) : 2] = each
    solid = states != blank
    stays = solid & (not merge)  # states that may not follow themselves
    jumps = solid.copy()  # those that may follow the last but one
    jumps[:, :2] = False
    if merge:
        jumps[:, 2:] &= states[:, 2:] != states[:, :-2]
    emitted = np.take_along_axis(logs, np.broadcast_to(states, (times, *states.shape)), 2)
    forward = _forward(emitted, stays, jumps)
    backward = _backward(emitted, stays, jumps, counts, lengths)
    last = np.maximum(lengths - 1, 0)
    joint = forward + backward
    total = np.logaddexp.reduce(joint[last, np.arange(batch)], 1) if times else np.zeros(batch)
    ran = np.arange(times)[:, None] < lengths
    with np.errstate(invalid="ignore"):
        share = np.where(np.isneginf(total)[:, None], 0, np.exp(joint - total[:, None]))
    gradient = np.exp(logs)
    moment, row, state = np.indices(share.shape)
    np.subtract.at(gradient, (moment, row, states[row, state]), share)
    loss = np.where(lengths > 0, -total, 0).astype(inputs.dtype)
    return loss, np.where(ran[..., None], gradient, 0).astype(inputs.dtype)


def _shifted(x: Array, by: int) -> Array:
    """Each row moved to the right, or to the left for a negative number."""
    out = np.full_like(x, -np.inf)
    if by > 0:
        out[:, by:] = x[:, :-by]
    else:
        out[:, :by] = x[:, -by:]
    return out


def _forward(emitted: Array, stays: Array, jumps: Array) -> Array:
    """Logarithm of the probability of what was emitted up to each time, by last state."""
    out = np.full_like(emitted, -np.inf)
    for time, now in enumerate(emitted):
        if not time:
            out[0, :, :2] = now[:, :2]
            continue
        before = out[time - 1]
        found = np.logaddexp(np.where(stays, -np.inf, before), _shifted(before, 1))
        found = np.logaddexp(found, np.where(jumps, _shifted(before, 2), -np.inf))
        out[time] = found + now
    return out


def _backward(emitted: Array, stays: Array, jumps: Array, counts: Array, lengths: Array) -> Array:
    """Logarithm of the probability of what is emitted after each time, by state."""
    out = np.full_like(emitted, -np.inf)
    width = emitted.shape[2]
    ends = np.arange(width) >= counts[:, None] - 2
    ends &= np.arange(width) < counts[:, None]
    final = np.where(ends, 0.0, -np.inf).astype(emitted.dtype)
    for time in range(len(emitted) - 1, -1, -1):
        if time + 1 < len(emitted):
            after = out[time + 1] + emitted[time + 1]
            found = np.logaddexp(np.where(stays, -np.inf, after), _shifted(after, -1))
            found = np.logaddexp(found, _shifted(np.where(jumps, after, -np.inf), -2))
            out[time] = found
        out[time] = np.where((lengths == time + 1)[:, None], final, out[time])
    return out


@kernel("CTCGreedyDecoder")
@refusing
def _greedy(node: Node) -> Callable[..., Any]:
    merge, blank_index = node.attrs["merge_repeated"], node.attrs["blank_index"]

    def call(inputs: Array, lengths: Array) -> Any:
        times, batch, classes = inputs.shape
        if lengths.size and lengths.max() > times:
            raise FailedPreconditionError(
                f"sequence_length must be at most {times}, got {lengths.tolist()}"
            )
        blank = blank_index + classes if blank_index < 0 else blank_index
        if not 0 <= blank < classes:
            raise InvalidArgumentError(
                f"blank_index must be one of {classes} classes, got {blank_index}"
            )
        ran = np.arange(times)[:, None] < lengths
        best = inputs.argmax(2)
        kept = ran & (best != blank)
        if merge:
            kept[1:] &= best[1:] != best[:-1]
        row, time = np.nonzero(kept.T)
        places = np.cumsum(kept, 0) - 1
        indices = np.stack([row, places[time, row]], 1).astype(np.int64)
        longest = int(kept.sum(0).max(initial=0))
        score = -np.where(ran, inputs.max(2), 0).sum(0, dtype=inputs.dtype)[:, None]
        shape = np.array([batch, longest], np.int64)
        return indices, best[time, row].astype(np.int64), shape, score

    return call
