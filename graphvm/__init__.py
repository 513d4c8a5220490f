"""TensorFlow-1.x-style graphs and sessions."""
