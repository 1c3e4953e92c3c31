"""BFCL v4's single-turn checker: from an assistant message to an error type, or None where it is right.

Two rule sets: `official` is the leaderboard's own path, `mlperf` the path of MLPerf Inference v6.1, which
extracts calls in its own way and then uses the same comparison. Both are reproduced whole, oddities included,
because scores are compared with theirs. What a model says is data: nothing is executed, nothing raises, and
every step is linear in the length of the answer.
"""

from bfcl_gate.checker.rules import VERSION, mlperf_error, official_error

__all__ = ["VERSION", "mlperf_error", "official_error"]
