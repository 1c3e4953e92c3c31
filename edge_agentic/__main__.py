"""`python -m edge_agentic`."""

from edge_agentic.cli import main

if __name__ == "__main__":
    main()
