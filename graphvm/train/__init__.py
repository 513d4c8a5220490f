"""Training: optimizers, checkpoints, graphs with their collections.

Source: `tf.compat.v1.train`.
"""

from typing import NoReturn

from graphvm.graph.absent import absent
from graphvm.train.adam import AdamOptimizer
from graphvm.train.checkpoints import (
    NewCheckpointReader,
    checkpoint_exists,
    get_checkpoint_mtimes,
    get_checkpoint_state,
    latest_checkpoint,
    list_variables,
    load_checkpoint,
    load_variable,
    remove_checkpoint,
    update_checkpoint_state,
)
from graphvm.train.gradient_descent import GradientDescentOptimizer
from graphvm.train.meta_graph import export_meta_graph, write_graph
from graphvm.train.meta_graph_reader import import_meta_graph
from graphvm.train.optimizer import Optimizer
from graphvm.train.saver import Saver
from graphvm.train.server import ClusterDef, ClusterSpec, Server, ServerDef
from graphvm.train.steps import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
    global_step,
)
from graphvm_runtime.protos.checkpoint_state_pb2 import CheckpointState
from graphvm_runtime.protos.saver_pb2 import SaverDef

__all__ = [
    "AdamOptimizer",
    "CheckpointState",
    "ClusterDef",
    "ClusterSpec",
    "GradientDescentOptimizer",
    "NewCheckpointReader",
    "Optimizer",
    "Saver",
    "SaverDef",
    "Server",
    "ServerDef",
    "assert_global_step",
    "checkpoint_exists",
    "create_global_step",
    "export_meta_graph",
    "get_checkpoint_mtimes",
    "get_checkpoint_state",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "import_meta_graph",
    "latest_checkpoint",
    "list_variables",
    "load_checkpoint",
    "load_variable",
    "remove_checkpoint",
    "update_checkpoint_state",
    "write_graph",
]


def __getattr__(name: str) -> NoReturn:
    raise absent("graphvm.train", name, __all__)
