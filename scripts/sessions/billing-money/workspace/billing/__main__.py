import sys

from billing.cli import main

sys.exit(main())
