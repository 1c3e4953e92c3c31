mkdir src dst
echo one > src/a.txt
touch src/.snapignore
SNAP_NOW=2025-05-01_100000 bash "$SNAP/snap.sh" "$PWD/src" "$PWD/dst"
echo two > src/b.txt
SNAP_NOW=2025-05-02_100000 bash "$SNAP/snap.sh" "$PWD/src" "$PWD/dst"
test dst/2025-05-01_100000/a.txt -ef dst/2025-05-02_100000/a.txt
test ! -e dst/2025-05-01_100000/b.txt
