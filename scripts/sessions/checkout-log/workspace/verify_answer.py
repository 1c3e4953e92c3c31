"""Check answer.json against an independent count over the log."""

import json
import math
import sys
from pathlib import Path

rows = [line.split() for line in Path("logs/gateway.log").read_text("utf-8").splitlines() if line.startswith("2")]
checkout = [row for row in rows if row[3].startswith("/checkout")]
failed = [row for row in checkout if row[4].startswith("5")]
by_region = {region: sum(row[6] == region for row in failed) for region in {row[6] for row in failed}}
slow = sorted(int(row[5]) for row in checkout if row[4].startswith("2"))
expected = {
    "checkout_requests": len(checkout),
    "failure_percent": round(100 * len(failed) / len(checkout), 1),
    "worst_region": max(by_region, key=lambda region: by_region[region]),
    "p95_ms": slow[math.ceil(0.95 * len(slow)) - 1],
}

try:
    answer = json.loads(Path("answer.json").read_text("utf-8"))
except FileNotFoundError:
    sys.exit("answer.json is missing")
wrong = [key for key, value in expected.items() if answer.get(key) != value]
print("wrong: " + ", ".join(wrong) if wrong else "all values correct")
sys.exit(bool(wrong))
