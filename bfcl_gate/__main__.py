"""`python -m bfcl_gate`."""

from bfcl_gate.cli import main

if __name__ == "__main__":
    main()
