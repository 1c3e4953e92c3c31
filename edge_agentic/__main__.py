"""`python -m edge_agentic`."""

from edge_agentic.cli import main

main()
