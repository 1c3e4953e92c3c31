"""The session goes on: instalments, reminders and what is printed."""

from steps import bash, each, edit, plan, say

STEPS = [
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
]
