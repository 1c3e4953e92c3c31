import sys
from decimal import Decimal

from calc.errors import CalcError
from calc.evaluate import evaluate
from calc.parse import parse

try:
    names = dict(argument.split("=", 1) for argument in sys.argv[2:])
    print(evaluate(parse(sys.argv[1]), {name: Decimal(value) for name, value in names.items()}))
except CalcError as error:
    print(error, file=sys.stderr)
    sys.exit(1)
