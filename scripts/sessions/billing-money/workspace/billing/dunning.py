"""Reminders: interest and fees on invoices that are not paid."""

import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path

INTEREST_PER_YEAR = 0.0912
FEES = (0.0, 5.0, 10.0)


@dataclass(frozen=True)
class OpenInvoice:
    number: str
    total: float
    paid: float
    due: date
    reminders: int

    @property
    def open(self) -> float:
        return self.total - self.paid


@dataclass(frozen=True)
class Reminder:
    number: str
    open: float
    interest: float
    fee: float
    level: int

    @property
    def total(self) -> float:
        return round(self.open + self.interest + self.fee, 2)


def remind(invoice: OpenInvoice, today: date) -> "Reminder | None":
    """Return the reminder for an invoice, None when nothing is open or it is not due yet."""
    days = (today - invoice.due).days
    if invoice.open <= 0 or days <= 0:
        return None
    level = min(invoice.reminders, len(FEES) - 1)
    interest = round(invoice.open * INTEREST_PER_YEAR * days / 365, 2)
    return Reminder(invoice.number, invoice.open, interest, FEES[level], level + 1)


def load_open(path: Path) -> list[OpenInvoice]:
    return [
        OpenInvoice(
            number=row["number"],
            total=float(row["total"]),
            paid=sum(float(payment) for payment in row.get("payments", ())),
            due=date.fromisoformat(row["due"]),
            reminders=int(row.get("reminders", 0)),
        )
        for row in json.loads(path.read_text("utf-8"))
    ]
