mkdir src dst
echo one > src/a.txt
touch src/.snapignore
for day in 01 02 03 04; do
    SNAP_NOW=2025-05-${day}_100000 bash "$SNAP/snap.sh" "$PWD/src" "$PWD/dst" 2
done
test "$(ls dst | paste -sd' ')" = "2025-05-03_100000 2025-05-04_100000"
