"""`python -m bfcl_gate`."""

from bfcl_gate.cli import main

main()
