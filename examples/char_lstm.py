"""Trains a character LSTM on Alice in Wonderland, and lets it write by a loop inside the graph.

    python examples/char_lstm.py                     trains, saves, then writes in other processes
    python examples/char_lstm.py --sample FILE.pb    only writes, from the frozen graph alone
    python examples/char_lstm.py --sample FILE.meta  likewise, from the MetaGraph and checkpoint

Writes a checkpoint with its MetaGraph, a frozen graph and a loss curve into --out. The graph that
writes holds its alphabet, reads what it is to go on from, and draws one character after another
in a `while_loop`, so that whoever loads it needs none of this code.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter
from math import log, log2
from pathlib import Path

import numpy as np
from google.protobuf.message import DecodeError
from tqdm import tqdm

import graphvm as tf

TEXT = Path(__file__).parent / "data" / "alice.txt"
UNITS, BATCH, TIME, RATE = 160, 32, 50, 0.006
PROMPT = "Alice was "
LEAST = 10 * 2 * BATCH  # letters: a row of the text that is held out has a next one at least


class Model:
    """What maps characters to the next one; training and writing share its variables."""

    def __init__(self, size: int) -> None:
        with tf.variable_scope("characters"):
            self.embedding = tf.get_variable("embedding", [size, 32])
            self.weights = tf.get_variable("weights", [UNITS, size])
            self.biases = tf.get_variable("biases", [size], initializer=tf.zeros_initializer())
        self.cell = tf.nn.rnn_cell.BasicLSTMCell(UNITS)

    def logits(self, outputs):
        """Scores of the next character, one row for each output of the cell."""
        return tf.matmul(tf.reshape(outputs, [-1, UNITS]), self.weights) + self.biases

    def training(self):
        """The graph that trains: inputs and targets [time, batch], states, loss, step."""
        inputs = tf.placeholder(tf.int32, [None, BATCH], name="inputs")
        targets = tf.placeholder(tf.int32, [None, BATCH], name="targets")
        first = tf.nest.map_structure(
            lambda zeros: tf.placeholder_with_default(zeros, zeros.shape),
            self.cell.zero_state(BATCH, tf.float32),
        )
        read = tf.nn.embedding_lookup(self.embedding, inputs)
        outputs, last = tf.nn.dynamic_rnn(self.cell, read, initial_state=first, time_major=True)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=tf.reshape(targets, [-1]), logits=self.logits(outputs)
        )
        loss = tf.reduce_mean(losses)
        rate = tf.placeholder_with_default(RATE, [], name="rate")
        optimizer = tf.train.AdamOptimizer(rate)
        pairs = optimizer.compute_gradients(loss)
        # long sequences now and then have a huge gradient: its length is cut to 5
        gradients = [tf.convert_to_tensor(gradient) for gradient, _ in pairs]
        gradients, _ = tf.clip_by_global_norm(gradients, 5.0)
        variables = [variable for _, variable in pairs]
        step = optimizer.apply_gradients(list(zip(gradients, variables, strict=True)))
        return inputs, targets, first, last, loss, rate, step

    def writing(self, alphabet: str) -> None:
        """The graph that writes: reads `prompt`, draws `count` characters more into `written`."""
        tf.constant(alphabet.encode(), name="alphabet")
        prompt = tf.placeholder(tf.int32, [None], name="prompt")
        count = tf.placeholder_with_default(400, [], name="count")
        temperature = tf.placeholder_with_default(0.7, [], name="temperature")
        read, state = tf.nn.dynamic_rnn(
            self.cell,
            tf.nn.embedding_lookup(self.embedding, tf.expand_dims(prompt, 1)),
            dtype=tf.float32,
            time_major=True,
            scope="reading",
        )

        def draw(output):
            return tf.multinomial(self.logits(output) / temperature, 1, output_dtype=tf.int32)[0]

        def body(i, character, state, written):
            written = written.write(i, character[0])
            output, state = self.cell(tf.nn.embedding_lookup(self.embedding, character), state)
            return i + 1, draw(output), state, written

        written = tf.TensorArray(tf.int32, count, element_shape=[])
        *_, written = tf.while_loop(
            lambda i, *_: i < count, body, (tf.constant(0), draw(read[-1]), state, written)
        )
        tf.identity(written.stack(), name="written")


def batches(text: np.ndarray):
    """Pieces [time + 1, batch] of a text cut into BATCH long rows, one behind the other."""
    length = len(text) // BATCH
    rows = text[: length * BATCH].reshape(BATCH, length).T
    for start in range(0, length - 1, TIME):
        yield rows[start : start + TIME + 1]


def train(out: Path, epochs: int, letters: int | None) -> None:
    """Trains, then writes checkpoint, MetaGraph, frozen graph and a loss curve into `out`."""
    text = TEXT.read_text()[:letters]
    alphabet = "".join(sorted(set(text)))
    codes = np.array([alphabet.index(c) for c in text], np.int32)
    split = len(codes) * 9 // 10
    training, held_out = codes[:split], codes[split:]
    shares = [n / len(text) for n in Counter(text).values()]
    unigram = -sum(p * log2(p) for p in shares)

    tf.set_random_seed(1)
    model = Model(len(alphabet))
    inputs, targets, first, last, loss, rate, step = model.training()
    model.writing(alphabet)
    saver = tf.train.Saver(tf.trainable_variables())
    losses, tested = [], []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())

        def run(fetches, piece, state, **more):
            feeds = {inputs: piece[:-1], targets: piece[1:], **more.get("feeds", {})}
            if state is not None:
                feeds |= dict(zip(first, state, strict=True))
            return sess.run([*fetches, last], feeds)

        total = epochs * len(list(batches(training)))
        bar = tqdm(total=total, desc="steps", file=sys.stdout, mininterval=1)
        for epoch in range(epochs):
            state = None
            # the second half learns more and more slowly
            slower = {rate: RATE * 0.25 ** max(0, 2 * epoch / epochs - 1)}
            for piece in batches(training):
                _, value, state = run([step, loss], piece, state, feeds=slower)
                losses.append(float(value) / log(2))
                bar.update()
            state, parts = None, []
            for piece in batches(held_out):
                value, state = run([loss], piece, state)
                parts.append(float(value) / log(2))
            tested.append((len(losses), float(np.mean(parts))))
            bar.set_postfix(bits=f"{np.mean(losses[-50:]):.3f}", held_out=f"{tested[-1][1]:.3f}")
        bar.close()
        checkpoint = saver.save(sess, str(out / "alice"))
        frozen = tf.graph_util.convert_variables_to_constants(
            sess, sess.graph_def, ["written", "alphabet"]
        )
    (out / "alice.pb").write_bytes(frozen.SerializeToString())
    picture(out / "loss.png", losses, tested, unigram)
    best = tested[-1][1]
    print(f"{best:.3f} bits a character on text not seen; by letter counts alone {unigram:.3f}")
    print(f"wrote {checkpoint}, {out / 'alice.pb'}, {out / 'loss.png'}")
    if best > unigram:
        warn("letter counts alone do better: give it more --epochs or --letters")


def warn(text: str) -> None:
    """Says on the error stream what does not end the program."""
    print(f"char_lstm.py: warning: {text}", file=sys.stderr)


def picture(
    file: Path, losses: list[float], tested: list[tuple[int, float]], unigram: float
) -> None:
    """The loss curve, with the loss on text not seen and that of counting letters."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4))
    axes.plot(losses, color="0.8", label="a batch")
    axes.plot(*zip(*tested, strict=True), "o-", label="text not seen")
    axes.axhline(unigram, color="tab:red", linestyle=":", label="letter counts alone")
    axes.set(xlabel="step", ylabel="bits a character", title="A character LSTM reads Alice")
    axes.legend()
    figure.tight_layout()
    figure.savefig(file, dpi=120)


def sample(file: Path, prompt: str, count: int, temperature: float) -> str:
    """What a saved graph writes: from its names alone, without the code that built it."""
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as sess:
        try:
            if file.suffix == ".meta":
                tf.train.import_meta_graph(str(file)).restore(sess, str(file.with_suffix("")))
            else:
                graph_def = tf.GraphDef()
                graph_def.ParseFromString(file.read_bytes())
                tf.import_graph_def(graph_def, name="")
            graph.get_tensor_by_name("written:0")
        except (OSError, DecodeError, KeyError, tf.errors.OpError) as error:
            sys.exit(f"char_lstm.py: {file} is no graph that writes: {error}")
        alphabet = sess.run("alphabet:0").decode()
        unread = "".join(sorted(set(prompt) - set(alphabet)))
        if unread:
            warn(f"the network does not know, and passes over, {unread!r}")
        codes = [alphabet.index(c) for c in prompt if c in alphabet]
        if not codes:
            sys.exit(f"char_lstm.py: the network knows no character of the prompt {prompt!r}")
        feeds = {"prompt:0": codes, "count:0": count, "temperature:0": temperature}
        return prompt + "".join(alphabet[i] for i in sess.run("written:0", feeds))


def main() -> None:
    """Trains here, writes in two other processes, and compares."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("char_lstm_out"), help="for results")
    parser.add_argument(
        "--epochs", type=int, default=10, help="how often the text is read (default 10)"
    )
    parser.add_argument("--letters", type=int, help="read only so many characters of the text")
    parser.add_argument("--sample", type=Path, metavar="FILE", help="a saved graph to write with")
    parser.add_argument("--prompt", default=PROMPT, help="what to go on from")
    parser.add_argument("--count", type=int, default=400, help="characters to write (default 400)")
    parser.add_argument(
        "--temperature", type=float, default=0.7, help="below 1: less daring (default 0.7)"
    )
    args = parser.parse_args()
    if not args.prompt:
        parser.error("--prompt needs a character to go on from")
    if args.letters is not None and args.letters < LEAST:
        parser.error(f"--letters is {LEAST} or more: a tenth of them is kept to test with")
    if args.epochs < 1 or args.count < 1 or args.temperature <= 0:
        parser.error("--epochs, --count and --temperature are greater than 0")
    if args.sample:
        print(sample(args.sample, args.prompt, args.count, args.temperature))
        return
    if not set(args.prompt) & set(TEXT.read_text()[: args.letters]):
        parser.error("no character of --prompt is in the text that is read")
    args.out.mkdir(parents=True, exist_ok=True)
    train(args.out, args.epochs, args.letters)
    said = []
    for file in ("alice.pb", "alice.meta"):
        command = [sys.executable, __file__, "--sample", str(args.out / file)]
        command += ["--prompt", args.prompt, "--count", str(args.count)]
        command += ["--temperature", str(args.temperature)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        said.append(done.stdout)
    print(f"\nanother process writes from the frozen graph:\n\n{said[0]}")
    print("and the same from the checkpoint" if said[0] == said[1] else "the checkpoint differs")
    if said[0] != said[1] or len(said[0]) != len(args.prompt) + args.count + 1:
        sys.exit(1)


if __name__ == "__main__":
    main()
