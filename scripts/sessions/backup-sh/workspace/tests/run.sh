#!/bin/sh
# Runs tests/t_*.sh, each in an empty folder, with SNAP set to the folder of snap.sh.
SNAP=$(cd "$(dirname "$0")/.." && pwd)
export SNAP
failed=0
for test in "$SNAP"/tests/t_*.sh; do
    scratch=$(mktemp -d -p "$SNAP" .scratch-XXXXXX)
    if (cd "$scratch" && bash -eu "$test") > "$SNAP/.out" 2>&1; then
        echo "ok   $(basename "$test")"
    else
        echo "FAIL $(basename "$test")"
        sed 's/^/     /; s/\.scratch-[A-Za-z0-9]*/SCRATCH/g' "$SNAP/.out" | tail -n 6
        failed=$((failed + 1))
    fi
    chmod -R u+w "$scratch"
    rm -rf "$scratch"
done
rm -f "$SNAP/.out"
[ $failed = 0 ]
