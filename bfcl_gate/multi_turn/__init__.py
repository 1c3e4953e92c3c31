"""BFCL v4 multi-turn: a model works through conversations with simulated APIs. Shown, never part of the gate.

The APIs are the classes of the pinned wheel, run in a process of their own (`api_process`) that has no network, no
files and limits of time and memory; calls reach them by name and as data, never as source text.
"""
