"""The command line."""

import argparse
import sys
from datetime import date
from pathlib import Path

from billing.dunning import load_open, remind
from billing.invoice import load_order, make_invoice
from billing.pricing import PriceError, load_prices
from billing.render import invoice_json, invoice_text, reminder_text
from billing.split import instalments


def main(argv: "list[str] | None" = None) -> int:
    parser = argparse.ArgumentParser(prog="billing")
    commands = parser.add_subparsers(dest="command", required=True)
    invoice = commands.add_parser("invoice")
    invoice.add_argument("order", type=Path)
    invoice.add_argument("--prices", type=Path, default=Path("data/prices.json"))
    invoice.add_argument("--json", action="store_true")
    invoice.add_argument("--instalments", type=int, default=1)
    dunning = commands.add_parser("dunning")
    dunning.add_argument("open", type=Path)
    dunning.add_argument("--date", type=date.fromisoformat, default=date.today())
    options = parser.parse_args(argv)
    try:
        print(_invoice(options) if options.command == "invoice" else _dunning(options))
    except PriceError as error:
        print(f"billing: {error}", file=sys.stderr)
        return 1
    return 0


def _invoice(options: argparse.Namespace) -> str:
    made = make_invoice(load_order(options.order), load_prices(options.prices))
    if options.json:
        return invoice_json(made)
    plan = instalments(made.total, made.due, options.instalments) if options.instalments > 1 else None
    return invoice_text(made, plan)


def _dunning(options: argparse.Namespace) -> str:
    reminders = (remind(invoice, options.date) for invoice in load_open(options.open))
    return "\n".join(reminder_text(reminder) for reminder in reminders if reminder)
