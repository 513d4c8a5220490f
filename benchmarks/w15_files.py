"""W15: model files: load, first run and steady run of each case in a folder.

BENCH_FILES names the folder. It holds recorded cases (`case.json`, a graph or a SavedModel,
`arrays.npz`) as `tests/data/goldens` does; without it, the models recorded there are taken.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from measure import graph_api, main, report, seconds, session, timed

ROOT = Path(__file__).resolve().parent.parent
FILES = Path(os.environ.get("BENCH_FILES", str(ROOT / "tests" / "data" / "goldens" / "models")))


def array(store: Any, feed: dict[str, Any]) -> Any:
    """The recorded array of a feed."""
    if feed["dtype"] == "string":
        data, out = store[feed["key"] + ".bytes"].tobytes(), []
        for length in store[feed["key"] + ".lengths"].tolist():
            out.append(data[:length])
            data = data[length:]
        found = np.empty(len(out), object)
        found[:] = out
        return found.reshape(feed["shape"])
    return store[feed["key"]].reshape(feed["shape"])


def load(tf: Any, sess: Any, folder: Path, case: dict[str, Any]) -> None:
    """Takes the model into the session's graph."""
    if case["kind"] == "saved_model":
        tags = list(case["runs"][0].get("tags", ["serve"]))
        tf.saved_model.loader.load(sess, tags, str(folder / "saved_model"))
    elif case["graph"].endswith(".meta"):
        tf.train.import_meta_graph(str(folder / case["graph"]))
    else:
        message = tf.GraphDef()
        message.ParseFromString((folder / case["graph"]).read_bytes())
        tf.import_graph_def(message, name="")


def row(impl: str) -> None:
    """Measures each case whose runs all succeed."""
    tf = graph_api(impl)
    for path in sorted(FILES.rglob("case.json")):
        case = json.loads(path.read_text())
        runs = case.get("runs") or []
        kinds = ("graph", "meta_graph", "saved_model")
        if case["kind"] not in kinds or not runs or any("error" in r for r in runs):
            continue
        store = np.load(path.parent / "arrays.npz") if (path.parent / "arrays.npz").exists() else {}
        name = path.parent.relative_to(FILES).as_posix()
        try:
            measure(tf, impl, path.parent, name, case, store)
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)


def measure(tf: Any, impl: str, folder: Path, name: str, case: Any, store: Any) -> None:
    """Measures one case."""
    with tf.Graph().as_default(), session(tf, impl) as sess:
        report(f"W15 {name}: load", "ms", [seconds(lambda: load(tf, sess, folder, case)) * 1e3])
        given = case["runs"][0]
        feeds = {d["name"]: array(store, d) for d in given["feeds"]}
        fetches = [[d["name"] for d in given["fetches"]], given["targets"]]
        report(f"W15 {name}: first run", "ms", [seconds(lambda: sess.run(fetches, feeds)) * 1e3])
        for _ in range(12):  # past all tiers
            sess.run(fetches, feeds)
        timed(f"W15 {name}: steady run", "us", lambda: sess.run(fetches, feeds))


if __name__ == "__main__":
    main(row, __doc__)
