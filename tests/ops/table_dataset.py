"""Rows of datasets, which are no arrays: all are tested by going through them."""

from __future__ import annotations

from tests.ops.rows import Row

DATASETS = "tests/kernels/test_datasets.py"
ROWS = tuple(
    Row(op, tested_in=DATASETS)
    for op in (
        "TensorDataset", "TensorSliceDataset", "RangeDataset", "MapDataset", "ParallelMapDataset",
        "ParallelMapDatasetV2", "FilterDataset", "FlatMapDataset", "InterleaveDataset",
        "BatchDataset", "BatchDatasetV2", "PaddedBatchDatasetV2", "RepeatDataset", "TakeDataset",
        "SkipDataset", "ShardDataset", "ZipDataset", "ConcatenateDataset", "PrefetchDataset",
        "ShuffleDataset", "Iterator", "IteratorV2", "OneShotIterator", "MakeIterator",
        "IteratorGetNext", "IteratorGetNextSync", "IteratorToStringHandle",
        "IteratorFromStringHandle", "IteratorFromStringHandleV2",
    )
)  # fmt: skip
