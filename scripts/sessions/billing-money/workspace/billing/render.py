"""Invoices and reminders as text and JSON."""

import json

from billing.dunning import Reminder
from billing.invoice import Invoice
from billing.split import Instalment
from billing.tax import rate_text


def euros(amount: float) -> str:
    """Return an amount as text.

    >>> euros(1234.5)
    '1.234,50 €'
    """
    return f"{amount:,.2f} €".replace(",", "_").replace(".", ",").replace("_", ".")


def invoice_text(invoice: Invoice, plan: "list[Instalment] | None" = None) -> str:
    lines = [f"Rechnung {invoice.number} vom {invoice.day:%d.%m.%Y}", invoice.customer, ""]
    for number, line in enumerate(invoice.lines, start=1):
        quantity = f"{line.quantity:g} {line.unit}"
        lines.append(f"{number:>3} {line.text:<32} {quantity:>10} {euros(line.net):>14}")
    lines.append(f"{'netto':>47} {euros(invoice.net):>14}")
    for rate, tax in sorted(invoice.taxes.items()):
        lines.append(f"{'USt ' + rate_text(rate):>47} {euros(tax):>14}")
    lines.append(f"{'gesamt':>47} {euros(invoice.total):>14}")
    lines.append(f"zahlbar bis {invoice.due:%d.%m.%Y}")
    for instalment in plan or ():
        lines.append(f"Rate am {instalment.due:%d.%m.%Y} {euros(instalment.amount):>14}")
    return "\n".join(lines)


def invoice_json(invoice: Invoice) -> str:
    return json.dumps(
        {
            "number": invoice.number,
            "customer": invoice.customer,
            "date": invoice.day.isoformat(),
            "due": invoice.due.isoformat(),
            "lines": [
                {"text": line.text, "quantity": line.quantity, "net": line.net, "tax_rate": line.tax_rate}
                for line in invoice.lines
            ],
            "net": invoice.net,
            "taxes": {rate_text(rate): tax for rate, tax in invoice.taxes.items()},
            "total": invoice.total,
        },
        ensure_ascii=False,
        indent=1,
    )


def reminder_text(reminder: Reminder) -> str:
    return (
        f"{reminder.level}. Mahnung {reminder.number}: offen {euros(reminder.open)}, Zinsen {euros(reminder.interest)}, "
        f"Gebühr {euros(reminder.fee)}, zusammen {euros(reminder.total)}"
    )
