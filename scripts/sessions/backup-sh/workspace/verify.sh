#!/bin/bash
# Compares a snapshot with its manifest.

cd $1 || exit 2
bad=0
while read sum size name; do
    if [ "$(sha256sum $name | cut -c1-16)" != $sum ]; then
        echo "changed: $name"
        bad=1
    fi
done < manifest.txt
exit $bad
