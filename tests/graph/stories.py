"""Programs of TensorFlow 1 that tell names, devices and edges; `tensorflow_says` has the ends.

Each takes the module to run on and gives a list of plain values, so that the same program can be
run on TensorFlow, which is how `tensorflow_says` was made.
"""

# ruff: noqa: PERF401, RUF005 (a story is told step by step, and `+` is what it is about)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

KINDS = (KeyError, RuntimeError, TypeError, ValueError)


def outcome(make: Callable[..., Any], *args: Any) -> Any:
    """What a call gives, or the kinds of what it raises."""
    try:
        return make(*args)
    except Exception as error:
        return "raises " + " ".join(k.__name__ for k in KINDS if isinstance(error, k))


def controls(tensor: Any) -> list[str]:
    return [o.name for o in getattr(tensor, "op", tensor).control_inputs]


def name_scopes(tf: Any) -> list[Any]:
    out: list[Any] = []
    with tf.Graph().as_default() as g:
        with tf.name_scope("a") as s:
            out += [s, tf.constant(1).name]
        with tf.name_scope("a") as s:
            out.append(s)
            with tf.name_scope("b") as inner:
                out += [inner, tf.constant(1, name="c").name]
            with tf.name_scope("b") as inner:
                out.append(inner)
            for root in (None, ""):
                with tf.name_scope(root) as inner:
                    out += [inner, tf.constant(1, name="top").name]
            with tf.name_scope("a/b/") as inner:
                out += [inner, tf.constant(1, name="c").name, g.get_name_scope()]
            out += [tf.constant(1, name="z/").name, outcome(lambda: tf.constant(1, name="z/"))]
        for name in ("A", "x/y"):
            with tf.name_scope(name) as s:
                out.append(s)
        with tf.name_scope(None, "default") as s:
            out.append(s)
        value = tf.constant(1)
        out.append(outcome(lambda: tf.name_scope(None, values=[value]).__enter__()))
        out.append(g.get_name_scope())
    return out


def legal_names(tf: Any) -> list[Any]:
    out: list[Any] = []
    with tf.Graph().as_default() as g:

        def entered(name: str) -> str:
            with g.name_scope(name) as scope:
                return str(scope)

        def made(name: str) -> str:
            return str(tf.constant(1, name=name).name)

        for name in ("_x", "x y", "x:y", "-x", "x$", "x>y", "x\\y", ".x", "9x", "x-y"):
            out.append(
                (
                    name,
                    outcome(entered, name),
                    outcome(made, name),
                )
            )
        with tf.name_scope("in"):
            out.append(outcome(lambda: tf.constant(1, name="_x").name))
            out.append(outcome(lambda: tf.constant(1, name="-x").name))
    return out


def unique_names(tf: Any) -> list[Any]:
    with tf.Graph().as_default() as g:
        made = ["AddX", "addx", "ADDX", "addx_1", "addx", "q_1", "q", "q", "q", "w/z", "w", "W/Z"]
        out = [tf.constant(1, name=name).name for name in made]
        out += [g.unique_name("AddX"), g.unique_name("AddX", mark_as_used=False)]
        out += [g.unique_name("AddX"), g.unique_name("addx_2"), g.unique_name("w")]
    return out


def devices(tf: Any) -> list[Any]:
    out: list[Any] = []
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2])

        def here() -> None:
            out.append(tf.identity(x).device)

        with tf.device("/cpu:0"):
            here()
        with tf.device("/job:w/task:1"):
            with tf.device("/gpu:0"):
                here()
            with tf.device("/job:v"):
                here()
            with tf.device(None):
                here()
            with tf.device(lambda op: "/device:CPU:1" if op.type == "Identity" else "/job:z"):
                here()
                out.append(tf.add(x, x).device)
            with tf.device("/device:CPU:2"), tf.device(lambda op: op.device):
                here()
            with tf.device(lambda op: "/device:CPU:1"), tf.device("/task:7"):
                here()
        with tf.device(lambda op: "/job:q/device:CPU:3"):
            with tf.device(None):
                here()
            with tf.device(""):
                here()
            with tf.device("/gpu:*"):
                here()
        out.append(outcome(lambda: tf.device("nonsense").__enter__()))
        here()
    return out


def colocation(tf: Any) -> list[Any]:
    out: list[Any] = []
    with tf.Graph().as_default() as g:
        x = tf.placeholder(tf.float32, [2])
        with tf.device("/job:a"):
            a = tf.identity(x, name="a")
        b = tf.identity(x, name="b")

        def here() -> None:
            op = tf.identity(x, name="d").op
            out.append((op.device, op.colocation_groups()))

        with tf.device("/job:c"), g.colocate_with(a):
            c = tf.identity(x, name="c")
            here()
            with g.colocate_with(b):
                here()
            with g.colocate_with(b, ignore_existing=True):
                here()
            with g.colocate_with(None, True):
                here()
            with tf.device("/job:k"):
                here()
        with g.colocate_with(c):
            here()
        with g.colocate_with(b):
            here()
        out += [b.op.colocation_groups(), outcome(lambda: g.colocate_with(None).__enter__())]
    return out


def control_edges(tf: Any) -> list[Any]:
    out: list[Any] = []
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2], name="x")
        a, b = tf.identity(x, name="a"), tf.identity(x, name="b")
        with tf.control_dependencies([a, b.op, a]):
            c = tf.identity(x, name="c")
            d, e, f = tf.identity(c, name="d"), tf.identity(a, name="e"), tf.no_op(name="f")
            out += [controls(t) for t in (c, d, e, f)]
            with tf.control_dependencies([c]):
                h = tf.identity(x)
                out += [controls(t) for t in (h, tf.identity(h), tf.identity(c), tf.add(a, d))]
                with tf.control_dependencies(None):
                    free = tf.identity(x)
                    out.append(controls(free))
                    with tf.control_dependencies([f]):
                        out.append(controls(tf.identity(x)))
                    below = tf.identity(free)
                out += [controls(tf.identity(free)), controls(tf.identity(below))]
            with tf.control_dependencies([]):
                out += [controls(tf.identity(x)), controls(tf.identity(d))]
        out.append(controls(tf.identity(e)))
        with tf.control_dependencies([d]):
            out.append(controls(tf.identity(c)))
        out.append(outcome(lambda: tf.control_dependencies([3]).__enter__()))
    return out


def lookups(tf: Any) -> list[Any]:
    out: list[Any] = []
    with tf.Graph().as_default() as g:
        x = tf.placeholder(tf.float32, [2], name="x")
        tf.add(x, x)
        a = tf.identity(x, name="a")

        def named(ask: Any, name: str) -> str:
            return str(ask(name).name)

        for name in ("x", "x:0", "x:1", "y", "y:0", "x:", "", "x:a", "^x"):
            out.append(
                (
                    name,
                    *(
                        outcome(named, ask, name)
                        for ask in (
                            g.get_operation_by_name,
                            g.get_tensor_by_name,
                            g.as_graph_element,
                            lambda n: g.as_graph_element(n, allow_tensor=False),
                            lambda n: g.as_graph_element(n, allow_operation=False),
                        )
                    ),
                )
            )
        out += [outcome(lambda: g.as_graph_element(3)), outcome(lambda: g.get_tensor_by_name(3))]
        out.append(outcome(lambda: tf.Graph().as_graph_element(x)))
        out.append(outcome(lambda: g.as_graph_element(x, allow_tensor=False)))
        out += [[o.name for o in x.consumers()], [o.name for o in g.get_operations()]]
        g.add_to_collection("k", x)
        g.add_to_collection("k", a)
        g.add_to_collections(["k", "l", "k"], x)
        g.add_to_collections("m", 3)
        out += [
            [t.name for t in g.get_collection("k")],
            [t.name for t in g.get_collection("k", "a")],
        ]
        out += [
            g.get_collection("none"),
            sorted(g.collections),
            sorted(g.get_all_collection_keys()),
        ]
        g.get_collection_ref("new").append(1)
        g.clear_collection("k")
        out += [g.get_collection("new"), g.get_collection("k")]
        g.finalize()
        out += [outcome(lambda: tf.identity(x)), g.finalized]
    return out


def imports(tf: Any) -> list[Any]:
    with tf.Graph().as_default() as source:
        x = tf.placeholder(tf.float32, [2], name="x")
        with tf.control_dependencies([x]):
            y = tf.identity(x, name="y")
        tf.add(y, y, name="z")
    file = source.as_graph_def()
    out: list[Any] = []
    with tf.Graph().as_default() as g:
        for _ in range(2):
            tf.import_graph_def(file)
            tf.import_graph_def(file, name="")
        with tf.name_scope("s"):
            for name in ("", "q", None, "r/"):
                tf.import_graph_def(file, name=name)
        c = tf.constant([1.0, 2.0], name="c")
        with tf.device("/job:a"), tf.control_dependencies([c]):
            tf.import_graph_def(file, name="d")
        made = tf.import_graph_def(
            file, name="m", input_map={"x": c, "^x": c}, return_elements=["z", "z:0"]
        )
        out.append([v.name for v in made])
        tf.import_graph_def(file, name="m", input_map={"x": [5.0, 6.0]})
        tf.import_graph_def(file, name="n", input_map={"z": c})
        tf.import_graph_def(file, name="n", input_map={"y:0": c})

        def imported(given: Any, asked: Any) -> Any:
            return tf.import_graph_def(file, name="e", input_map=given, return_elements=asked)

        for given in ({"q": c}, {"x:5": c}, {"^q": c}):
            out.append(outcome(imported, given, None))
        for asked in ("q", "z:3", "q:0", "x:0:1"):
            out.append(outcome(imported, None, [asked]))
        out += [tf.constant(1.0, name=n).name for n in ("x", "import/z", "z")]
        out += [g.unique_name("y"), g.unique_name("IMPORT")]
        out += [
            (n.name, n.op, list(n.input), n.device)
            for n in g.as_graph_def().node
            if not n.name.startswith("e")
        ]
    file.versions.producer = 21
    with tf.Graph().as_default() as g:
        tf.import_graph_def(file, name="")
        out += [g.as_graph_def().versions.producer, tf.Graph().as_graph_def().versions.producer]
    return out


def dimensions(tf: Any) -> list[Any]:
    out: list[Any] = []
    sizes = (tf.Dimension(3), tf.Dimension(None), tf.Dimension(0))
    for size in sizes:
        for other in (*sizes, 2, None):
            out.append([
                plain(outcome(f, size, other))
                for f in (
                    lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b,
                    lambda a, b: a // b, lambda a, b: a % b, lambda a, b: a == b,
                    lambda a, b: a != b, lambda a, b: a < b, lambda a, b: a <= b,
                    lambda a, b: a > b, lambda a, b: a >= b, lambda a, b: a / b,
                    lambda a, b: a.merge_with(b), lambda a, b: a.is_compatible_with(b),
                )
            ])  # fmt: skip
        out.append([
            plain(outcome(f, size))
            for f in (
                lambda a: 2 + a, lambda a: 2 - a, lambda a: 2 * a, lambda a: 7 // a,
                lambda a: 7 % a, lambda a: a == 2, lambda a: a > 2, int, str, repr,
                lambda a: [1, 2, 3, 4][a], tf.Dimension,
            )
        ])  # fmt: skip
    out += [plain(outcome(tf.Dimension, v)) for v in (-1, 2.5, "a")]
    return out


def plain(value: Any) -> Any:
    """A shape or dimension as plain values."""
    if hasattr(value, "value"):
        return ("dim", value.value)
    if hasattr(value, "is_fully_defined"):
        return ("shape", None if value.dims is None else [d.value for d in value.dims])
    if isinstance(value, list):
        return [plain(v) for v in value]
    return value


def tensor_shapes(tf: Any) -> list[Any]:
    out: list[Any] = []
    given: tuple[Any, ...] = (None, [], [3], [2, None], [2, 3], [None, None, 4])
    for dims in given:
        out.append([
            plain(outcome(f, tf.TensorShape(dims)))
            for f in (
                repr, str, lambda s: s.rank, lambda s: s.ndims, lambda s: s.dims, len, bool, list,
                lambda s: s[0], lambda s: s[-1], lambda s: s[1:], lambda s: s[:1], lambda s: s[:],
                lambda s: s[0:2], lambda s: s[:-1], lambda s: s.num_elements(),
                lambda s: s.as_list(), lambda s: s.is_fully_defined(),
                lambda s: s.assert_is_fully_defined(), lambda s: s.with_rank(2),
                lambda s: s.with_rank_at_least(2), lambda s: s.with_rank_at_most(1),
                lambda s: s.assert_has_rank(2), lambda s: s.concatenate([5]), lambda s: s + [5],
                lambda s: [5] + s, lambda s: s == s, lambda s: s != s, lambda s: s == [2, None],
                lambda s: s == [2, 3], lambda s: str(s.as_proto()).split(),
            )
        ])  # fmt: skip
        for other in given:
            out.append(
                [
                    plain(outcome(f, tf.TensorShape(dims), tf.TensorShape(other)))
                    for f in (
                        lambda a, b: a.merge_with(b),
                        lambda a, b: a.is_compatible_with(b),
                        lambda a, b: a.most_specific_compatible_shape(b),
                        lambda a, b: a.assert_same_rank(b),
                        lambda a, b: a.assert_is_compatible_with(b),
                        lambda a, b: a == b,
                    )
                ]
            )
    odd: list[Any] = [3, tf.Dimension(3), [tf.Dimension(3), None, 2], "abc", (2, 3), [[2]], [-1, 2]]
    odd += [tf.TensorShape([2]), tf.TensorShape([2, None]).as_proto(), [2.0], 2.5, iter([2, 3])]
    out += [plain(outcome(tf.TensorShape, o)) for o in odd]
    return out


def graph_keys(tf: Any) -> list[Any]:
    return [(n, getattr(tf.GraphKeys, n)) for n in sorted(dir(tf.GraphKeys)) if n[0].isupper()]


STORIES = (
    name_scopes, legal_names, unique_names, devices, colocation, control_edges, lookups, imports,
    dimensions, tensor_shapes, graph_keys,
)  # fmt: skip
