"""Usual tags of the graphs of a SavedModel.

Source: `tf.compat.v1.saved_model.tag_constants`.
"""

__all__ = ["GPU", "SERVING", "TPU", "TRAINING"]

GPU = "gpu"
SERVING = "serve"
TPU = "tpu"
TRAINING = "train"
