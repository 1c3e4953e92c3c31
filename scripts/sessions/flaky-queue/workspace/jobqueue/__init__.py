"""A small job queue."""

from jobqueue.handlers import Retry, handler
from jobqueue.queue import Queue

__all__ = ["Queue", "Retry", "handler"]
