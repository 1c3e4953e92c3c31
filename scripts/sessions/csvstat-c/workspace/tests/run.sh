#!/bin/sh
# Compares what csvstat prints with tests/*.expected; the input stands beside it as .csv.
failed=0
for expected in tests/*.expected; do
    input=${expected%.expected}.csv
    ./csvstat "$input" > tests/printed 2>&1
    if cmp -s tests/printed "$expected"; then
        echo "ok    $input"
    else
        echo "WRONG $input"
        diff "$expected" tests/printed | head -n 6
        failed=1
    fi
done
rm -f tests/printed
exit $failed
