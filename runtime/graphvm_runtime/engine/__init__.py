"""Sessions: the program cache, steps, the master of one or many workers."""

from graphvm_runtime.compiler.request import Request
from graphvm_runtime.compiler.values import as_feed_value
from graphvm_runtime.engine.api import Plan, Session
from graphvm_runtime.engine.connect import connect

__all__ = ["Plan", "Request", "Session", "as_feed_value", "connect"]
