import sys

from appconf.cli import main

sys.exit(main())
