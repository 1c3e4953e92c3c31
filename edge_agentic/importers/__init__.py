"""Recordings of other agents to trace files: one module for each format, one normal form, one back end.

`convert.import_trace` is the whole import. docs/traces.md says what each format holds and what it lacks.
"""
