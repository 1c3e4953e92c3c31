"""Recorded trajectories: finding, reading and checking trace files, and the requests they make.

Imports nothing that a command without a trace would wait for.
"""

from edge_agentic.trace.find import bundled_traces, find_trace
from edge_agentic.trace.load import Trace, check_trace, load_trajectories, read_trace
from edge_agentic.trace.problems import Problem, describe_all
from edge_agentic.trace.rows import open_trace
from edge_agentic.trace.scan import Group, Scan
from edge_agentic.trace.trajectory import Trajectory, Turn

__all__ = [
    "Group",
    "Problem",
    "Scan",
    "Trace",
    "Trajectory",
    "Turn",
    "bundled_traces",
    "check_trace",
    "describe_all",
    "find_trace",
    "load_trajectories",
    "open_trace",
    "read_trace",
]
