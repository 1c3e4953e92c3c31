"""The session goes on: the tests, and a later request."""

from steps import act, asks, bash, edit, plan, say, search, write

STEPS = [
    act(
        write(
            "tests/test_rules.py",
            '''"""The rules of the README, each with amounts on which binary fractions or a second rounding go wrong."""

import json
from datetime import date
from decimal import Decimal as D

import pytest

from billing.dunning import OpenInvoice, load_open, remind
from billing.invoice import Invoice, Line, make_invoice
from billing.money import to_cents
from billing.pricing import Price, PriceError, line_amount
from billing.render import invoice_json, invoice_text
from billing.split import instalments


def line(net, rate="0.19"):
    return Line("x", D(1), "St.", D(net), D(rate))


def invoice(*lines):
    return Invoice("1", "Müller", date(2025, 5, 2), lines)


@pytest.mark.parametrize(("exact", "rounded"), [("2.675", "2.68"), ("0.125", "0.13"), ("1.005", "1.01"), ("-0.005", "-0.01")])
def test_a_half_is_rounded_up(exact, rounded):
    assert to_cents(D(exact)) == D(rounded)


def test_a_line_with_a_discount_is_rounded_once():
    # 0.75 h at 95.50 less 15 % is 60.88125; 0.245 * 105 less 2.5 % is 25.081875; 71.63 * 0.85 would be 60.8855
    assert line_amount(Price("dev", "h", D("95.50"), D("0.19")), D("0.75"), D(15)) == D("60.88")
    assert line_amount(Price("x", "St.", D("0.335"), D("0.19")), D(1), D(50)) == D("0.17")


def test_the_tax_is_computed_on_the_sum_of_a_rate():
    assert invoice(line("0.33"), line("0.33"), line("0.33")).taxes == {D("0.19"): D("0.19")}


def test_each_rate_is_rounded_for_itself():
    made = invoice(line("0.33"), line("0.50", "0.07"), line("0.33"))
    assert (made.taxes, made.total) == ({D("0.19"): D("0.13"), D("0.07"): D("0.04")}, D("1.33"))


@pytest.mark.parametrize(
    ("total", "count", "parts"),
    [("1106.69", 3, ["368.90", "368.90", "368.89"]), ("0.05", 3, ["0.02", "0.02", "0.01"]), ("10", 1, ["10"])],
)
def test_instalments_add_up_and_the_larger_come_first(total, count, parts):
    assert [part.amount for part in instalments(D(total), date(2025, 1, 1), count)] == [D(part) for part in parts]


def test_an_invoice_paid_in_parts_is_not_reminded(tmp_path):
    path = tmp_path / "open.json"
    row = {"number": "1", "total": "119.70", "payments": ["39.90", 39.9, "39.90"], "due": "2025-03-14"}
    path.write_text(json.dumps([row]), "utf-8")
    assert remind(load_open(path)[0], date(2025, 6, 1)) is None


def test_interest_is_simple_on_the_open_amount():
    reminder = remind(OpenInvoice("1", D("1000.00"), D("333.33"), date(2025, 4, 1), 1), date(2025, 6, 1))
    assert (reminder.open, reminder.interest, reminder.total) == (D("666.67"), D("10.16"), D("681.83"))


def test_amounts_in_json_are_texts_with_two_decimals():
    made = json.loads(invoice_json(invoice(line("937.5"), line("0.10", "0.07"))))
    assert (made["net"], made["total"]) == ("937.60", "1115.74")
    assert made["taxes"] == {"19 %": "178.13", "7 %": "0.01"}
    assert made["lines"][0] == {"text": "x", "quantity": 1.0, "net": "937.50", "tax_rate": 0.19}


def test_quantities_are_written_without_trailing_zeros():
    order = {"number": "1", "customer": "K", "date": "2025-05-02", "positions": [{"article": "dev", "quantity": "7.50"}]}
    text = invoice_text(make_invoice(order, {"dev": Price("dev", "h", D(10), D("0.19"))}))
    assert "7.5 h " in text


def test_a_discount_above_everything_is_refused():
    with pytest.raises(PriceError, match=r"a discount of 101 % makes no sense"):
        line_amount(Price("dev", "h", D(1), D("0.19")), D(1), D(101))
''',
        ),
        bash("python -m pytest -q 2>&1 | tail -n 30"),
    ),
    say(
        "They pass. Is each rule really held by a test? I put the old behaviour back in copies, one at a time.",
        bash(r"""try() { rm -rf mutant; mkdir mutant; cp -r billing tests mutant; sed -i "$2" mutant/billing/$1; cmp -s billing/$1 mutant/billing/$1 && echo 'NOT CHANGED'
  (cd mutant && python -m pytest -q 2>&1 | grep -E '^(FAILED|[0-9]+ (passed|failed))' | cut -c1-88); }
try money.py 's/ROUND_HALF_UP)/"ROUND_HALF_EVEN")/'
try pricing.py 's/discounted(price.per_unit(quantity) \* quantity, discount)/discounted(to_cents(price.per_unit(quantity) * quantity), discount)/'
try tax.py 's/+= line.net/+= to_cents(line.net * line.tax_rate) \/ line.tax_rate/'
try split.py 's/number < larger/False/'
try dunning.py 's/, parse_float=Decimal//'
rm -rf mutant"""),
    ),
    say(
        "All five are caught, including the one for JSON numbers. I am not sure that both examples for the double rounding are sharp, though; 0.335 would become 0.34 and then 0.17, which is what is expected.",
        bash("""python - <<'EOF'
from decimal import Decimal as D
from billing.money import to_cents as c
for unit, q, off in (('95.50', '0.75', '15'), ('0.335', '1', '50'), ('0.245', '105', '2.5'), ('0.115', '9', '10'), ('1.005', '1', '50')):
    exact = D(unit) * D(q)
    keep = 1 - D(off) / 100
    print(unit, q, off, 'once', c(exact * keep), 'twice', c(c(exact) * keep))
EOF"""),
    ),
    say(
        "The first example is sharp, the second is not: 0.335 at 50 % is 0.17 either way. 1.005 at 50 % is 0.50 rounded once and 0.51 rounded twice, so I take that.",
        edit(
            "tests/test_rules.py",
            "    # 0.75 h at 95.50 less 15 % is 60.88125; 0.245 * 105 less 2.5 % is 25.081875; 71.63 * 0.85 would be 60.8855\n",
            "    # 71.625 less 15 % is 60.88125, 71.63 less 15 % is 60.8855; 1.005 less 50 % is 0.5025, 1.01 less 50 % is 0.505\n",
        ),
        edit(
            "tests/test_rules.py",
            '    assert line_amount(Price("x", "St.", D("0.335"), D("0.19")), D(1), D(50)) == D("0.17")',
            '    assert line_amount(Price("x", "St.", D("1.005"), D("0.19")), D(1), D(50)) == D("0.50")',
        ),
        bash(r"""python -m pytest -q | tail -n 1
mkdir mutant; cp -r billing tests mutant; sed -i 's/discounted(price.per_unit(quantity) \* quantity, discount)/discounted(to_cents(price.per_unit(quantity) * quantity), discount)/' mutant/billing/pricing.py
(cd mutant && python -m pytest -q 2>&1 | tail -n 2 | cut -c1-100); rm -rf mutant"""),
    ),
    say(
        "Still caught, now by both. Last the doctests, the command line with JSON numbers in an order, and bad numbers, which used to raise ValueError.",
        bash("""python -m pytest -q --doctest-modules billing 2>&1 | tail -n 1
sed 's/"quantity": "7.25"/"quantity": 0.1/' data/order.json > o.json; python -m billing invoice o.json | sed -n 4p
sed 's/"quantity": "7.25"/"quantity": "viel"/' data/order.json > o.json; python -m billing invoice o.json 2>&1 | tail -n 1; rm o.json"""),
    ),
    say(
        "A wrong number was a traceback before (ValueError) and is one now (InvalidOperation). It would be easy to make it a message, but it is outside of this request; I will mention it. Cleaning up.",
        bash(
            "rm -rf before; find . -name __pycache__ -prune -o -type f -print | sort; python -m pytest -q | tail -n 1; grep -rnw 'float' billing"
        ),
        plan(
            "x money module with rounding",
            "x pricing and tax",
            "x invoice and split",
            "x dunning",
            "x render and JSON",
            "x tests for the rules, compare with the old output",
        ),
    ),
    say(
        "The package computes with Decimal throughout and follows the four rules.\n\n"
        "- New `billing/money.py` with the one rounding function (half up to the cent). Lines are rounded once, after the discount; taxes once per rate on the sum of its lines; instalments differ by a cent at most, add up, larger first; interest "
        "is rounded once.\n- JSON numbers in orders, price lists and open invoices are read as exact decimals too. Amounts in the JSON output are strings; quantities and rates stay numbers.\n"
        "- 2025-0311 was reminded because 119.7 − 3 × 39.9 leaves a rest above 0 in binary; it is not any more. The other reminders are the same.\n\n"
        "Verified against an independent computation with fractions: the same to the cent for data/order.json. Existing tests keep their expectations, tests/test_rules.py holds the rules, and putting the old behaviour back "
        "makes a test fail for each of them.\n\n"
        "Left alone: tiers are taken in file order without a check; a quantity that is no number still ends in a traceback; there is no rule for splitting credits."
    ),
    asks(
        "Thanks! One more thing: `--instalments 0` prints the invoice without a plan, and -2 does as well. Make both an error like other wrong usage, please."
    ),
    act(search("instalments", path="billing/cli.py")),
    say(
        "Only counts above 1 make a plan, everything else falls through silently. argparse should refuse it, with exit code 2 as for other usage errors.",
        edit(
            "billing/cli.py",
            'invoice.add_argument("--instalments", type=int, default=1)',
            'invoice.add_argument("--instalments", type=_count, default=1)',
        ),
        edit(
            "billing/cli.py",
            "def _invoice(",
            'def _count(text: str) -> int:\n    count = int(text)\n    if count < 1:\n        raise argparse.ArgumentTypeError(f"{count} is less than 1")\n    return count\n\n\ndef _invoice(',
        ),
        bash(
            'for n in 0 -2 x 1 2; do python -m billing invoice data/order.json --instalments=$n 2>&1 | tail -n 1; done; python -m billing invoice data/order.json --instalments 0 2>/dev/null; echo "exit $?"'
        ),
    ),
    act(
        edit(
            "tests/test_rules.py",
            "def test_a_discount_above",
            '@pytest.mark.parametrize("count", ["0", "-2", "x"])\ndef test_a_count_of_instalments_below_one_is_wrong_usage(count, capsys):\n    with pytest.raises(SystemExit, match="2"):\n        main(["invoice", "order.json", f"--instalments={count}"])\n    assert "--instalments" in capsys.readouterr().err\n\n\ndef test_a_discount_above',
        ),
        edit(
            "tests/test_rules.py",
            "from billing.dunning import",
            "from billing.cli import main\nfrom billing.dunning import",
        ),
        bash("python -m pytest -q | tail -n 2"),
    ),
    say(
        '`--instalments` below 1 is refused with exit code 2 and a message ("argument --instalments: 0 is less than 1"); the check is in `_count` in billing/cli.py, with a test in tests/test_rules.py. All tests pass.'
    ),
]
