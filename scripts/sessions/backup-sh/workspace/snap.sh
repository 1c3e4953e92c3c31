#!/bin/bash
# Makes a snapshot of a folder. See README.md.

source=$1
target=$2
keep=${3:-7}

if [ $# -lt 2 ]; then
    echo "usage: snap.sh SOURCE TARGET [KEEP]"
    exit 2
fi

now=${SNAP_NOW:-$(date +%Y-%m-%d_%H%M%S)}
newest=$(ls $target | tail -1)
partial=$target/.partial-$now

log() {
    printf "\033[36m%s\033[0m %s\n" "$(basename $0)" "$1"
}

ignored() {
    while read pattern; do
        case $1 in
            $pattern) return 0 ;;
        esac
    done < $source/.snapignore
    return 1
}

copy() {
    file=$1
    mkdir -p $partial/$(dirname $file)
    if [ -n "$newest" ] && cmp -s $source/$file $target/$newest/$file; then
        ln $target/$newest/$file $partial/$file
        linked=$((linked + 1))
    else
        cp $source/$file $partial/$file
        copied=$((copied + 1))
    fi
}

manifest() {
    cd $partial
    for file in $(find . -type f); do
        echo "$(sha256sum $file | cut -c1-16) $(stat -c %s $file) ${file#./}"
    done > manifest.txt
}

prune() {
    cd $target
    for old in $(ls | head -n -$keep); do
        log "removing $old"
        rm -rf $old
    done
}

rm -rf $target/.partial-*
mkdir $partial

copied=0
linked=0
cd $source
for file in $(find . -type f | cut -c3-); do
    if ! ignored $file; then
        copy $file
    fi
done

manifest
mv $partial $target/$now
log "$now: $copied copied, $linked linked"
prune
