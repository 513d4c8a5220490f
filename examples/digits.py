"""Trains a small network on scikit-learn's handwritten digits, saves it, and reads it elsewhere.

    python examples/digits.py                     trains, saves, then predicts in a second process
    python examples/digits.py --predict FILE.pb   only predicts, from the frozen graph alone

Writes a checkpoint, a frozen graph, a loss curve and a grid of predicted digits into --out.
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

EPOCHS, BATCH, HIDDEN = 40, 32, 64


def data():
    """Images [n, 64] in 0..1 and labels [n], split into training and test sets."""
    digits = load_digits()
    images, labels = (digits.data / 16).astype(np.float32), digits.target.astype(np.int64)
    order = np.random.default_rng(0).permutation(len(images))
    train, test = order[:1400], order[1400:]
    return (images[train], labels[train]), (images[test], labels[test])


def network():
    """The graph: placeholders, logits, loss, predictions."""
    images = tf.placeholder(tf.float32, [None, 64], name="images")
    labels = tf.placeholder(tf.int64, [None], name="labels")
    with tf.variable_scope("mlp"):
        w1 = tf.get_variable("w1", [64, HIDDEN], initializer=tf.glorot_uniform_initializer())
        b1 = tf.get_variable("b1", [HIDDEN], initializer=tf.zeros_initializer())
        w2 = tf.get_variable("w2", [HIDDEN, 10], initializer=tf.glorot_uniform_initializer())
        b2 = tf.get_variable("b2", [10], initializer=tf.zeros_initializer())
    hidden = tf.nn.relu(tf.matmul(images, w1) + b1)
    logits = tf.matmul(hidden, w2) + b2
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    )
    predicted = tf.argmax(logits, 1, name="predicted")
    return images, labels, loss, predicted


def train(out: Path) -> None:
    """Trains, then writes checkpoint, frozen graph, pictures and predictions into `out`."""
    (train_x, train_y), (test_x, test_y) = data()
    tf.set_random_seed(1)
    images, labels, loss, predicted = network()
    step = tf.train.AdamOptimizer(0.005).minimize(loss)
    saver = tf.train.Saver()
    shuffle = np.random.default_rng(1)
    losses = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        bar = tqdm(range(EPOCHS), desc="epochs", file=sys.stdout)
        for _ in bar:
            order = shuffle.permutation(len(train_x))
            for start in range(0, len(order), BATCH):
                batch = order[start : start + BATCH]
                feeds = {images: train_x[batch], labels: train_y[batch]}
                _, value = sess.run([step, loss], feeds)
                losses.append(float(value))
            bar.set_postfix(loss=f"{np.mean(losses[-40:]):.4f}")
        guess = sess.run(predicted, {images: test_x})
        accuracy = float(np.mean(guess == test_y))
        checkpoint = saver.save(sess, str(out / "digits.ckpt"), global_step=len(losses))
        frozen = tf.graph_util.convert_variables_to_constants(sess, sess.graph_def, ["predicted"])
    (out / "digits.pb").write_bytes(frozen.SerializeToString())
    np.save(out / "predicted.npy", guess)
    pictures(out, losses, test_x, guess, test_y)
    print(f"test accuracy {accuracy:.1%} on {len(test_y)} digits")
    print(f"wrote {checkpoint}, {out / 'digits.pb'}, {out / 'loss.png'}, {out / 'digits.png'}")
    if accuracy < 0.96:
        sys.exit("the network should reach 96%")


def predict(file: Path) -> np.ndarray:
    """Predictions of the test set by a frozen graph, without the code that built it."""
    graph_def = tf.GraphDef()
    graph_def.ParseFromString(file.read_bytes())
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        with tf.Session(graph=graph) as sess:
            return sess.run("predicted:0", {"images:0": data()[1][0]})


def pictures(out: Path, losses: list[float], images, guess, truth) -> None:
    """A loss curve and a grid of digits with what the network says; mistakes in red."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    smooth = np.convolve(losses, np.ones(20) / 20, mode="valid")
    figure, axes = plt.subplots(figsize=(7, 4))
    axes.plot(losses, color="0.85", label="a batch")
    axes.plot(np.arange(len(smooth)) + 19, smooth, label="mean of 20")
    axes.set(xlabel="step", ylabel="cross entropy (nats)", yscale="log", title="Training loss")
    axes.legend()
    figure.tight_layout()
    figure.savefig(out / "loss.png", dpi=120)
    figure, grid = plt.subplots(4, 10, figsize=(10, 4.6))
    for axes, image, g, t in zip(grid.flat, images, guess, truth, strict=False):
        axes.imshow(image.reshape(8, 8), cmap="gray_r")
        axes.set_title(str(g), color="black" if g == t else "red", fontsize=11)
        axes.axis("off")
    figure.suptitle("Test digits and what the network says")
    figure.tight_layout()
    figure.savefig(out / "digits.png", dpi=120)


def main() -> None:
    """Trains here, predicts in another process, and compares."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("digits_out"), help="folder for results")
    parser.add_argument("--predict", type=Path, help="a frozen graph to predict with")
    args = parser.parse_args()
    if args.predict:
        np.save(args.predict.with_suffix(".npy"), predict(args.predict))
        return
    args.out.mkdir(parents=True, exist_ok=True)
    train(args.out)
    frozen = args.out / "digits.pb"
    subprocess.run([sys.executable, __file__, "--predict", str(frozen)], check=True)
    same = np.array_equal(np.load(frozen.with_suffix(".npy")), np.load(args.out / "predicted.npy"))
    print("a second process predicts", "the same" if same else "something else")
    if not same:
        sys.exit(1)


if __name__ == "__main__":
    main()
