"""Trains a capsule network on scikit-learn's handwritten digits; its routing is a while loop.

    python examples/capsules.py                trains, saves, then predicts in a second process
    python examples/capsules.py --predict FILE.pb --routings 5      only predicts, from that file

How often the capsules agree is decided when the graph runs: `routings` is fed to the while
loop. Writes a checkpoint, a frozen graph, a curve of losses and accuracies and a picture of the
routing into --out.

Source: Sabour, Frosst and Hinton, "Dynamic Routing Between Capsules" (2017).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from tqdm import tqdm

import graphvm as tf

BATCH, ROUTINGS = 50, 3
PARTS, PART_SIZE = 64, 8  # primary capsules, and numbers in each
CLASSES, POSE_SIZE = 10, 12  # digit capsules, and numbers in each


def data():
    """Images [n, 8, 8, 1] in 0..1 and labels [n], split into training and test sets."""
    digits = load_digits()
    images = (digits.images / 16).astype(np.float32)[..., None]
    labels = digits.target.astype(np.int64)
    order = np.random.default_rng(0).permutation(len(images))
    train, test = order[:1400], order[1400:]
    return (images[train], labels[train]), (images[test], labels[test])


def squash(poses):
    """The same direction with a length below 1, along the last axis."""
    squared = tf.reduce_sum(poses * poses, -1, keepdims=True)
    return poses * (tf.sqrt(squared + 1e-7) / (1.0 + squared))


def layer(name, images, shape):
    """A convolution without padding, with a bias."""
    with tf.variable_scope(name):
        kernel = tf.get_variable("kernel", shape, initializer=tf.glorot_uniform_initializer())
        bias = tf.get_variable("bias", shape[-1:], initializer=tf.zeros_initializer())
    return tf.nn.conv2d(images, kernel, [1, 1, 1, 1], "VALID") + bias


def routed(votes, routings):
    """Digit capsules from votes [batch, parts, classes, pose]: poses, and how parts couple to them.

    A part gives more of itself to those whose pose its vote agrees with, `routings` times.
    """

    def agree(step, logits, poses):
        coupling = tf.nn.softmax(logits)[..., None]
        poses = squash(tf.reduce_sum(coupling * votes, 1, keepdims=True))
        return step + 1, logits + tf.reduce_sum(votes * poses, -1), poses

    logits = tf.zeros_like(votes[..., 0])
    poses = tf.zeros_like(votes[:, :1])
    _, logits, poses = tf.while_loop(
        lambda step, *_: step < routings, agree, [0, logits, poses], name="routing"
    )
    return poses[:, 0], tf.nn.softmax(logits)


def network():
    """The graph: placeholders, loss, and what is fetched by name from the frozen graph."""
    images = tf.placeholder(tf.float32, [None, 8, 8, 1], name="images")
    labels = tf.placeholder(tf.int64, [None], name="labels")
    routings = tf.placeholder_with_default(ROUTINGS, [], name="routings")
    strokes = tf.nn.relu(layer("strokes", images, [3, 3, 1, 32]))
    primary = layer("primary", strokes, [3, 3, 32, PARTS * PART_SIZE // 16])
    parts = squash(tf.reshape(primary, [-1, PARTS, PART_SIZE]))
    with tf.variable_scope("votes"):
        turn = tf.get_variable(
            "kernel", [PARTS, PART_SIZE, CLASSES * POSE_SIZE],
            initializer=tf.truncated_normal_initializer(stddev=0.1),
        )  # fmt: skip
    votes = tf.matmul(tf.transpose(parts, [1, 0, 2]), turn)
    votes = tf.transpose(
        tf.reshape(votes, [PARTS, -1, CLASSES, POSE_SIZE]), [1, 0, 2, 3], name="cast_votes"
    )
    poses, coupling = routed(votes, routings)
    lengths = tf.sqrt(tf.reduce_sum(poses * poses, -1) + 1e-7, name="lengths")
    tf.identity(coupling, name="coupling")
    predicted = tf.argmax(lengths, 1, name="predicted")
    is_there = tf.cast(tf.equal(labels[:, None], tf.range(CLASSES, dtype=tf.int64)), tf.float32)
    missed = tf.square(tf.maximum(0.0, 0.9 - lengths))
    imagined = tf.square(tf.maximum(0.0, lengths - 0.1))
    margins = is_there * missed + 0.5 * (1.0 - is_there) * imagined
    loss = tf.reduce_mean(tf.reduce_sum(margins, 1))
    return images, labels, loss, predicted


def train(out: Path, epochs: int) -> None:
    """Trains, then writes checkpoint, frozen graph, pictures and predictions into `out`."""
    (train_x, train_y), (test_x, test_y) = data()
    tf.set_random_seed(1)
    images, labels, loss, predicted = network()
    step = tf.train.AdamOptimizer(0.002).minimize(loss)
    saver = tf.train.Saver()
    shuffle = np.random.default_rng(1)
    losses, accuracies = [], []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        bar = tqdm(range(epochs), desc="epochs", file=sys.stdout)
        for _ in bar:
            order = shuffle.permutation(len(train_x))
            seen = []
            for start in range(0, len(order), BATCH):
                batch = order[start : start + BATCH]
                feeds = {images: train_x[batch], labels: train_y[batch]}
                seen.append(float(sess.run([step, loss], feeds)[1]))
            losses.append(np.mean(seen))
            guess = sess.run(predicted, {images: test_x})
            accuracies.append(float(np.mean(guess == test_y)))
            bar.set_postfix(loss=f"{losses[-1]:.4f}", test=f"{accuracies[-1]:.1%}")
        checkpoint = saver.save(sess, str(out / "capsules.ckpt"), global_step=epochs)
        frozen = tf.graph_util.convert_variables_to_constants(
            sess, sess.graph_def, ["predicted", "coupling"]
        )
    (out / "capsules.pb").write_bytes(frozen.SerializeToString())
    np.save(out / "predicted.npy", guess)
    print(f"test accuracy {accuracies[-1]:.1%} on {len(test_y)} digits")
    print(f"wrote {checkpoint}, {out / 'capsules.pb'}, {out / 'training.png'}")
    curves(out / "training.png", losses, accuracies)


def predict(file: Path, routings: int):
    """Predictions and couplings of the test set by a frozen graph, without the code behind it."""
    graph_def = tf.GraphDef()
    graph_def.ParseFromString(file.read_bytes())
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        with tf.Session(graph=graph) as sess:
            feeds = {"images:0": data()[1][0], "routings:0": routings}
            return sess.run(["predicted:0", "coupling:0"], feeds)


def plots():
    """Matplotlib's pyplot, without a window."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def curves(file: Path, losses, accuracies) -> None:
    """Loss and test accuracy by epoch."""
    figure, left = plots().subplots(figsize=(7, 4))
    left.plot(losses, color="tab:blue", marker="o")
    left.set(xlabel="epoch", yscale="log", title="Capsules with routing in the graph")
    left.set_ylabel("margin loss", color="tab:blue")
    right = left.twinx()
    right.plot(accuracies, color="tab:orange", marker="o")
    right.set_ylabel("test accuracy", color="tab:orange")
    figure.tight_layout()
    figure.savefig(file, dpi=120)


def routing_picture(file: Path, couplings) -> None:
    """How the parts of one digit couple to the classes, for each number of routings."""
    figure, grid = plots().subplots(1, len(couplings), figsize=(3 * len(couplings), 4))
    for axes, (routings, coupling) in zip(grid, couplings.items(), strict=True):
        axes.imshow(coupling, aspect="auto", vmin=0, vmax=1)
        axes.set(title=f"{routings} routings", xlabel="digit", xticks=range(CLASSES))
    grid[0].set_ylabel("primary capsule")
    figure.suptitle("Couplings of one test digit")
    figure.tight_layout()
    figure.savefig(file, dpi=120)


def main() -> None:
    """Trains here, predicts in another process, and compares."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("capsules_out"), help="folder for results")
    parser.add_argument(
        "--epochs", type=int, default=12, help="how often the digits are seen (default 12)"
    )
    parser.add_argument(
        "--predict", type=Path, metavar="FILE", help="only predict, with this frozen graph"
    )
    parser.add_argument(
        "--routings", type=int, default=ROUTINGS,
        help=f"how often capsules agree, with --predict (default {ROUTINGS})",
    )  # fmt: skip
    args = parser.parse_args()
    if args.epochs < 1 or args.routings < 1:
        parser.error("--epochs and --routings are 1 or more")
    if args.predict and not args.predict.is_file():
        parser.error(f"there is no file {args.predict}")
    if args.predict:
        predicted, coupling = predict(args.predict, args.routings)
        np.savez(args.predict.with_suffix(".npz"), predicted=predicted, coupling=coupling)
        print(f"accuracy with {args.routings} routings: {np.mean(predicted == data()[1][1]):.1%}")
        return
    args.out.mkdir(parents=True, exist_ok=True)
    train(args.out, args.epochs)
    frozen = args.out / "capsules.pb"
    couplings = {}
    for routings in (1, ROUTINGS, 10):
        command = [sys.executable, __file__, "--predict", frozen, "--routings", routings]
        subprocess.run([str(c) for c in command], check=True)
        with np.load(frozen.with_suffix(".npz")) as file:
            couplings[routings] = file["coupling"][0]
            if routings == ROUTINGS:
                same = np.array_equal(file["predicted"], np.load(args.out / "predicted.npy"))
    routing_picture(args.out / "routing.png", couplings)
    print("a second process predicts", "the same" if same else "something else")
    if not same:
        sys.exit(1)


if __name__ == "__main__":
    main()
