"""Refactoring of a package over seven modules, from binary fractions to exact amounts; seven tools and a plan."""

from steps import act, agent, asks, bash, each, edit, files, plan, read, say, search, write

SYSTEM, TOOLS = agent("workbench")

TASK = """Our accountants found invoices that are a cent off, and last week we sent a reminder for an invoice that was paid
in full (2025-0311 in data/open.json). The package computes with floats everywhere. Please change it to exact amounts
(decimal.Decimal) in all modules, and make it follow the four rules at the end of the README. The text output keeps its
form; in the JSON output amounts become strings with two decimals ("937.52"). Existing tests may be adapted where they
pass floats in, but not in what they expect. Add tests for the rules."""

CHECK = """python -m pytest -q && ! grep -rn 'float(' billing && python -m billing invoice data/order.json --json | grep -q '"net": "937' \
&& test "$(python -m billing dunning data/open.json --date 2025-06-01 | wc -l)" = 2"""

STEPS = [
    act(files("/workspace"), read("README.md")),
    act(read("billing/pricing.py"), read("billing/tax.py"), read("billing/invoice.py")),
    act(read("billing/split.py"), read("billing/dunning.py"), read("billing/render.py")),
    say(
        "Before I change anything I keep the present output, so that every difference afterwards can be explained.",
        bash(
            "mkdir -p before && python -m billing invoice data/order.json --instalments 3 | tee before/invoice.txt; "
            "python -m billing invoice data/order.json --json > before/invoice.json; python -m billing dunning data/open.json --date 2025-06-01 | tee before/dunning.txt"
        ),
        read("tests/test_billing.py"),
        bash("cat data/prices.json data/open.json; python -m pytest -q | tail -n 1"),
    ),
    say(
        "What breaks the rules today: `line_amount` rounds before and after the discount (rule 1), `tax_by_rate` rounds per line (rule 2), `instalments` loses or adds cents (rule 3: 3 × 368,90 = "
        "1.106,70, the total is 1.106,69), and `open` is the rest of float subtractions, 119.7 − 3 × 39.9 > 0. `round` also rounds half to even on inexact numbers. One module for amounts, then bottom up.",
        plan(
            "> money module with rounding",
            "- pricing and tax",
            "- invoice and split",
            "- dunning",
            "- render and JSON",
            "- tests for the rules, compare with the old output",
        ),
        bash('python -c "print(119.7 - sum([39.9] * 3), round(2.675, 2), round(0.125, 2), 0.245 * 105)"'),
    ),
    *each(
        "The money module first, then the types of a price.",
        write(
            "billing/money.py",
            '''"""Exact amounts: decimals in euros, rounded to the cent where a rule says so."""

from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")


def to_cents(amount: Decimal) -> Decimal:
    """Round half up to the cent, away from zero for negative amounts.

    >>> to_cents(Decimal("2.675"))
    Decimal('2.68')
    """
    return amount.quantize(CENT, rounding=ROUND_HALF_UP)
''',
        ),
        edit(
            "billing/pricing.py",
            "import json\nfrom dataclasses import dataclass\n",
            "import json\nfrom dataclasses import dataclass\nfrom decimal import Decimal\n",
        ),
        edit(
            "billing/pricing.py",
            "from pathlib import Path\n",
            "from pathlib import Path\n\nfrom billing.money import to_cents\n",
        ),
        edit(
            "billing/pricing.py",
            "    amount: float\n    tax_rate: float\n    tiers: tuple[tuple[float, float], ...] = ()\n\n    def per_unit(self, quantity: float) -> float:",
            "    amount: Decimal\n    tax_rate: Decimal\n    tiers: tuple[tuple[Decimal, Decimal], ...] = ()\n\n    def per_unit(self, quantity: Decimal) -> Decimal:",
        ),
    ),
    *each(
        "Now reading the list. Tiers apply in the order of the file; a list that is not ascending would pick the wrong one, but nobody asked about that.",
        edit(
            "billing/pricing.py",
            'tiers = tuple((float(tier["from"]), float(tier["amount"])) for',
            'tiers = tuple((Decimal(tier["from"]), Decimal(tier["amount"])) for',
        ),
        edit(
            "billing/pricing.py",
            '            amount=float(row["amount"]),\n            tax_rate=float(row["tax"]) / 100,',
            '            amount=Decimal(row["amount"]),\n            tax_rate=Decimal(row["tax"]) / 100,',
        ),
        edit(
            "billing/pricing.py",
            '''def discounted(amount: float, percent: float) -> float:
    """Return the amount less a discount in percent."""
    if not 0 <= percent <= 100:
        raise PriceError(f"a discount of {percent} % makes no sense")
    return round(amount * (1 - percent / 100), 2)


def line_amount(price: Price, quantity: float, discount: float = 0.0) -> float:
    """Return the net amount of an invoice line."""
    amount = round(price.per_unit(quantity) * quantity, 2)
    return discounted(amount, discount)''',
            '''def discounted(amount: Decimal, percent: Decimal) -> Decimal:
    """Return the amount less a discount in percent, not rounded."""
    if not 0 <= percent <= 100:
        raise PriceError(f"a discount of {percent} % makes no sense")
    return amount * (1 - percent / 100)


def line_amount(price: Price, quantity: Decimal, discount: Decimal = Decimal(0)) -> Decimal:
    """Return the net amount of an invoice line, rounded once."""
    return to_cents(discounted(price.per_unit(quantity) * quantity, discount))''',
        ),
        search(r"discounted|line_amount|total_tax|tax_by_rate|rate_text", glob="*.py"),
    ),
    say(
        "`discounted` is used in `line_amount` only, so it may stop rounding. Next the taxes: sum the net amounts per rate first, then round once.",
        edit(
            "billing/tax.py",
            '''from collections import defaultdict


def tax_by_rate(lines) -> dict[float, float]:
    """Return tax rate → tax for invoice lines with `net` and `tax_rate`."""
    taxes: dict[float, float] = defaultdict(float)
    for line in lines:
        taxes[line.tax_rate] += round(line.net * line.tax_rate, 2)
    return dict(taxes)


def total_tax(lines) -> float:
    """Return the sum of all taxes."""
    return round(sum(tax_by_rate(lines).values()), 2)


def rate_text(rate: float) -> str:
    """Return a rate as text: 0.19 is '19 %'.

    >>> rate_text(0.07)
    '7 %'
    """
    return f"{rate * 100:g} %"''',
            '''from collections import defaultdict
from decimal import Decimal

from billing.money import to_cents


def tax_by_rate(lines) -> dict[Decimal, Decimal]:
    """Return tax rate → tax for invoice lines with `net` and `tax_rate`, rounded once per rate."""
    nets: dict[Decimal, Decimal] = defaultdict(Decimal)
    for line in lines:
        nets[line.tax_rate] += line.net
    return {rate: to_cents(net * rate) for rate, net in nets.items()}


def total_tax(lines) -> Decimal:
    """Return the sum of all taxes."""
    return sum(tax_by_rate(lines).values(), Decimal())


def rate_text(rate: Decimal) -> str:
    """Return a rate as text: 0.19 is '19 %'.

    >>> rate_text(Decimal("0.07"))
    '7 %'
    """
    return f"{(rate * 100).normalize():f} %"''',
        ),
        bash(
            "python -c \"from billing.tax import rate_text; from decimal import Decimal as D; print([rate_text(D(x)) for x in ('0.19', '0.07', '0', '0.105', '0.2', '1')])\""
        ),
    ),
    act(
        plan(
            "x money module with rounding",
            "x pricing and tax",
            "> invoice and split",
            "- dunning",
            "- render and JSON",
            "- tests for the rules, compare with the old output",
        ),
        edit(
            "billing/invoice.py",
            "from datetime import date, timedelta\n",
            "from datetime import date, timedelta\nfrom decimal import Decimal\n",
        ),
        edit(
            "billing/invoice.py",
            "    quantity: float\n    unit: str\n    net: float\n    tax_rate: float",
            "    quantity: Decimal\n    unit: str\n    net: Decimal\n    tax_rate: Decimal",
        ),
        edit(
            "billing/invoice.py",
            """    def net(self) -> float:
        return sum(line.net for line in self.lines)

    @property
    def taxes(self) -> dict[float, float]:
        return tax_by_rate(self.lines)

    @property
    def total(self) -> float:
        return round(self.net + total_tax(self.lines), 2)""",
            """    def net(self) -> Decimal:
        return sum((line.net for line in self.lines), Decimal())

    @property
    def taxes(self) -> dict[Decimal, Decimal]:
        return tax_by_rate(self.lines)

    @property
    def total(self) -> Decimal:
        return self.net + total_tax(self.lines)""",
        ),
        edit(
            "billing/invoice.py",
            'quantity = float(row["quantity"])\n        net = line_amount(price, quantity, float(row.get("discount", 0)))',
            'quantity = Decimal(row["quantity"])\n        net = line_amount(price, quantity, Decimal(row.get("discount", 0)))',
        ),
        bash(
            "python -m billing invoice data/order.json 2>&1 | diff before/invoice.txt - | head -n 20; python -m pytest -q 2>&1 | tail -n 12"
        ),
    ),
    say(
        "The diff shows only the plan that I did not ask for this time. No cent has moved so far, I will check that against an independent computation at the end. The failing tests pass floats as prices; that is the adaptation the task allows. But what if an order file has "
        '`"quantity": 7.25` as a JSON number? Decimal(7.25) would take it exactly, but 0.1 becomes 0.1000000000000000055. json can parse numbers as Decimal.',
        search(r"json\.loads", glob="*.py"),
        bash(
            "python - <<'EOF'\nimport json\nfrom decimal import Decimal\nprint(Decimal(json.loads('0.1')), json.loads('[0.1, 3]', parse_float=Decimal))\nEOF"
        ),
    ),
    *each(
        "All three readers get `parse_float=Decimal`. Strings in the files stay possible.",
        edit(
            "billing/invoice.py",
            'return json.loads(path.read_text("utf-8"))',
            'return json.loads(path.read_text("utf-8"), parse_float=Decimal)',
        ),
        edit(
            "billing/pricing.py",
            'json.loads(path.read_text("utf-8"))',
            'json.loads(path.read_text("utf-8"), parse_float=Decimal)',
        ),
        edit(
            "billing/dunning.py",
            'json.loads(path.read_text("utf-8"))',
            'json.loads(path.read_text("utf-8"), parse_float=Decimal)',
        ),
        edit(
            "billing/split.py",
            '''    """Split a total into `count` monthly instalments."""
    if count < 1:
        raise ValueError(f"{count} instalments")
    each = round(total / count, 2)
    days = [_months_later(first, months) for months in range(count)]
    return [Instalment(day, each) for day in days]''',
            '''    """Split a total into `count` monthly instalments that differ by a cent at most, the larger ones first."""
    if count < 1:
        raise ValueError(f"{count} instalments")
    cents, larger = divmod(int(total / CENT), count)
    return [
        Instalment(_months_later(first, number), (cents + (number < larger)) * CENT) for number in range(count)
    ]''',
        ),
        edit(
            "billing/split.py",
            "from datetime import date\n\n",
            "from datetime import date\nfrom decimal import Decimal\n\nfrom billing.money import CENT\n\n",
        ),
        edit("billing/split.py", "    amount: float\n", "    amount: Decimal\n"),
        edit("billing/split.py", "def instalments(total: float,", "def instalments(total: Decimal,"),
    ),
    act(
        bash("""python - <<'EOF'
from datetime import date
from decimal import Decimal as D
from billing.split import instalments
for total, count in (('1106.69', 3), ('0.05', 3), ('100', 1), ('-10.00', 3), ('99.999', 2)):
    parts = [part.amount for part in instalments(D(total), date(2025, 1, 31), count)]
    print(total, count, *parts, 'sum', sum(parts))
EOF""")
    ),
    say(
        "Positive totals are right; for the credit of −10.00 `divmod` of a negative Decimal-turned-int rounds down, so the larger amount comes last: the sum is right, and nobody has a rule for credits. "
        "99.999 is no amount, `int` would cut it silently; totals are always in cents, so I leave it. Now dunning.",
        edit(
            "billing/dunning.py",
            "INTEREST_PER_YEAR = 0.0912\nFEES = (0.0, 5.0, 10.0)",
            'INTEREST_PER_YEAR = Decimal("0.0912")\nFEES = (Decimal("0.00"), Decimal("5.00"), Decimal("10.00"))',
        ),
        edit(
            "billing/dunning.py",
            "    total: float\n    paid: float\n",
            "    total: Decimal\n    paid: Decimal\n",
        ),
        edit("billing/dunning.py", "    def open(self) -> float:", "    def open(self) -> Decimal:"),
        edit(
            "billing/dunning.py",
            "    open: float\n    interest: float\n    fee: float\n",
            "    open: Decimal\n    interest: Decimal\n    fee: Decimal\n",
        ),
        edit(
            "billing/dunning.py",
            "    def total(self) -> float:\n        return round(self.open + self.interest + self.fee, 2)",
            "    def total(self) -> Decimal:\n        return self.open + self.interest + self.fee",
        ),
        edit(
            "billing/dunning.py",
            "round(invoice.open * INTEREST_PER_YEAR * days / 365, 2)",
            "to_cents(invoice.open * INTEREST_PER_YEAR * days / 365)",
        ),
        edit(
            "billing/dunning.py",
            'total=float(row["total"]),\n            paid=sum(float(payment) for payment in row.get("payments", ())),',
            'total=Decimal(row["total"]),\n            paid=sum((Decimal(payment) for payment in row.get("payments", ())), Decimal()),',
        ),
        edit(
            "billing/dunning.py",
            "from datetime import date\nfrom pathlib import Path\n",
            "from datetime import date\nfrom decimal import Decimal\nfrom pathlib import Path\n\nfrom billing.money import to_cents\n",
        ),
        bash(
            "python -m billing dunning data/open.json --date 2025-06-01 | diff before/dunning.txt -; grep -rn 'float\\|round(' billing"
        ),
    ),
    say(
        "The paid invoice is gone from the reminders and the other two are unchanged. In render only annotations and JSON are left. A Decimal quantity prints as `510` or `7.25` with `:g`? I will look.",
        bash(
            "python -c \"from decimal import Decimal as D; print([f'{D(x):g}' for x in ('510', '7.25', '7.50', '3.0', '1E+3', '1234567.5')])\"; python -m billing invoice data/order.json --json 2>&1 | tail -n 2"
        ),
    ),
    *each(
        "`:g` of a Decimal keeps trailing zeros (7.50), a float did not. Orders come with such quantities, so the form of the text would change; `normalize` with `:f` gives the old form. In JSON the quantity is a number today and stays one; whole numbers were written "
        "as 510.0.",
        edit(
            "billing/render.py",
            'def euros(amount: float) -> str:\n    """Return an amount as text.\n\n    >>> euros(1234.5)',
            'def euros(amount: Decimal) -> str:\n    """Return an amount as text.\n\n    >>> euros(Decimal("1234.5"))',
        ),
        edit(
            "billing/render.py",
            'quantity = f"{line.quantity:g} {line.unit}"',
            'quantity = f"{line.quantity.normalize():f} {line.unit}"',
        ),
        edit(
            "billing/render.py",
            '{"text": line.text, "quantity": line.quantity, "net": line.net, "tax_rate": line.tax_rate}',
            '{\n                    "text": line.text,\n                    "quantity": _number(line.quantity),\n                    "net": _amount(line.net),\n                    "tax_rate": _number(line.tax_rate),\n                }',
        ),
        edit(
            "billing/render.py",
            '            "net": invoice.net,\n            "taxes": {rate_text(rate): tax for rate, tax in invoice.taxes.items()},\n            "total": invoice.total,',
            '            "net": _amount(invoice.net),\n            "taxes": {rate_text(rate): _amount(tax) for rate, tax in invoice.taxes.items()},\n            "total": _amount(invoice.total),',
        ),
        edit(
            "billing/render.py",
            "def reminder_text(",
            'def _amount(amount: Decimal) -> str:\n    return f"{amount:.2f}"\n\n\ndef _number(value: Decimal) -> float:\n    # JSON knows no decimals; these are quantities and rates, which nobody adds up.\n    return value.__float__()\n\n\ndef reminder_text(',
        ),
        edit("billing/render.py", "import json\n", "import json\nfrom decimal import Decimal\n"),
        bash(
            "python -m billing invoice data/order.json --json | diff before/invoice.json -; python -m billing invoice data/order.json --instalments 3 | diff before/invoice.txt -"
        ),
    ),
    say(
        "`value.__float__()` is an odd way to write what everybody writes as a call of float. It is the one place where a float is meant, but a reader who searches for leftovers should not stumble over it. Could the values be dumped as they are? "
        "json.dumps has a `default` only for unknown types, and that may return a number.",
        edit(
            "billing/render.py",
            "\n\ndef _number(value: Decimal) -> float:\n    # JSON knows no decimals; these are quantities and rates, which nobody adds up.\n    return value.__float__()\n",
            "\n",
        ),
        edit("billing/render.py", "_number(line.quantity)", "line.quantity"),
        edit("billing/render.py", "_number(line.tax_rate)", "line.tax_rate"),
        edit(
            "billing/render.py",
            "        ensure_ascii=False,\n        indent=1,\n    )",
            "        ensure_ascii=False,\n        indent=1,\n        default=float,  # quantities and rates, which nobody adds up\n    )",
        ),
        bash("python -m billing invoice data/order.json --json | diff before/invoice.json -"),
        plan(
            "x money module with rounding",
            "x pricing and tax",
            "x invoice and split",
            "x dunning",
            "x render and JSON",
            "> tests for the rules, compare with the old output",
        ),
    ),
    say(
        "Every difference to the old output needs a reason. I will compute the invoice with fractions, independent of the package.",
        bash("""python - <<'EOF'
import json
from fractions import Fraction as F
from collections import defaultdict
def cents(x): return int(x * 100 + F(1, 2))
prices = {p['article']: p for p in json.load(open('data/prices.json'))}
net = defaultdict(int)
for row in json.load(open('data/order.json', encoding='utf-8'))['positions']:
    p = prices[row['article']]; q = F(row['quantity']); unit = F(p['amount'])
    for tier in p.get('tiers', ()):
        if q >= F(tier['from']): unit = F(tier['amount'])
    exact = unit * q * (1 - F(row.get('discount', '0')) / 100)
    net[p['tax']] += cents(exact)
    print(f"{row['text']:<30} exact {str(exact):>12} = {float(exact):10.5f}  line {cents(exact)}")
taxes = {rate: cents(F(amount, 100) * F(rate, 100)) for rate, amount in net.items()}
print(dict(net), taxes, 'total', sum(net.values()) + sum(taxes.values()))
EOF
python -m billing invoice data/order.json | tail -n 5"""),
    ),
    say(
        "Identical with the independent computation to the cent. Now the tests: prices in the existing ones become Decimals, expectations stay.",
        edit(
            "tests/test_billing.py",
            'PRICES = {"dev": Price("dev", "h", 95.5, 0.19), "book": Price("book", "St.", 24.9, 0.07)}',
            'PRICES = {\n    "dev": Price("dev", "h", D("95.5"), D("0.19")),\n    "book": Price("book", "St.", D("24.9"), D("0.07")),\n}',
        ),
        edit(
            "tests/test_billing.py",
            "from datetime import date\nfrom pathlib import Path\n",
            "from datetime import date\nfrom decimal import Decimal as D\n",
        ),
        edit(
            "tests/test_billing.py",
            'Price("screw", "St.", 0.5, 0.19, ((100, 0.4), (1000, 0.25)))\n    assert [price.per_unit(n) for n in (99, 100, 1000)] == [0.5, 0.4, 0.25]',
            'Price("screw", "St.", D("0.5"), D("0.19"), ((D(100), D("0.4")), (D(1000), D("0.25"))))\n    assert [float(price.per_unit(n)) for n in (99, 100, 1000)] == [0.5, 0.4, 0.25]',
        ),
        edit(
            "tests/test_billing.py", 'OpenInvoice("1", 1000, 0, date', 'OpenInvoice("1", D(1000), D(0), date'
        ),
        edit("tests/test_billing.py", "euros(1234567.5)", 'euros(D("1234567.5"))'),
        bash("python -m pytest -q 2>&1 | tail -n 4"),
    ),
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
