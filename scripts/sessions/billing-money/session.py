"""Refactoring of a package over seven modules, from binary fractions to exact amounts; seven tools and a plan."""

from steps import act, agent, bash, each, edit, files, plan, read, say, search, write

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
]
