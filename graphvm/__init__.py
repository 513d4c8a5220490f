"""TensorFlow-1.x-style graphs and sessions.

`import graphvm as tf` runs scripts written for TensorFlow 1's graph mode. What builds graphs is
here at once; what runs, derives, trains or reads files is loaded when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from graphvm import nn as nn
from graphvm.behavior import (
    disable_control_flow_v2,
    disable_eager_execution,
    disable_resource_variables,
    disable_v2_behavior,
    enable_control_flow_v2,
    enable_resource_variables,
    executing_eagerly,
    resource_variables_enabled,
)
from graphvm.collections import (
    GraphKeys,
)
from graphvm.conversion import (
    convert_to_tensor,
    register_tensor_conversion_function,
)
from graphvm.graph import (
    Graph,
    Operation,
    Tensor,
    get_default_graph,
    reset_default_graph,
)
from graphvm.initializers import (
    Constant as constant_initializer,
)
from graphvm.initializers import (
    GlorotNormal as glorot_normal_initializer,
)
from graphvm.initializers import (
    GlorotUniform as glorot_uniform_initializer,
)
from graphvm.initializers import (
    Ones as ones_initializer,
)
from graphvm.initializers import (
    RandomNormal as random_normal_initializer,
)
from graphvm.initializers import (
    RandomUniform as random_uniform_initializer,
)
from graphvm.initializers import (
    TruncatedNormal as truncated_normal_initializer,
)
from graphvm.initializers import (
    VarianceScaling as variance_scaling_initializer,
)
from graphvm.initializers import (
    Zeros as zeros_initializer,
)
from graphvm.ops import math as math
from graphvm.ops import overloads as overloads
from graphvm.ops import random as random
from graphvm.ops.array import (
    broadcast_to,
    concat,
    constant,
    expand_dims,
    fill,
    gather,
    identity,
    identity_n,
    invert_permutation,
    newaxis,
    ones,
    ones_like,
    pad,
    placeholder,
    placeholder_with_default,
    rank,
    reshape,
    reverse,
    reverse_sequence,
    shape,
    shape_n,
    size,
    slice,
    split,
    squeeze,
    stack,
    stop_gradient,
    strided_slice,
    tile,
    transpose,
    unstack,
    where,
    where_v2,
    zeros,
    zeros_like,
)
from graphvm.ops.control_flow import (
    case,
    cond,
    foldl,
    foldr,
    group,
    map_fn,
    no_op,
    scan,
    switch_case,
    tuple,
    while_loop,
)
from graphvm.ops.data_flow import (
    FIFOQueue,
    QueueBase,
)
from graphvm.ops.linalg import (
    matrix_determinant,
    matrix_diag,
    matrix_diag_part,
    matrix_inverse,
    matrix_set_diag,
    matrix_solve,
)
from graphvm.ops.logging import (
    Assert,
    Print,
    print,
)
from graphvm.ops.math import (
    abs,
    accumulate_n,
    add,
    add_n,
    argmax,
    cast,
    ceil,
    conj,
    cos,
    cumprod,
    div,
    div_no_nan,
    divide,
    equal,
    exp,
    expm1,
    floor,
    floor_div,
    floordiv,
    floormod,
    greater,
    greater_equal,
    less,
    less_equal,
    log,
    log1p,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    matmul,
    maximum,
    minimum,
    mod,
    multiply,
    negative,
    not_equal,
    pow,
    range,
    realdiv,
    reciprocal,
    reduce_all,
    reduce_any,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
    rint,
    round,
    rsqrt,
    sign,
    sin,
    sqrt,
    square,
    squared_difference,
    subtract,
    to_bfloat16,
    to_double,
    to_float,
    to_int32,
    to_int64,
    truediv,
    unsorted_segment_sum,
)
from graphvm.ops.nn import (
    sigmoid,
    tanh,
)
from graphvm.ops.random import (
    get_seed,
    multinomial,
    random_normal,
    random_shuffle,
    random_uniform,
    set_random_seed,
    truncated_normal,
)
from graphvm.ops.state import (
    assign,
    assign_add,
    assign_sub,
    count_up_to,
    is_variable_initialized,
)
from graphvm.ops.string import (
    as_string,
    string_join,
)
from graphvm.ops.tensor_array import (
    TensorArray,
)
from graphvm.scopes import (
    add_to_collection,
    add_to_collections,
    colocate_with,
    container,
    control_dependencies,
    device,
    get_collection,
    get_collection_ref,
    get_default_session,
    init_scope,
    name_scope,
)
from graphvm.tensor_shape import (
    Dimension,
    TensorShape,
)
from graphvm.variable_collections import (
    all_variables,
    global_variables,
    global_variables_initializer,
    initialize_all_variables,
    local_variables,
    local_variables_initializer,
    model_variables,
    moving_average_variables,
    trainable_variables,
    variables_initializer,
)
from graphvm.variable_scope import (
    AUTO_REUSE,
    VariableScope,
    get_local_variable,
    get_variable,
    get_variable_scope,
    variable_op_scope,
    variable_scope,
)
from graphvm.variables import (
    Variable,
)
from graphvm_runtime.dtypes import (
    DType,
    as_dtype,
    bfloat16,
    complex64,
    complex128,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    int4,
    int8,
    int16,
    int32,
    int64,
    qint8,
    qint16,
    qint32,
    quint8,
    quint16,
    resource,
    string,
    uint4,
    uint8,
    uint16,
    uint32,
    uint64,
    variant,
)
from graphvm_runtime.dtypes import (
    bool_ as bool,
)
from graphvm_runtime.dtypes import (
    float16 as half,
)
from graphvm_runtime.dtypes import (
    float64 as double,
)

if TYPE_CHECKING:
    from graphvm import (
        compat,
        data,
        errors,
        graph_util,
        initializers,
        linalg,
        logging,
        nest,
        raw_ops,
        saved_model,
        strings,
        train,
    )
    from graphvm.importer import (
        import_graph_def,
    )
    from graphvm.indexed_slices import (
        IndexedSlices,
    )
    from graphvm.session import (
        InteractiveSession,
        Session,
    )
    from graphvm.transforms import (
        AggregationMethod,
        NoGradient,
        NotDifferentiable,
        RegisterGradient,
        UnconnectedGradients,
        custom_gradient,
        gradients,
        jvp,
        vjp,
    )
    from graphvm_runtime.errors import (
        OpError,
    )
    from graphvm_runtime.protos.attr_value_pb2 import (
        AttrValue,
        NameAttrList,
    )
    from graphvm_runtime.protos.config_pb2 import (
        ConfigProto,
        GPUOptions,
        GraphOptions,
        OptimizerOptions,
        RunMetadata,
        RunOptions,
    )
    from graphvm_runtime.protos.event_pb2 import (
        Event,
    )
    from graphvm_runtime.protos.graph_pb2 import (
        GraphDef,
    )
    from graphvm_runtime.protos.meta_graph_pb2 import (
        MetaGraphDef,
        TensorInfo,
    )
    from graphvm_runtime.protos.node_def_pb2 import (
        NodeDef,
    )
    from graphvm_runtime.protos.summary_pb2 import (
        HistogramProto,
        Summary,
    )
    from graphvm_runtime.protos.variable_pb2 import (
        VariableDef,
    )

__version__ = "0.1.0.dev0"

# name -> the module that has it; None: it is that module
_LAZY: dict[str, Any] = {
    "AggregationMethod": ("graphvm.transforms", "AggregationMethod"),
    "AttrValue": ("graphvm_runtime.protos.attr_value_pb2", "AttrValue"),
    "ConfigProto": ("graphvm_runtime.protos.config_pb2", "ConfigProto"),
    "Event": ("graphvm_runtime.protos.event_pb2", "Event"),
    "GPUOptions": ("graphvm_runtime.protos.config_pb2", "GPUOptions"),
    "GraphDef": ("graphvm_runtime.protos.graph_pb2", "GraphDef"),
    "GraphOptions": ("graphvm_runtime.protos.config_pb2", "GraphOptions"),
    "HistogramProto": ("graphvm_runtime.protos.summary_pb2", "HistogramProto"),
    "IndexedSlices": ("graphvm.indexed_slices", "IndexedSlices"),
    "InteractiveSession": ("graphvm.session", "InteractiveSession"),
    "MetaGraphDef": ("graphvm_runtime.protos.meta_graph_pb2", "MetaGraphDef"),
    "NameAttrList": ("graphvm_runtime.protos.attr_value_pb2", "NameAttrList"),
    "NoGradient": ("graphvm.transforms", "NoGradient"),
    "NodeDef": ("graphvm_runtime.protos.node_def_pb2", "NodeDef"),
    "NotDifferentiable": ("graphvm.transforms", "NotDifferentiable"),
    "OpError": ("graphvm_runtime.errors", "OpError"),
    "OptimizerOptions": ("graphvm_runtime.protos.config_pb2", "OptimizerOptions"),
    "RegisterGradient": ("graphvm.transforms", "RegisterGradient"),
    "RunMetadata": ("graphvm_runtime.protos.config_pb2", "RunMetadata"),
    "RunOptions": ("graphvm_runtime.protos.config_pb2", "RunOptions"),
    "Session": ("graphvm.session", "Session"),
    "Summary": ("graphvm_runtime.protos.summary_pb2", "Summary"),
    "TensorInfo": ("graphvm_runtime.protos.meta_graph_pb2", "TensorInfo"),
    "UnconnectedGradients": ("graphvm.transforms", "UnconnectedGradients"),
    "VariableDef": ("graphvm_runtime.protos.variable_pb2", "VariableDef"),
    "compat": ("graphvm.compat", None),
    "data": ("graphvm.data", None),
    "custom_gradient": ("graphvm.transforms", "custom_gradient"),
    "errors": ("graphvm.errors", None),
    "gradients": ("graphvm.transforms", "gradients"),
    "graph_util": ("graphvm.graph_util", None),
    "import_graph_def": ("graphvm.importer", "import_graph_def"),
    "initializers": ("graphvm.initializers", None),
    "jvp": ("graphvm.transforms", "jvp"),
    "linalg": ("graphvm.linalg", None),
    "logging": ("graphvm.logging", None),
    "nest": ("graphvm.nest", None),
    "raw_ops": ("graphvm.raw_ops", None),
    "saved_model": ("graphvm.saved_model", None),
    "strings": ("graphvm.strings", None),
    "train": ("graphvm.train", None),
    "vjp": ("graphvm.transforms", "vjp"),
}


def __getattr__(name: str) -> Any:
    """What is loaded when it is first asked for."""
    found = _LAZY.get(name)
    if found is None:
        raise AttributeError(f"module 'graphvm' has no attribute {name!r}")
    module = import_module(found[0])
    value = module if found[1] is None else getattr(module, found[1])
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """All public names, loaded or not."""
    return __all__


__all__ = [  # noqa: RUF022 (a plain sort, which a test compares with)
    "AUTO_REUSE", "AggregationMethod", "Assert", "AttrValue", "ConfigProto", "DType", "Dimension",
    "Event", "FIFOQueue", "GPUOptions", "Graph", "GraphDef", "GraphKeys", "GraphOptions",
    "HistogramProto", "IndexedSlices", "InteractiveSession", "MetaGraphDef", "NameAttrList",
    "NoGradient", "NodeDef", "NotDifferentiable", "OpError", "Operation", "OptimizerOptions",
    "Print", "QueueBase", "RegisterGradient", "RunMetadata", "RunOptions", "Session", "Summary",
    "Tensor", "TensorArray", "TensorInfo", "TensorShape", "UnconnectedGradients", "Variable",
    "VariableDef", "VariableScope", "abs", "accumulate_n", "add", "add_n", "add_to_collection",
    "add_to_collections", "all_variables", "argmax", "as_dtype", "as_string", "assign",
    "assign_add", "assign_sub", "bfloat16", "bool", "broadcast_to", "case", "cast", "ceil",
    "colocate_with", "compat", "complex128", "complex64", "concat", "cond", "conj", "constant",
    "constant_initializer", "container", "control_dependencies", "convert_to_tensor", "cos",
    "count_up_to", "cumprod", "custom_gradient", "data", "device", "disable_control_flow_v2",
    "disable_eager_execution", "disable_resource_variables", "disable_v2_behavior", "div",
    "div_no_nan", "divide", "double", "enable_control_flow_v2", "enable_resource_variables",
    "equal", "errors", "executing_eagerly", "exp", "expand_dims", "expm1", "fill", "float16",
    "float32", "float64", "float8_e4m3fn", "float8_e5m2", "floor", "floor_div", "floordiv",
    "floormod", "foldl", "foldr", "gather", "get_collection", "get_collection_ref",
    "get_default_graph", "get_default_session", "get_local_variable", "get_seed", "get_variable",
    "get_variable_scope", "global_variables", "global_variables_initializer",
    "glorot_normal_initializer", "glorot_uniform_initializer", "gradients", "graph_util",
    "greater", "greater_equal", "group", "half", "identity", "identity_n", "import_graph_def",
    "init_scope", "initialize_all_variables", "initializers", "int16", "int32", "int4", "int64",
    "int8", "invert_permutation", "is_variable_initialized", "jvp", "less", "less_equal", "linalg",
    "local_variables", "local_variables_initializer", "log", "log1p", "logging", "logical_and",
    "logical_not", "logical_or", "logical_xor", "map_fn", "math", "matmul", "matrix_determinant",
    "matrix_diag", "matrix_diag_part", "matrix_inverse", "matrix_set_diag", "matrix_solve",
    "maximum", "minimum", "mod", "model_variables", "moving_average_variables", "multinomial",
    "multiply", "name_scope", "negative", "nest", "newaxis", "nn", "no_op", "not_equal", "ones",
    "ones_initializer", "ones_like", "pad", "placeholder", "placeholder_with_default", "pow",
    "print", "qint16", "qint32", "qint8", "quint16", "quint8", "random", "random_normal",
    "random_normal_initializer", "random_shuffle", "random_uniform", "random_uniform_initializer",
    "range", "rank", "raw_ops", "realdiv", "reciprocal", "reduce_all", "reduce_any", "reduce_max",
    "reduce_mean", "reduce_min", "reduce_prod", "reduce_sum",
    "register_tensor_conversion_function", "reset_default_graph", "reshape", "resource",
    "resource_variables_enabled", "reverse", "reverse_sequence", "rint", "round", "rsqrt",
    "saved_model", "scan", "set_random_seed", "shape", "shape_n", "sigmoid", "sign", "sin", "size",
    "slice", "split", "sqrt", "square", "squared_difference", "squeeze", "stack", "stop_gradient",
    "strided_slice", "string", "string_join", "strings", "subtract", "switch_case", "tanh", "tile",
    "to_bfloat16", "to_double", "to_float", "to_int32", "to_int64", "train", "trainable_variables",
    "transpose", "truediv", "truncated_normal", "truncated_normal_initializer", "tuple", "uint16",
    "uint32", "uint4", "uint64", "uint8", "unsorted_segment_sum", "unstack", "variable_op_scope",
    "variable_scope", "variables_initializer", "variance_scaling_initializer", "variant", "vjp",
    "where", "where_v2", "while_loop", "zeros", "zeros_initializer", "zeros_like",
]  # fmt: skip
