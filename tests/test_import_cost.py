"""What `import graphvm` must not load: its price is paid by every script."""

import subprocess
import sys

import pytest

PROBE = "import sys, {package}; print(*sorted(sys.modules), sep='\\n')"


FIRST_RESULT = """
import sys, graphvm as tf
x = tf.placeholder(tf.float32, [])
assert tf.Session().run(x + 1, {x: 1.0}) == 2
print(*sorted(sys.modules), sep='\\n')
"""


def loaded_by(package: str) -> set[str]:
    return modules_of(PROBE.format(package=package))


def modules_of(program: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": ":".join(path for path in sys.path if path)},
    )
    return set(done.stdout.split())


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    return loaded_by("graphvm")


@pytest.mark.parametrize("package", ["grpc", "llvmlite", "scipy", "asyncio", "matplotlib"])
def test_import_loads_no_heavy_package(loaded: set[str], package: str) -> None:
    assert package not in {name.partition(".")[0] for name in loaded}


@pytest.mark.parametrize("room", ["kernels", "cluster", "server", "jit"])
def test_import_loads_only_the_rooms_that_build_graphs(loaded: set[str], room: str) -> None:
    inside = f"graphvm_runtime.{room}"
    assert not [name for name in loaded if name == inside or name.startswith(inside + ".")]


def test_the_runtime_never_loads_the_api() -> None:
    names = loaded_by("graphvm_runtime.engine")
    assert not [name for name in names if name == "graphvm" or name.startswith("graphvm.")]


def test_a_first_result_needs_no_messages_and_no_network() -> None:
    names = modules_of(FIRST_RESULT)
    assert not [n for n in names if n.endswith("_pb2") or n.partition(".")[0] in ("google", "grpc")]
