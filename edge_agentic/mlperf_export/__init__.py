"""A finished run as the submission tree that MLCommons' v6.1 submission checker reads. Needs no model.

The tree and what the checker reads of it: mlcommons/inference, tools/submission/submission_checker at `b66003e1`; the
fields of its JSON files: mlcommons/endpoints at `ea332753`.
"""
