mkdir src dst
echo one > src/a.txt
touch src/.snapignore
SNAP_NOW=2025-05-01_100000 bash "$SNAP/snap.sh" "$PWD/src" "$PWD/dst"
test "$(cat dst/2025-05-01_100000/a.txt)" = one
bash "$SNAP/verify.sh" dst/2025-05-01_100000
