"""Run the tests in an order that follows from SEED: python tests/shuffle.py SEED [pytest options]."""

import random
import subprocess
import sys

listed = subprocess.run(
    [sys.executable, "-m", "pytest", "-q", "--collect-only", "tests"], capture_output=True, text=True
).stdout
names = [line for line in listed.splitlines() if "::" in line]
random.Random(int(sys.argv[1])).shuffle(names)
sys.exit(subprocess.run([sys.executable, "-m", "pytest", "-q", *sys.argv[2:], *names]).returncode)
