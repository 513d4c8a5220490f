"""Derivatives of datasets: there are none."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.rules.registry import NotDifferentiable, Rule

TABLE: Mapping[str, Rule] = {
    name: NotDifferentiable("elements come from another step")
    for name in (
        "TensorDataset", "TensorSliceDataset", "RangeDataset", "MapDataset", "ParallelMapDataset",
        "ParallelMapDatasetV2", "FilterDataset", "FlatMapDataset", "InterleaveDataset",
        "BatchDataset", "BatchDatasetV2", "PaddedBatchDatasetV2", "RepeatDataset", "TakeDataset",
        "SkipDataset", "ShardDataset", "ShuffleDataset", "ZipDataset", "ConcatenateDataset",
        "PrefetchDataset", "Iterator", "IteratorV2", "OneShotIterator", "MakeIterator",
        "IteratorGetNext", "IteratorGetNextSync", "IteratorToStringHandle",
        "IteratorFromStringHandle", "IteratorFromStringHandleV2",
    )
}  # fmt: skip
