"""Replays cases that real TensorFlow recorded: graphs with what went in and what came out."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from google.protobuf import text_format

import graphvm as tf

FOLDER = Path(__file__).parent.parent / "data" / "goldens"


def names() -> Any:
    """All recorded cases, `category/case`."""
    return sorted(f.parent.relative_to(FOLDER).as_posix() for f in FOLDER.rglob("case.json"))


class Case:
    """One recorded case; `%TMP%` in its strings stands for `folder`."""

    def __init__(self, name: Any, folder: Any) -> None:
        self.path = FOLDER / name
        self.spec = json.loads((self.path / "case.json").read_text())
        self.arrays = {}
        if (self.path / "arrays.npz").exists():
            with np.load(self.path / "arrays.npz") as held:
                self.arrays = dict(held)
        self.folder = str(folder).encode()

    def array(self, d: Any) -> Any:
        """The array that a feed or fetch names."""
        if "fill" in d:
            count = int(np.prod(d["shape"]))
            wave = 0.05 * np.sin(0.37 * np.arange(count) + d["fill"]["sin"])
            return wave.astype(d["dtype"]).reshape(d["shape"])
        if d["dtype"] == "string":
            data = self.arrays[d["key"] + ".bytes"].tobytes()
            ends = np.cumsum(self.arrays[d["key"] + ".lengths"]).tolist()
            out = np.empty(len(ends), object)
            out[:] = [
                data[a:b].replace(b"%TMP%", self.folder)
                for a, b in zip([0, *ends], ends, strict=False)
            ]
            return out.reshape(d["shape"])
        found = self.arrays[d["key"]]
        if d["dtype"] == "bfloat16":
            found = found.view(ml_dtypes.bfloat16)
        return found.reshape(d["shape"])

    def check(self) -> None:
        """Raises AssertionError where GraphVM gives something else than TensorFlow gave."""
        kind = self.spec["kind"]
        if kind == "checkpoint":
            self._check_checkpoint()
            return
        if kind == "saved_model":
            for tags in sorted({tuple(run["tags"]) for run in self.spec["runs"]}):
                self._check_saved_model(tags)
            return
        with tf.Graph().as_default() as graph:
            if kind == "import_error":
                assert self.spec["error"]["class"] in _classes_of_error(self._load)
                return
            self._load()
            made = self._gradients(graph) if self.spec.get("gradients") else {}
            with tf.Session(graph=graph) as sess:
                for number, run in enumerate(self.spec["runs"]):
                    self._check_run(sess, number, run, made)

    def _load(self) -> None:
        file = self.path / self.spec["graph"]
        if file.suffix == ".meta":
            tf.train.import_meta_graph(str(file))
            return
        message = tf.GraphDef()
        if file.suffix == ".pbtxt":
            text_format.Parse(file.read_text(), message)
        else:
            message.ParseFromString(file.read_bytes())
        tf.import_graph_def(message, name="")

    def _gradients(self, graph: Any) -> Any:
        spec = self.spec["gradients"]
        ys, xs, given = (
            [graph.get_tensor_by_name(n) for n in spec.get(key) or ()]
            for key in ("ys", "xs", "grad_ys")
        )
        first = tf.gradients(ys, xs, grad_ys=given or None)
        assert [t is None for t in first] == spec["none"]
        made = {f"grad:{i}": t for i, t in enumerate(first)}
        if spec.get("order") == 2:
            terms = [
                tf.reduce_sum(t * t if spec.get("square") else t) for t in first if t is not None
            ]
            made |= {f"grad2:{i}": t for i, t in enumerate(tf.gradients(terms, xs))}
        return {k: tf.convert_to_tensor(t) for k, t in made.items() if t is not None}

    def _check_run(self, sess: Any, number: Any, run: Any, made: Any) -> None:
        feeds = {d["name"]: self.array(d) for d in run["feeds"]}
        fetches = [made.get(d["name"], d["name"]) for d in run["fetches"]]
        if "error" in run:
            raised = _classes_of_error(lambda: sess.run([fetches, run["targets"]], feeds))
            assert run["error"]["class"] in raised, f"run {number}"
            return
        values, _ = sess.run([fetches, run["targets"]], feeds)
        for value, d in zip(values, run["fetches"], strict=True):
            _compare(value, self.array(d), d)

    def _check_saved_model(self, tags: Any) -> None:
        with tf.Graph().as_default() as graph, tf.Session(graph=graph) as sess:
            tf.saved_model.loader.load(sess, list(tags), str(self.path / "saved_model"))
            for number, run in enumerate(self.spec["runs"]):
                if tuple(run["tags"]) == tags:
                    self._check_run(sess, number, run, {})

    def _check_checkpoint(self) -> None:
        reader = tf.train.load_checkpoint(str(self.path / self.spec["prefix"]))
        tensors = self.spec["tensors"]
        assert sorted(reader.get_variable_to_shape_map()) == [d["name"] for d in tensors]
        for d in tensors:
            _compare(reader.get_tensor(d["name"]), self.array(d), d)


def _classes_of_error(action: Callable[[], Any]) -> list[str]:
    """Names of the classes of what `action` raises; none where it goes through."""
    try:
        action()
    except Exception as error:
        return [k.__name__ for k in type(error).__mro__]
    return []


def _compare(got: Any, want: Any, d: Any) -> None:
    if want.dtype == object:
        assert np.shape(got) == want.shape
        assert np.asarray(got, object).reshape(-1).tolist() == want.reshape(-1).tolist()
        return
    got = np.asarray(got)
    assert (got.dtype, got.shape) == (want.dtype, want.shape), d["name"]
    if want.dtype == ml_dtypes.bfloat16:
        got, want = got.astype(np.float32), want.astype(np.float32)
    if "rtol" in d:
        np.testing.assert_allclose(got, want, d["rtol"], d["atol"], err_msg=d["name"])
    else:
        np.testing.assert_array_equal(got, want, err_msg=d["name"])
