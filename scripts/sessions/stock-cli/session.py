"""A command-line program with five faults, one of them in the data it wrote; one tool."""

from steps import agent, bash, say, shell_task, think

SYSTEM, TOOLS = agent("shell")

TASK = shell_task("""
The warehouse switched to the new `stock` program this week and sent us this list. Please work through it.

1. After `python -m stock import data/items.csv` the command `python -m stock report` ends with a traceback.
2. When we got a report out of an older file, the order was strange: a location worth 95 € stood above one worth
   1.200 €.
3. `low` is supposed to tell purchasing what to order. It lists screws of which hundreds lie in the next aisle.
4. Somebody moved 50 pieces out of a location that held 8. The program said nothing.
5. Our script that calls `stock move` never notices a failure; it checks the exit code.
6. The CSV export opens with shifted columns for some suppliers.

README.md says how it is meant to work. Add a test for each fault in tests/test_faults.py.
""")

CHECK = (
    "python -m stock import data/items.csv --file check.jsonl && python -m stock report --file check.jsonl && "
    "! python -m stock move S1000 A-01 B-99 9999 --file check.jsonl && python -m pytest -q && "
    "test $(grep -c '^def test' tests/test_faults.py) -ge 6"
)

STEPS = [
    think(
        "I will start with the layout and the README, since it is the specification here.",
        bash("find . -type f | sort | xargs wc -l && cat README.md"),
    ),
    think(
        "Now the fault of item 1, and the state of the tests.",
        bash(
            "python -m stock import data/items.csv && python -m stock report; python -m pytest -q | tail -n 3"
        ),
    ),
    think(
        "Pieces are added as strings. The tests pass since they build items by hand. I will read the model and the store.",
        bash("cat stock/model.py"),
        bash("cat stock/store.py"),
    ),
    say(
        "`item_from_row` passes the quantity on as a string. Rows of the same place are joined with `changed_by`, which "
        "concatenates strings then. I will look for places where that has happened in the written file.",
        bash("""python - <<'EOF'
import json
for line in open('stock.jsonl', encoding='utf-8'):
    row = json.loads(line)
    if len(row['quantity']) > 3:
        print(row)
EOF
cut -d';' -f1,3 data/items.csv | sort | uniq -d"""),
    ),
    say(
        "So an import did not only break the report, it also wrote wrong quantities, such as 120 and 5 as 1205. That belongs "
        "into the summary: files written by this version have to be imported again. Now the other modules.",
        bash("cat stock/report.py"),
        bash("cat stock/cli.py"),
    ),
    think(
        "First the quantity. It has to be a whole number and not negative, with a FormatError like the price has.",
        bash(r"""python - <<'EOF'
from pathlib import Path
path = Path('stock/model.py')
text = path.read_text('utf-8')
old = '''        raise FormatError(f"{where}: price {row['price']!r} is not a number") from None
'''
new = old + '''    try:
        quantity = int(row["quantity"])
    except ValueError:
        raise FormatError(f"{where}: quantity {row['quantity']!r} is not a whole number") from None
'''
assert text.count(old) == 1
text = text.replace(old, new).replace('quantity=row["quantity"],', 'quantity=quantity,')
text = text.replace('self.price * int(self.quantity)', 'self.price * self.quantity')
path.write_text(text, 'utf-8')
EOF
python -m stock import data/items.csv && python -m stock report"""),
    ),
    say(
        "The report works, and it shows fault 2: the order follows the first digit of the value. `grouped` sorts by "
        "`str(row[3])`. The sum at the bottom should be checked against the CSV independently.",
        bash("""sed -i 's/key=lambda row: (str(row\\[3\\]), row\\[0\\])/key=lambda row: (row[3], row[0])/' stock/report.py
grep -n 'sorted(rows' stock/report.py
python -m stock report | head -n 6; python -m stock report | tail -n 1
awk -F';' 'NR > 1 {gsub(",", ".", $6); n += $5; v += $5 * $6} END {printf "%d pieces, %.2f\\n", n, v}' data/items.csv"""),
    ),
    think(
        "Pieces and value agree with awk. With equal values reverse=True would order the names backwards; that is a detail "
        "that nobody asked for. Next: --top. The total then covers only the shown rows. Let me see what the README says... only 'report --by supplier --top 5'. "
        "I will look at the output.",
        bash("python -m stock report --by supplier --top 2; python -m stock report --by supplier"),
    ),
    say(
        "The total under `--top 2` is the total of two rows. It may be intended, so I leave it and mention it. Now `low`: how "
        "many of the listed SKUs have enough pieces elsewhere?",
        bash("python -m stock low --below 10 | head -n 20; python -m stock low --below 10 | wc -l"),
        bash("""python - <<'EOF'
from collections import Counter
from pathlib import Path
from stock import store
items = store.load(Path('stock.jsonl'))
total = Counter()
for item in items:
    total[item.sku] += item.quantity
listed = {item.sku for item in items if item.quantity < 10}
short = {sku for sku, count in total.items() if count < 10}
print(len(listed), 'SKUs listed,', len(short), 'really short:', *sorted(short))
EOF"""),
    ),
    think(
        "The docstring says it itself: 'less than below pieces are left over all locations'. So I sum by SKU. The location "
        "column makes no sense for a sum; a SKU can lie at several places. I will show all locations that hold some, joined by a blank, "
        "hmm, that changes the width. The column is the last but one. Put `left` before the locations? Keep the order of the columns "
        "and show the number of places? For purchasing the place is irrelevant, but scripts might cut columns. I keep the header and "
        "show '-' or the single location, or '3 places'.",
        bash(r"""python - <<'EOF'
from pathlib import Path
path = Path('stock/report.py')
text = path.read_text('utf-8')
start = text.index('    for item in sorted(items, key=lambda item: (item.quantity, item.sku)):')
end = text.index('    return "\\n".join(lines)\n\n\ndef export')
text = text[:start] + '''    places = defaultdict(list)
    for item in items:
        places[item.sku].append(item)
    left = {sku: sum(item.quantity for item in entries) for sku, entries in places.items()}
    for sku in sorted(left, key=lambda sku: (left[sku], sku)):
        if left[sku] < below:
            entries = places[sku]
            where = entries[0].location if len(entries) == 1 else f"{len(entries)} places"
            text = f"{sku:<8} {entries[0].name:<24} {where:<9} {left[sku]:>5}"
            lines.append(f"{RED}{text}{RESET}" if color and left[sku] == 0 else text)
''' + text[end:]
path.write_text(text, 'utf-8')
EOF
python -m stock low --below 10"""),
    ),
    think(
        "The list matches the short SKUs I computed. What about colour? The zero rows should be red with --color always.",
        bash("python -m stock low --below 3 --color always"),
    ),
    say(
        "Colour still works. Item 4: `move` checks nothing. I will see what it does with too many, a negative number, zero, the same "
        "place as source and target, and a lower-case SKU.",
        bash("""cp stock.jsonl probe.jsonl; grep S1000 probe.jsonl
m() { python -m stock move "$@" --file probe.jsonl; echo "exit $?"; }
m S1000 C-06 A-01 50; m S1000 A-05 A-01 -- -7; m S1000 A-05 A-05 5; m s1000 A-05 A-07 0; m S9999 A-01 A-02 1
grep S1000 probe.jsonl"""),
    ),
    say(
        "Everything went through but the negative move, and that failed only because my `--` swallowed the option behind it. Moving "
        "within A-05 left two entries for one place. I will refuse what the stock does not allow with a StockError.",
        bash(r"""python - <<'EOF'
from pathlib import Path
path = Path('stock/store.py')
text = path.read_text('utf-8')
old = '''    here = _find(items, sku, source)
    if here is None:
        raise StockError(f"{sku} is not at {source}")
'''
new = '''    if quantity < 1:
        raise StockError(f"cannot move {quantity} pieces, it has to be one at least")
    if source == target:
        raise StockError(f"{source} is both source and target")
    here = _find(items, sku, source)
    if here is None:
        raise StockError(f"{sku} is not at {source}")
    if here.quantity < quantity:
        raise StockError(f"{source} holds {here.quantity} of {sku}, not {quantity}")
'''
assert text.count(old) == 1
path.write_text(text.replace(old, new), 'utf-8')
EOF
cp stock.jsonl probe.jsonl
m() { python -m stock move "$@" --file probe.jsonl; echo "exit $?"; }
m S1000 C-06 A-01 50; m S1000 A-05 A-05 5; m s1000 A-05 A-07 0; m S9999 A-01 A-02 1; m s1000 C-06 A-07 8
cmp stock.jsonl probe.jsonl; grep S1000 probe.jsonl"""),
    ),
    think(
        "Refusals are right, the good move works. After it C-06 stays with 0 pieces; the existing test pins that "
        "('R1', 0), fine. Exit codes are all 0: item 5. README: 1 for StockError, 2 for unreadable input.",
        bash(r"""python - <<'EOF'
from pathlib import Path
path = Path('stock/cli.py')
text = path.read_text('utf-8')
old = '''    except (StockError, FormatError) as error:
        print(f"stock: {error}", file=sys.stderr)
    return 0
'''
new = '''    except (StockError, FormatError) as error:
        print(f"stock: {error}", file=sys.stderr)
        return 1 if isinstance(error, StockError) else 2
    return 0
'''
assert text.count(old) == 1
path.write_text(text.replace(old, new), 'utf-8')
EOF
for c in 'move S9999 A-01 A-02 1' 'report --file none.jsonl' 'report --by colour' 'move S1000 C-06 A-07 many' 'import none.csv' 'low'; do
  python -m stock $c > /dev/null 2> err.txt; echo "$? $c: $(tail -n 1 err.txt)"; done; rm err.txt"""),
    ),
    say(
        "Codes are as in the README, except for a CSV file that does not exist: a traceback and code 1, which a script would "
        "take for 'the stock does not allow it'. Let me see which other inputs end in a traceback.",
        bash(r"""head -n 1 data/items.csv > head.txt
t() { python -m stock import probe.csv --file probe.jsonl > out.txt 2>&1; echo "$? $(tail -n 1 out.txt)"; }
(cat head.txt; echo 'S1;Bolt;A-01;Hex;x;1,0') > probe.csv; t
(cat head.txt; echo 'S1;Bolt;A-01;Hex;-4;1,0') > probe.csv; t
(cat head.txt; echo 'S1;Bolt;A-01;Hex;4;viel') > probe.csv; t
(cat head.txt; echo 'S1;Bolt;A-01') > probe.csv; t
(cat head.txt; printf 'S1;B\xf6lzen;A-01;Hex;4;1,0\n') > probe.csv; t
(printf '\xef\xbb\xbf'; cat head.txt; echo 'S1;Bolt;A-01;Hex;4;1,0') > probe.csv; t
(cat head.txt; echo 'S1;Bolt;A-01;Hex;0;1,0') > probe.csv; t
rm head.txt out.txt"""),
    ),
    think(
        "Three things: a Latin-1 file ends in UnicodeDecodeError, a BOM makes 'sku' missing, negative quantities are accepted. "
        "Spreadsheets write BOMs, so utf-8-sig is right. OSError and UnicodeDecodeError become FormatError. Where does the missing "
        "field check `not row.get(field)`: quantity '0' is a non-empty string, fine.",
        bash(r"""python - <<'EOF'
from pathlib import Path
path = Path('stock/store.py')
text = path.read_text('utf-8')
start = text.index('    found: dict[tuple[str, str], Item] = {}')
end = text.index('def move(')
text = text[:start] + '''    found: dict[tuple[str, str], Item] = {}
    for number, row in enumerate(_csv_rows(path), start=2):
        item = item_from_row(row, f"{path}:{number}")
        key = item.sku, item.location
        if key in found:
            item = found[key].changed_by(item.quantity)
        found[key] = item
    return list(found.values())


def _csv_rows(path: Path) -> list[dict]:
    # Spreadsheets put a byte order mark in front.
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return list(csv.DictReader(file, delimiter=";"))
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise FormatError(f"{path}: not UTF-8, export it with that encoding") from None


''' + text[end:]
path.write_text(text, 'utf-8')
path = Path('stock/model.py')
text = path.read_text('utf-8')
old = '    return Item(\n        sku=row["sku"]'
assert text.count(old) == 1
path.write_text(text.replace(old, '''    if quantity < 0:
        raise FormatError(f"{where}: quantity {quantity} is negative")
''' + old), 'utf-8')
EOF
sed -n '45,80p' stock/store.py"""),
    ),
    think(
        "Run the probes again.",
        bash(r"""head -n 1 data/items.csv > head.txt
t() { python -m stock import probe.csv --file probe.jsonl > out.txt 2>&1; echo "$? $(tail -n 1 out.txt)"; }
(cat head.txt; echo 'S1;Bolt;A-01;Hex;-4;1,0') > probe.csv; t
(cat head.txt; printf 'S1;B\xf6lzen;A-01;Hex;4;1,0\n') > probe.csv; t
(printf '\xef\xbb\xbf'; cat head.txt; echo 'S1;Bolt;A-01;Hex;4;1,0') > probe.csv; t
rm probe.csv; t
cp data/items.csv probe.csv; t
rm -f head.txt out.txt probe.csv"""),
    ),
    say(
        "Item 6, the export. One supplier is called `Alpha, Inc.`; the export joins with commas and quotes nothing.",
        bash(
            "python -m stock export --format csv | grep -n Alpha | head -n 3; python -m stock export --format csv | awk -F, '{print NF}' | sort | uniq -c"
        ),
    ),
    think(
        "Use csv.writer. Line end: csv.writer writes \\r\\n by default; the output so far used \\n, keep that with lineterminator. "
        "The text is printed, so the last line end must go.",
        bash(r"""python - <<'EOF'
from pathlib import Path
path = Path('stock/report.py')
text = path.read_text('utf-8')
start = text.index('    lines = [",".join(FIELDS)]')
end = text.index('def heading')
text = text[:start] + '''    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\\n")
    writer.writerow(FIELDS)
    writer.writerows(as_row(item).values() for item in items)
    return text.getvalue().removesuffix("\\n")


''' + text[end:]
text = text.replace('import json\nfrom collections', 'import csv\nimport io\nimport json\nfrom collections')
path.write_text(text, 'utf-8')
EOF
python -m stock export --format csv > out.csv; head -n 2 out.csv; grep -m1 Alpha out.csv
python -c "
import csv
rows = list(csv.reader(open('out.csv', encoding='utf-8', newline='')))
print({len(r) for r in rows}, len(rows) - 1, 'rows')"; wc -l stock.jsonl; rm out.csv"""),
    ),
]
