"""TensorFlow 1's dataflow primitives raised to the functional form, and lowered to them."""
