"""Names of the collections that TensorFlow's own functions use."""

from __future__ import annotations

import re
from typing import Any, ClassVar


class GraphKeys:
    """Standard names of collections.

    Source: `tf.compat.v1.GraphKeys`.
    """

    GLOBAL_VARIABLES: ClassVar[str] = "variables"
    VARIABLES: ClassVar[str] = "variables"
    LOCAL_VARIABLES: ClassVar[str] = "local_variables"
    METRIC_VARIABLES: ClassVar[str] = "metric_variables"
    MODEL_VARIABLES: ClassVar[str] = "model_variables"
    TRAINABLE_VARIABLES: ClassVar[str] = "trainable_variables"
    TRAINABLE_RESOURCE_VARIABLES: ClassVar[str] = "trainable_resource_variables"
    SUMMARIES: ClassVar[str] = "summaries"
    QUEUE_RUNNERS: ClassVar[str] = "queue_runners"
    TABLE_INITIALIZERS: ClassVar[str] = "table_initializer"
    ASSET_FILEPATHS: ClassVar[str] = "asset_filepaths"
    MOVING_AVERAGE_VARIABLES: ClassVar[str] = "moving_average_variables"
    REGULARIZATION_LOSSES: ClassVar[str] = "regularization_losses"
    CONCATENATED_VARIABLES: ClassVar[str] = "concatenated_variables"
    SAVERS: ClassVar[str] = "savers"
    WEIGHTS: ClassVar[str] = "weights"
    BIASES: ClassVar[str] = "biases"
    ACTIVATIONS: ClassVar[str] = "activations"
    UPDATE_OPS: ClassVar[str] = "update_ops"
    LOSSES: ClassVar[str] = "losses"
    SAVEABLE_OBJECTS: ClassVar[str] = "saveable_objects"
    RESOURCES: ClassVar[str] = "resources"
    LOCAL_RESOURCES: ClassVar[str] = "local_resources"
    EVAL_STEP: ClassVar[str] = "eval_step"
    INIT_OP: ClassVar[str] = "init_op"
    LOCAL_INIT_OP: ClassVar[str] = "local_init_op"
    READY_OP: ClassVar[str] = "ready_op"
    READY_FOR_LOCAL_INIT_OP: ClassVar[str] = "ready_for_local_init_op"
    SUMMARY_OP: ClassVar[str] = "summary_op"
    GLOBAL_STEP: ClassVar[str] = "global_step"
    TRAIN_OP: ClassVar[str] = "train_op"
    COND_CONTEXT: ClassVar[str] = "cond_context"
    WHILE_CONTEXT: ClassVar[str] = "while_context"


class CollectionStore:
    """Lists of anything that a graph carries by name.

    Source: the collection methods of `tf.Graph`.
    """

    def __init__(self) -> None:
        self._collections: dict[Any, list[Any]] = {}

    @property
    def collections(self) -> list[Any]:
        """Names of the collections."""
        return list(self._collections)

    def get_all_collection_keys(self) -> list[Any]:
        """Names of the collections, as far as they are text."""
        return [k for k in self._collections if isinstance(k, str)]

    def add_to_collection(self, name: Any, value: Any) -> None:
        """Puts `value` into a collection."""
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: Any, value: Any) -> None:
        """Puts `value` into each of some collections; one name may stand alone."""
        for name in (names,) if isinstance(names, str) else dict.fromkeys(names or ()):
            self.add_to_collection(name, value)

    def get_collection_ref(self, name: Any) -> list[Any]:
        """The collection itself: changing the list changes it."""
        return self._collections.setdefault(name, [])

    def get_collection(self, name: Any, scope: str | None = None) -> list[Any]:
        """A copy of a collection.

        Args:
            name: of the collection.
            scope: a regular expression; only items whose `name` starts with a match are given.
        """
        items = self._collections.get(name, [])
        if not scope:
            return list(items)
        matches = re.compile(scope).match
        return [i for i in items if hasattr(i, "name") and matches(i.name)]

    def clear_collection(self, name: Any) -> None:
        """Empties a collection."""
        self._collections.pop(name, None)
