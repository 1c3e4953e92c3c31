#!/bin/sh
# Compares what csvstat prints with tests/*.expected; the input stands beside it as .csv.
failed=0
for expected in tests/*.expected; do
    input=${expected%.expected}.csv
    if ./csvstat "$input" 2>&1 | cmp -s - "$expected"; then
        echo "ok    $input"
    else
        echo "WRONG $input"
        ./csvstat "$input" 2>&1 | diff "$expected" - | head -n 6
        failed=1
    fi
done
exit $failed
