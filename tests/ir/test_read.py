"""Functions, loops and old files are read as TensorFlow reads them."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import text_format

from graphvm_runtime.dtypes import float32, int32
from graphvm_runtime.errors import GraphError, NotFoundError
from graphvm_runtime.ir.graph import Graph, source_text
from graphvm_runtime.ir.graphdef.read import read_graph
from graphvm_runtime.ir.graphdef.write import write_graph
from graphvm_runtime.ir.text import print_graph
from graphvm_runtime.ir.verify import verify
from graphvm_runtime.protos.graph_pb2 import GraphDef
from graphvm_runtime.shapes import TensorType


def read(text: str) -> Graph:
    graph = read_graph(text_format.Parse(text, GraphDef()))
    verify(graph)
    return graph


X = """
    node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
           attr { key: "shape" value { shape { dim { size: 2 } } } } }
"""
# negates each of its arguments; T is open
POLYMORPHIC = """
    function {
      signature { name: "twice" attr { name: "T" type: "type" } attr { name: "N" type: "int" }
                  input_arg { name: "xs" type_attr: "T" number_attr: "N" }
                  output_arg { name: "first" type_attr: "T" }
                  output_arg { name: "all" type_attr: "T" number_attr: "N" } }
      node_def { name: "neg" op: "Neg" input: "xs:1"
                 attr { key: "T" value { placeholder: "T" } } }
      node_def { name: "same" op: "IdentityN" input: "neg:y:0" input: "xs:0"
                 attr { key: "T" value { list { type: DT_FLOAT type: DT_FLOAT } } } }
      ret { key: "first" value: "neg:y:0" }
      ret { key: "all" value: "same:output:0" }
    }
"""


def call(name: str, inputs: list[str], op: str = "twice") -> str:
    listed = " ".join(f'input: "{i}"' for i in inputs)
    return f"""
        node {{ name: "{name}" op: "{op}" {listed} attr {{ key: "T" value {{ type: DT_FLOAT }} }}
                attr {{ key: "N" value {{ i: 2 }} }} }}
    """


def test_a_polymorphic_function_is_read_for_the_attributes_of_its_call() -> None:
    graph = read(X + call("c", ["x", "x"]) + f"library {{ {POLYMORPHIC} }}")
    (function,) = graph.library.values()
    assert function.name == "twice__2_float32"
    assert [e.node for e in function.params] == ["xs_0", "xs_1"]
    assert [str(e) for e in function.results] == ["neg:0", "same:0", "same:1"]
    assert function.result_names == ("first", "all_0", "all_1")
    made = graph.by_name["c"]
    assert (made.op.name, made.attrs["f"].name) == ("PartitionedCall", function.name)
    assert made.attrs["Tout"] == (float32,) * 3


def test_calls_with_the_same_attributes_share_an_instance() -> None:
    text = X + call("c", ["x", "x"]) + call("d", ["c", "c:2"])
    graph = read(text + f"library {{ {POLYMORPHIC} }}")
    assert len(graph.library) == 1
    assert [str(e) for e in graph.by_name["d"].inputs] == ["c:0", "c:2"]


def test_a_polymorphic_function_that_nothing_calls_is_left_out() -> None:
    assert read(X + f"library {{ {POLYMORPHIC} }}").library == {}


def test_a_call_with_a_missing_attribute_is_told() -> None:
    with pytest.raises(GraphError, match="'twice' needs the attribute 'N'"):
        read(
            X
            + call("c", ["x", "x"]).replace('key: "N"', 'key: "M"')
            + f"library {{ {POLYMORPHIC} }}"
        )


def test_a_call_by_name_inside_a_body_names_results_of_the_function() -> None:
    outer = """
        function {
          signature { name: "outer" input_arg { name: "a" type: DT_FLOAT }
                      output_arg { name: "r" type: DT_FLOAT } }
          node_def { name: "inner" op: "twice" input: "a" input: "a"
                     attr { key: "T" value { type: DT_FLOAT } }
                     attr { key: "N" value { i: 2 } } }
          ret { key: "r" value: "inner:all:1" }
        }
    """
    graph = read(X + call("c", ["x"], "outer") + f"library {{ {outer} {POLYMORPHIC} }}")
    assert [str(e) for e in graph.library["outer"].results] == ["inner:2"]


def function(body: str, **parts: str) -> str:
    signature = parts.get("signature", "")
    return f"""
        library {{ function {{
          signature {{ name: "f" input_arg {{ name: "a" type: DT_FLOAT }}
                       output_arg {{ name: "r" type: DT_FLOAT }} {signature} }}
          {body}
        }} }}
        {X}
        node {{ name: "c" op: "StatefulPartitionedCall" input: "x"
               attr {{ key: "Tin" value {{ list {{ type: DT_FLOAT }} }} }}
               attr {{ key: "Tout" value {{ list {{ type: DT_FLOAT }} }} }}
               attr {{ key: "f" value {{ func {{ name: "f" }} }} }} }}
    """


def test_control_outputs_shapes_and_attributes_of_functions_are_kept() -> None:
    graph = read(
        function(
            """
            node_def { name: "n" op: "NoOp" input: "^late" }
            node_def { name: "late" op: "Neg" input: "a"
                       attr { key: "T" value { type: DT_FLOAT } } }
            ret { key: "r" value: "a" }
            control_ret { key: "done" value: "n" }
            attr { key: "_noinline" value { b: true } }
            arg_attr { key: 0 value {
              attr { key: "_user_specified_name" value { s: "mine" } }
              attr { key: "_output_shapes" value { list { shape { dim { size: 2 } } } } } } }
            """,
            signature='control_output: "done"',
        )
    )
    made = graph.library["f"]
    assert made.control == ("n",)
    assert made.attrs == {"_noinline": True}
    assert made.param_types == (TensorType(float32, (2,)),)
    assert made.body.by_name["a"].attrs["_user_specified_name"] == b"mine"
    assert [n.name for n in made.body.nodes] == ["a", "late", "n"]
    again = read_graph(write_graph(graph))
    assert print_graph(again) == print_graph(graph)


def test_handles_of_arguments_say_what_they_hold() -> None:
    text = function('ret { key: "r" value: "read:value:0" }'
        """
        node_def { name: "read" op: "ReadVariableOp" input: "h"
                   attr { key: "dtype" value { type: DT_FLOAT } } }
        """,
        signature="""
        input_arg { name: "h" type: DT_RESOURCE
                    handle_data { dtype: DT_FLOAT shape { dim { size: 5 } } } }
        """,
    )  # fmt: skip
    one, two = "list { type: DT_FLOAT }", "list { type: DT_FLOAT type: DT_RESOURCE }"
    text = text.replace('input: "x"\n', 'input: "x" input: "v"\n').replace(one, two, 1)
    text += """
        node { name: "v" op: "VarHandleOp" attr { key: "dtype" value { type: DT_FLOAT } }
               attr { key: "shape" value { shape { dim { size: 5 } } } } }
    """
    graph = read(text)
    assert graph.library["f"].result_types == (TensorType(float32, (5,)),)
    again = read_graph(write_graph(graph))
    assert again.library["f"].result_types == (TensorType(float32, (5,)),)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ('ret { key: "r" value: "q:y:0" }', "has no node 'q'"),
        ("", "does not say its result 'r'"),
        ('ret { key: "r" value: "a:3" }', "'a' has 1 tensors, number 3"),
        (
            'node_def { name: "n" op: "Neg" input: "a" '
            'attr { key: "T" value { type: DT_FLOAT } } } '
            'ret { key: "r" value: "n:z:0" }',
            "Neg has no output 'z'",
        ),
        ('ret { key: "r" value: "a" } control_ret { key: "c" value: "q" }', "no node 'q'"),
        ('node_def { name: "a" op: "NoOp" } ret { key: "r" value: "a" }', "'a' is not unique"),
    ],
)
def test_what_is_wrong_with_a_function_is_told(body: str, text: str) -> None:
    with pytest.raises(GraphError, match=text):
        read(function(body))


NOPE = 'node_def { name: "n" op: "Nope" }'


def test_a_function_with_an_unknown_op_matters_only_where_it_is_called() -> None:
    with pytest.raises(NotFoundError, match="'Nope'"):
        read(function(NOPE + ' ret { key: "r" value: "a" }'))
    with pytest.warns(UserWarning, match="'f', which nothing calls, is left out"):
        graph = read(f"library {{ function {{ signature {{ name: 'f' }} {NOPE} }} }}")
    assert graph.library == {}


def test_a_loop_may_stand_in_any_order_and_a_circle_without_one_may_not() -> None:
    def node(name: str, op: str, *inputs: str, **attrs: str) -> str:
        listed = " ".join(f'input: "{i}"' for i in inputs)
        given = " ".join(f'attr {{ key: "{k}" value {{ {v} }} }}' for k, v in attrs.items())
        return f'node {{ name: "{name}" op: "{op}" {listed} {given} }}'

    t = "type: DT_FLOAT"
    loop = [
        node("next", "NextIteration", "switch:1", T=t),
        node("exit", "Exit", "switch", T=t),
        node("switch", "Switch", "merge", "cond", T=t),
        node("cond", "LoopCond", "p"),
        node("p", "Placeholder", dtype="type: DT_BOOL"),
        node("merge", "Merge", "enter", "next", T=t, N="i: 2"),
        node("enter", "Enter", "x", T=t, frame_name='s: "f"'),
    ]
    graph = read(X + "\n".join(loop))
    assert [n.name for n in graph.nodes] == [
        "x", "p", "cond", "enter", "merge", "switch", "next", "exit",
    ]  # fmt: skip
    assert [t.dtype for t in graph.by_name["merge"].outputs] == [float32, int32]
    with pytest.raises(GraphError, match="circle that is no while loop"):
        read(X + "\n".join(loop).replace("NextIteration", "Identity"))


def test_the_users_lines_are_read_in_both_forms() -> None:
    plain = """
        debug_info { files: "model.py" traces { key: "x@" value {
          file_line_cols { file_index: 0 line: 7 func: "layer" } file_line_cols { line: 1 } } } }
    """
    shared = """
        debug_info { files: "model.py" name_to_trace_id { key: "x@" value: 5 }
          traces_by_id { key: 5 value { frame_id: 9 } }
          frames_by_id { key: 9 value { file_index: 0 line: 7 func: "layer" } } }
    """
    for info in (plain, shared):
        graph = read(X + info)
        assert source_text(graph.nodes[0].source) == "model.py:7, in layer"
        again: Any = write_graph(graph, sources=True)
        assert source_text(read_graph(again).nodes[0].source) == "model.py:7, in layer"
        assert not write_graph(graph).HasField("debug_info")
    with pytest.raises(GraphError, match=r"made  model.py:7, in layer"):
        read(X.replace("dtype", "type") + plain)
