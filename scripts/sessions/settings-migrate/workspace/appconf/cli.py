"""The command line."""

import json
import sys
from pathlib import Path

from appconf import v1, v2
from appconf.check import problems
from appconf.errors import ConfigError


def main(arguments=None):
    command, *rest = sys.argv[1:] if arguments is None else arguments
    try:
        if command == "migrate":
            source, target = map(Path, rest)
            target.write_text(json.dumps(migrated(source), indent=1, ensure_ascii=False) + "\n", "utf-8")
        else:
            found = problems(json.loads(Path(rest[0]).read_text("utf-8")))
            if found:
                raise ConfigError("\n".join(found))
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def migrated(path):
    """Return the settings of a file of any version, as version 3."""
    text = path.read_text("utf-8")
    if path.suffix == ".ini":
        return v2.to_v3(v1.to_v2(text))
    settings = json.loads(text)
    return v2.to_v3(settings) if settings["version"] == 2 else settings
