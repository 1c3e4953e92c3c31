import sys

from subs.cli import main

sys.exit(main())
