"""The functions that users call, by TensorFlow's families."""
