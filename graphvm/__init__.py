"""TensorFlow-1.x-style graphs and sessions.

`import graphvm as tf` runs scripts written for TensorFlow 1's graph mode. What a name stands for is
loaded when it is first asked for, so a script pays for what it uses; `__init__.pyi` says the same
to type checkers and editors.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0.dev0"

# module -> the names that it has here; `its own=the name here` where they differ
_NAMES = {
    "graphvm.graph.behavior": (
        "disable_control_flow_v2 disable_eager_execution disable_resource_variables "
        "disable_v2_behavior enable_control_flow_v2 enable_resource_variables "
        "executing_eagerly resource_variables_enabled"
    ),
    "graphvm.graph.collections": "GraphKeys",
    "graphvm.graph.conversion": "convert_to_tensor register_tensor_conversion_function",
    "graphvm.functions.defun": "Declare Defun",
    "graphvm.graph.graph": "Graph Operation Tensor get_default_graph reset_default_graph",
    "graphvm.graphdef.importer": "import_graph_def",
    "graphvm.graph.indexed_slices": "IndexedSlices",
    "graphvm.variables.initializers": (
        "Constant=constant_initializer GlorotNormal=glorot_normal_initializer "
        "GlorotUniform=glorot_uniform_initializer Ones=ones_initializer "
        "RandomNormal=random_normal_initializer RandomUniform=random_uniform_initializer "
        "TruncatedNormal=truncated_normal_initializer "
        "VarianceScaling=variance_scaling_initializer Zeros=zeros_initializer"
    ),
    "graphvm.graph.lints": "lint",
    "graphvm.ops.array": (
        "boolean_mask broadcast_to concat constant expand_dims eye fill gather gather_nd "
        "identity identity_n invert_permutation newaxis one_hot ones ones_like pad placeholder "
        "placeholder_with_default rank reshape reverse reverse_sequence scatter_nd "
        "sequence_mask shape shape_n size slice split squeeze stack stop_gradient strided_slice "
        "tile transpose unstack where where_v2 zeros zeros_like"
    ),
    "graphvm.ops.clipping": (
        "clip_by_average_norm clip_by_global_norm clip_by_norm clip_by_value global_norm"
    ),
    "graphvm.ops.control_flow": (
        "case cond foldl foldr group map_fn no_op scan switch_case tuple while_loop"
    ),
    "graphvm.ops.data_flow": "FIFOQueue QueueBase",
    "graphvm.ops.linalg": (
        "cholesky matrix_determinant matrix_diag matrix_diag_part matrix_inverse matrix_set_diag "
        "matrix_solve"
    ),
    "graphvm.ops.logging": "Assert Print print",
    "graphvm.ops.math": (
        "abs accumulate_n add add_n argmax argmin cast ceil conj cos cumprod cumsum div "
        "div_no_nan divide einsum equal exp expm1 floor floor_div floordiv floormod greater "
        "greater_equal is_finite is_inf is_nan less less_equal linspace=lin_space linspace log "
        "log1p logical_and logical_not logical_or logical_xor matmul maximum minimum mod "
        "multiply negative not_equal pow range realdiv reciprocal reduce_all reduce_any "
        "reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_sum rint round "
        "rsqrt sign sin sqrt square squared_difference subtract to_bfloat16 to_double to_float "
        "to_int32 to_int64 truediv unsorted_segment_sum"
    ),
    "graphvm.ops.nn": "sigmoid tanh",
    "graphvm.ops.random": (
        "get_seed multinomial random_normal random_shuffle random_uniform set_random_seed "
        "truncated_normal"
    ),
    "graphvm.ops.state": "assign assign_add assign_sub count_up_to is_variable_initialized",
    "graphvm.ops.string": "as_string string_join",
    "graphvm.ops.tensor_array": "TensorArray",
    "graphvm.graph.scopes": (
        "add_to_collection add_to_collections colocate_with container control_dependencies "
        "device get_collection get_collection_ref get_default_session init_scope name_scope"
    ),
    "graphvm.session.session": "InteractiveSession Session",
    "graphvm.graph.tensor_shape": "Dimension TensorShape",
    "graphvm.transforms": (
        "AggregationMethod NoGradient NotDifferentiable RegisterGradient UnconnectedGradients "
        "custom_gradient gradients jvp vjp"
    ),
    "graphvm.variables.collections": (
        "all_variables global_variables global_variables_initializer initialize_all_variables "
        "local_variables local_variables_initializer model_variables moving_average_variables "
        "trainable_variables variables_initializer"
    ),
    "graphvm.variables.variable_scope": (
        "AUTO_REUSE VariableScope get_local_variable get_variable get_variable_scope "
        "variable_op_scope variable_scope"
    ),
    "graphvm.variables.variable": "Variable",
    "graphvm_runtime.dtypes": (
        "DType as_dtype bfloat16 bool_=bool complex128 complex64 float16 float16=half float32 "
        "float64 float64=double float8_e4m3fn float8_e5m2 int16 int32 int4 int64 int8 qint16 "
        "qint32 qint8 quint16 quint8 resource string uint16 uint32 uint4 uint64 uint8 variant"
    ),
    "graphvm_runtime.errors": "OpError",
    "graphvm_runtime.protos.attr_value_pb2": "AttrValue NameAttrList",
    "graphvm_runtime.protos.config_pb2": (
        "ConfigProto GPUOptions GraphOptions OptimizerOptions RunMetadata RunOptions"
    ),
    "graphvm_runtime.protos.event_pb2": "Event",
    "graphvm_runtime.protos.graph_pb2": "GraphDef",
    "graphvm_runtime.protos.meta_graph_pb2": "MetaGraphDef TensorInfo",
    "graphvm_runtime.protos.node_def_pb2": "NodeDef",
    "graphvm_runtime.protos.summary_pb2": "HistogramProto Summary",
    "graphvm_runtime.protos.variable_pb2": "VariableDef",
}
# the name here -> the module that it is
_MODULES = {
    "compat": "graphvm.compat",
    "data": "graphvm.data",
    "errors": "graphvm.errors",
    "graph_util": "graphvm.graph_util",
    "initializers": "graphvm.variables.initializers",
    "linalg": "graphvm.linalg",
    "logging": "graphvm.logging",
    "math": "graphvm.ops.math",
    "nest": "graphvm.nest",
    "nn": "graphvm.nn",
    "random": "graphvm.ops.random",
    "raw_ops": "graphvm.raw_ops",
    "saved_model": "graphvm.saved_model",
    "strings": "graphvm.strings",
    "train": "graphvm.train",
}

_WHERE: dict[str, tuple[str, str]] = {name: (module, "") for name, module in _MODULES.items()}
for _module, _names in _NAMES.items():
    for _name in _names.split():
        _own, _, _here = _name.partition("=")
        _WHERE[_here or _own] = _module, _own

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    """What is loaded when it is first asked for."""
    found = _WHERE.get(name)
    if found is None:
        from graphvm.graph.absent import absent

        raise absent("graphvm", name, __all__)
    module, own = found
    if module.startswith("graphvm.graph.graph"):
        import_module("graphvm.ops")  # a graph by itself does not know the operators of its tensors
    loaded = import_module(module)
    value = getattr(loaded, own) if own else loaded
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """All public names, loaded or not."""
    return __all__
