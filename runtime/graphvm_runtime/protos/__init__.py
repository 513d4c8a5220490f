"""Generated protocol buffer messages, wire-compatible with TensorFlow's.

Import the modules one by one (`from graphvm_runtime.protos import graph_pb2`): a graph needs few
of them. The sources are `protos/graphvm/*.proto`, the script is `protos/generate.py`; nothing but
this file is edited by hand.
"""
