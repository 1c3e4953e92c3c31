"""The command line."""

import argparse
import sys
from pathlib import Path

from stock import report, store
from stock.model import FormatError, StockError


def main(argv: "list[str] | None" = None) -> int:
    options = parser().parse_args(argv)
    color = options.color == "always" or (options.color == "auto" and sys.stdout.isatty())
    try:
        print(options.run(options, color))
    except (StockError, FormatError) as error:
        print(f"stock: {error}", file=sys.stderr)
    return 0


def _import(options: argparse.Namespace, color: bool) -> str:
    items = store.import_csv(options.csv)
    store.save(options.file, items)
    return f"{len(items)} entries in {options.file}"


def _report(options: argparse.Namespace, color: bool) -> str:
    return report.group_table(store.load(options.file), options.by, options.top, color)


def _low(options: argparse.Namespace, color: bool) -> str:
    return report.low_table(store.load(options.file), options.below, color)


def _move(options: argparse.Namespace, color: bool) -> str:
    items = store.move(
        store.load(options.file), options.sku, options.source, options.target, options.quantity
    )
    store.save(options.file, items)
    return f"moved {options.quantity} of {options.sku} from {options.source} to {options.target}"


def _export(options: argparse.Namespace, color: bool) -> str:
    return report.export(store.load(options.file), options.format)


def parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--file", type=Path, default=Path("stock.jsonl"))
    common.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    top = argparse.ArgumentParser(prog="stock", description="Stock keeping for a small warehouse.")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run, **options) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, parents=[common], **options)
        sub.set_defaults(run=run)
        return sub

    command("import", _import, help="build the stock file from a CSV export").add_argument("csv", type=Path)
    reporting = command("report", _report, help="what lies where")
    reporting.add_argument("--by", choices=("location", "supplier"), default="location")
    reporting.add_argument("--top", type=int)
    command("low", _low, help="what has to be ordered").add_argument("--below", type=int, default=5)
    moving = command("move", _move, help="move pieces between locations")
    for name in ("sku", "source", "target"):
        moving.add_argument(name)
    moving.add_argument("quantity", type=int)
    command("export", _export, help="print the stock").add_argument(
        "--format", choices=("csv", "json"), default="json"
    )
    return top
