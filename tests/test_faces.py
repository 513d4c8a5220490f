"""What is public, is so on purpose: `__all__` and signatures are golden text; the README holds."""

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from google.protobuf.message import Message

import graphvm
import graphvm_runtime
from graphvm.graph.absent import NAMES, tensorflow_names
from graphvm_runtime import config

ROOT = Path(__file__).resolve().parent.parent
FACE = Path(__file__).parent / "data" / "face.txt"


def packages() -> Iterator[str]:
    for root in (graphvm, graphvm_runtime):
        yield root.__name__
        for found in pkgutil.walk_packages(root.__path__, root.__name__ + "."):
            if found.ispkg:
                yield found.name


def public_names(module: ModuleType) -> set[str]:
    """Names without an underscore that are of this project, submodules aside."""
    return {
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and not inspect.ismodule(value)
        and str(getattr(value, "__module__", "graphvm")).startswith("graphvm")
    }


def signature(name: str, value: object) -> str:
    """One line: the name, and for what can be called its parameters with their defaults."""
    if inspect.isclass(value) and issubclass(value, Message):
        return f"{name}: message"
    if not callable(value):
        return f"{name}: {type(value).__name__}"
    try:
        found = inspect.signature(value)
    except ValueError:
        return f"{name}(...)"
    bare = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in found.parameters.values()
    ]
    text = str(found.replace(parameters=bare, return_annotation=inspect.Signature.empty))
    return name + re.sub(r"<[^<>]* at 0x[0-9a-f]+>", "...", text)


def names_of(module: ModuleType) -> list[str]:
    """What a module says that it has: by `__all__`, by a `__dir__` of its own, or by having it."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return dir(module) if "__dir__" in vars(module) else sorted(public_names(module))


def face() -> Iterator[str]:
    for name in graphvm.__all__:
        value = getattr(graphvm, name)
        if inspect.ismodule(value):
            for inner in names_of(value):
                yield signature(f"{name}.{inner}", getattr(value, inner))
        else:
            yield signature(name, value)
            if inspect.isclass(value) and not issubclass(value, Message):
                for inner, member in sorted(members(value).items()):
                    yield "  " + signature(f"{name}.{inner}", member)


def members(kind: type) -> dict[str, object]:
    """What a class has, its own and from our bases, without what is private."""
    found: dict[str, object] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("graphvm"):
            found |= {k: v for k, v in vars(base).items() if not k.startswith("_")}
    return found


@pytest.mark.parametrize("package", list(packages()))
def test_all_is_whole_and_true(package: str) -> None:
    module = importlib.import_module(package)
    declared = list(getattr(module, "__all__", ()))
    assert len(declared) == len(set(declared))
    assert [name for name in declared if not hasattr(module, name)] == []
    assert module.__file__ is not None
    names = ast.walk(ast.parse(Path(module.__file__).read_text()))
    used = {node.id for node in names if isinstance(node, ast.Name)}  # what it imports for itself
    extra = public_names(module) - set(declared) - used
    assert not extra, f"{package} shows names that its __all__ does not: {sorted(extra)}"


def test_the_face_is_the_golden_one(golden: Callable[[Path, str], None]) -> None:
    golden(FACE, "\n".join(face()) + "\n")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)


def test_the_readme_is_one_screen_with_two_commands() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 60
    assert [len(block.splitlines()) for block in blocks("sh")] == [1, 1]


def test_the_example_of_the_readme_runs_and_its_file_loads(tmp_path: Path) -> None:
    (example,) = blocks("python")
    done = subprocess.run(
        [sys.executable, "-c", example],
        cwd=tmp_path,
        env={"PYTHONPATH": ":".join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 0.05
    graph = graphvm.GraphDef()
    graph.ParseFromString((tmp_path / "model.pb").read_bytes())
    graphvm.import_graph_def(graph, name="")
    assert graphvm.get_default_graph().get_tensor_by_name("x:0").shape.as_list() == [None, 2]


def test_every_switch_is_documented() -> None:
    rows = re.findall(r"^\| `(GRAPHVM_\w+)", (ROOT / "docs/switches.md").read_text(), re.M)
    assert set(rows) == set(config.SWITCHES)


def stub() -> str:
    """What `graphvm/__init__.pyi` must say: the imports that the package does when it is asked."""
    imports: dict[str, list[tuple[str, str]]] = {}
    where: dict[str, tuple[str, str]] = vars(graphvm)["_WHERE"]
    for name, (module, own) in where.items():
        if not own:  # the name is a module
            module, _, own = module.rpartition(".")
        imports.setdefault(module, []).append((own, name))
    lines = ['"""Types of what `__init__.py` loads; written by tests/test_faces.py."""', ""]
    for module in sorted(imports):
        lines.append(f"from {module} import (")
        for own, name in sorted(imports[module]):
            lines.append(f"    {own} as {name}," if own != name else f"    {own},")
        lines.append(")")
    lines += ["", "__version__: str", "", "__all__ = ["]
    lines += [f'    "{name}",' for name in graphvm.__all__]
    return "\n".join([*lines, "]", ""])


def test_the_stub_says_what_the_package_loads(golden: Callable[[Path, str], None]) -> None:
    golden(ROOT / "graphvm" / "__init__.pyi", stub())


def test_no_module_hides_a_name() -> None:
    """What imports `graphvm.x` makes `x` that module: no other thing may have that name."""
    for module in pkgutil.iter_modules(graphvm.__path__):
        if module.name in graphvm.__all__:
            loaded = importlib.import_module(f"graphvm.{module.name}")
            assert getattr(graphvm, module.name) is loaded


def test_no_module_of_ours_has_a_name_of_tensorflow_that_is_none() -> None:
    """`tf.function` must not be a module of ours because something imported that module.

    The names are those of TensorFlow 2.21's `compat.v1`, modules marked by a slash.
    """
    others = {name for name in NAMES.read_text().split() if not name.endswith("/")}
    ours = {
        found.name.removeprefix("graphvm.")
        for found in pkgutil.walk_packages(graphvm.__path__, "graphvm.")
    }
    assert len(others) > 1000
    assert ours & others == set()


@pytest.mark.parametrize(
    ("module", "name", "said"),
    [
        (graphvm, "whille_loop", "did you mean while_loop"),
        (graphvm.nn, "dynamic_rn", "did you mean dynamic_rnn"),
        (graphvm.train, "AdamOptimiser", "did you mean AdamOptimizer"),
        (graphvm.compat.v1, "placeholdr", "did you mean placeholder"),
        (graphvm, "quantum_leap", "TensorFlow 1 is not known to have it"),
        (graphvm, "arg_max", "no 'arg_max' yet; it is TensorFlow's\n  do  did you mean argmax"),
        (graphvm, "layers", "no 'layers' yet; it is TensorFlow's"),
    ],
)
def test_an_absent_name_gets_help(module: ModuleType, name: str, said: str) -> None:
    with pytest.raises(AttributeError, match=said):
        getattr(module, name)
    assert not hasattr(module, name)


@pytest.mark.parametrize(
    "module", [graphvm, graphvm.nn, graphvm.train, graphvm.compat.v1], ids=lambda m: m.__name__
)
def test_a_name_of_tensorflow_that_is_absent_is_not_taken_for_a_slip(module: ModuleType) -> None:
    prefix = {graphvm.nn: "nn.", graphvm.train: "train."}.get(module, "")
    own = {name.removeprefix(prefix) for name in tensorflow_names() if name.startswith(prefix)}
    absent = sorted(name for name in own if "." not in name and not hasattr(module, name))
    assert absent
    for name in absent:
        with pytest.raises(AttributeError, match="yet; it is TensorFlow's") as error:
            getattr(module, name)
        meant = re.findall(r"did you mean (.*)\?", str(error.value))
        assert [
            m for m in meant if m.replace("_", "").lower() != name.replace("_", "").lower()
        ] == []


def test_errors_are_made_as_tensorflow_makes_them() -> None:
    with graphvm.Graph().as_default():
        op = graphvm.constant(1.0, name="one").op
    error = graphvm.errors.InvalidArgumentError(None, op, "no good")
    assert (error.message, error.node) == ("no good", "one")
    assert graphvm.errors.NotFoundError(None, None, "gone").message == "gone"
