"""The graph that a script builds: its nodes, tensors, names and scopes."""
