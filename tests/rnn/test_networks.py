"""Recurrent networks give TensorFlow's values, derivatives, static shapes and variable names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphvm as tf
from tests.rnn.networks import NETWORKS, told
from tests.rnn.recorded import RECORDED


@pytest.fixture(params=["resources", "references"])
def variables(request: pytest.FixtureRequest) -> Iterator[None]:
    """Both kinds of variables."""
    if request.param == "references":
        tf.disable_resource_variables()
    yield
    tf.enable_resource_variables()


@pytest.mark.usefixtures("variables")
@pytest.mark.parametrize("network", NETWORKS, ids=lambda n: n.__name__)
def test_gives_what_tensorflow_gives(network: Any) -> None:
    said = told(network, tf, tf.nn.rnn_cell)
    prefix = network.__name__ + "/"
    want = {k.removeprefix(prefix): v for k, v in RECORDED.items() if k.startswith(prefix)}
    assert said["variables"].tolist() == want["variables"].tolist()
    assert said["shapes"].tolist() == want["shapes"].tolist()
    assert set(said) == set(want)
    for key in sorted(want.keys() - {"variables", "shapes"}):
        assert said[key].dtype == want[key].dtype, key
        np.testing.assert_allclose(said[key], want[key], rtol=2e-5, atol=2e-6, err_msg=key)
