"""Migration of configuration files over three versions, with all errors reported; four tools."""

from steps import act, agent, bash, edit, read, say, write

SYSTEM, TOOLS = agent("editor")

TASK = """The migration of settings (appconf, see README.md) fails on every real file in samples/ but the version 3 one. Please make it do what README.md says:
all three versions, unknown settings kept, every problem reported with its key, nothing guessed. samples/broken_v1.ini has to give all of its problems in one run
(there are eight, says the colleague who broke it). Keep the modules; add tests in tests/test_more.py."""

CHECK = r"""python -m pytest -q && python -m appconf migrate samples/branch_v1.ini out.json && python -m appconf check out.json && python - <<'EOF'
import json
new = json.load(open('out.json', encoding='utf-8'))
assert [i['name'] for i in new['network']['interfaces']] == ['wan0', 'eth0', 'eth1']
assert new['network']['interfaces'][2] == {'name': 'eth1', 'address': None, 'dhcp': True}
assert new['network']['dns'] == ['10.1.0.1', '10.1.0.2', '9.9.9.9']
assert new['storage']['volumes']['data']['quota_bytes'] == 10 * 1024**3
assert new['storage']['volumes']['Kassenbelege 100%']['quota_bytes'] is None
assert new['alerts'][1] == {'when': 'Temp', 'above_percent': 75, 'mail': ['it@example.org']}
assert new['unknown'] == {'system.timezone': 'Europe/Berlin', 'net.wan0.mtu': '1492', 'printer.queue': 'kasse'}
EOF
test $(python -m appconf migrate samples/broken_v1.ini out.json 2>&1 | wc -l) = 8"""

STEPS = [
    act(read("README.md"), bash("wc -l appconf/*.py tests/* samples/*")),
    act(bash("cat appconf/v1.py appconf/errors.py")),
    act(bash("cat appconf/v2.py appconf/check.py")),
    act(bash("cat appconf/cli.py tests/test_migrate.py")),
    act(bash('for f in samples/*; do echo "== $f"; cat $f; done')),
    say(
        "What happens today, per file:",
        bash(
            'for f in samples/*; do echo "== $f"; python -m appconf migrate $f out.json 2>&1 | tail -n 1; done; python -m appconf check samples/lab_v3.json 2>&1 | tail -n 1; python -m pytest -q 2>&1 | tail -n 3'
        ),
    ),
    say(
        "The first error hides all others. Before planning I want to know what the ini parser itself does to the data: case of keys, `%`, comments, doubled sections.",
        bash(
            "python - <<'EOF'\nimport configparser\nini = configparser.ConfigParser()\nini.read_string(open('samples/branch_v1.ini', encoding='utf-8').read())\nprint(ini.sections())\nprint(dict(ini['alerts']))\nfor text in ('[a]\\nx = 100%\\n', '[a]\\nx = 1\\nX = 2\\n', '[a]\\nx=1\\n[a]\\ny=2\\n', 'x = 1\\n', '[DEFAULT]\\nz = 1\\n[a]\\nx = 1\\n', '[a]\\nx\\n'):\n    ini = configparser.ConfigParser()\n    try:\n        ini.read_string(text)\n        print({s: dict(ini[s]) for s in ini.sections()})\n    except Exception as error:\n        print(type(error).__name__, str(error).replace(chr(10), ' ')[:90])\nEOF"
        ),
    ),
    say(
        "Three traps: keys are lower-cased (`Temp` becomes `temp`), `%` in a value is an interpolation error, and [DEFAULT] leaks into every section. RawConfigParser with `optionxform = str` and a default section nobody uses avoids them. "
        "Doubled keys and sections are errors already, which is right since nothing may be guessed.\n\n"
        "Collecting problems: a small list that is passed along; a function `convert(key, value, function)` notes a failure and returns None. As both steps (v1 → v2 → v3) lose the names of v1, problems of version 1 must be found in v1.py with v1's keys.",
        write(
            "appconf/errors.py",
            '''"""Collecting problems."""


class ConfigError(Exception):
    """One or more problems with a file, one per line."""


class Problems:
    """Notes what is wrong with a file, so that everything can be reported at once."""

    def __init__(self, name):
        self.name = name
        self.found = []

    def add(self, key, text):
        self.found.append(f"{self.name}: {key}: {text}")

    def convert(self, key, value, function, expected):
        """Return function(value); a failure is noted with what was `expected`, and None returned."""
        try:
            return function(value)
        except (ValueError, TypeError, AttributeError):
            self.add(key, f"expected {expected}, found {value!r}")
            return None

    def raise_any(self):
        if self.found:
            raise ConfigError("\\n".join(self.found))
''',
        ),
    ),
    say(
        "Now v1.py. An interface with dhcp and no ip is normal (eth1), so ip and mask are needed only without dhcp. What must the structure of version 2 say then? In office_v2.json eth0 has only `dhcp`, so leave them out.",
        write(
            "appconf/v1.py",
            '''"""Version 1 → version 2."""

import configparser
import ipaddress
import re

LEVELS = ["error", "warning", "info", "debug", "trace"]
UNITS = {"M": 1, "G": 1024}


def to_v2(text, problems):
    """Return the settings of an ini file in the structure of version 2; what is wrong goes to `problems`."""
    ini = configparser.RawConfigParser(default_section=None)
    ini.optionxform = str
    try:
        ini.read_string(text)
    except configparser.Error as error:
        problems.add("file", str(error).replace("\\n", " "))
        problems.raise_any()
    result = {"version": 2, "net": {}, "volumes": {}, "alerts": {}, "unknown": {}}
    for section in ini.sections():
        values = dict(ini[section])
        if section == "system":
            result["host"] = _needed(values, section, "hostname", problems)
            result["dns"] = re.split(r"[\\s,]+", values.pop("dns", "").strip())
        elif section.startswith("net."):
            result["net"][section[4:]] = _net(values, section, problems)
        elif section.startswith("volume "):
            quota = problems.convert(f"{section}.quota", values.pop("quota", "none"), _megabytes, "like 10G, 500M or none")
            path = _needed(values, section, "path", problems)
            result["volumes"][section[7:]] = {"path": path, "quota_mb": quota}
        elif section == "alerts":
            for when in list(values):
                result["alerts"][when] = _alert(values.pop(when), f"alerts.{when}", problems)
        elif section == "log":
            level = problems.convert("log.level", values.pop("level", None), _level, "0 to 4")
            days = problems.convert("log.days", values.pop("days", None), int, "a number of days")
            result["log"] = {"level": level, "keep": f"{days}d"}
        result["unknown"].update({f"{section}.{key}": value for key, value in values.items()})
    return result


def _needed(values, section, key, problems):
    value = values.pop(key, "")
    if not value:
        problems.add(f"{section}.{key}", "is missing")
    return value


def _net(values, section, problems):
    dhcp = problems.convert(f"{section}.dhcp", values.pop("dhcp", "no"), {"yes": True, "no": False}.__getitem__, "yes or no")
    net = {"dhcp": dhcp}
    if "ip" in values or not dhcp:
        net["ip"] = problems.convert(f"{section}.ip", values.pop("ip", None), _address, "an address like 10.0.0.5")
        net["prefix"] = problems.convert(f"{section}.mask", values.pop("mask", None), _prefix, "a mask like 255.255.255.0")
    return net


def _address(text):
    return str(ipaddress.ip_address(text))


def _prefix(mask):
    return ipaddress.ip_network(f"0.0.0.0/{mask}").prefixlen


def _alert(value, key, problems):
    limit, _, to = value.partition(" ")
    return {"limit": problems.convert(key, limit, int, "a percentage and addresses"), "to": to.replace(",", ";")}


def _level(text):
    return dict(zip("01234", LEVELS))[text]


def _megabytes(quota):
    if quota == "none":
        return 0
    return int(quota[:-1]) * UNITS[quota[-1]]
''',
        ),
    ),
    say(
        "`_level`, `yes or no` and the units raise KeyError for unknown texts, which `convert` does not catch: `KeyError` and `LookupError` in general have to be there.",
        edit(
            "appconf/errors.py",
            "except (ValueError, TypeError, AttributeError):",
            "except (ValueError, TypeError, AttributeError, LookupError):",
        ),
    ),
    act(
        edit(
            "appconf/cli.py",
            '    if path.suffix == ".ini":\n        return v2.to_v3(v1.to_v2(text))\n',
            '    problems = Problems(path.name)\n    if path.suffix == ".ini":\n        old = v1.to_v2(text, problems)\n        problems.raise_any()\n        return v2.to_v3(old)\n',
        )
    ),
    act(
        edit(
            "appconf/cli.py",
            "from appconf.errors import ConfigError\n",
            "from appconf.errors import ConfigError, Problems\n",
        ),
        bash(
            'for f in samples/*v1.ini; do echo "== $f"; python -m appconf migrate $f out.json 2>&1 | tail -n 9; done'
        ),
    ),
    say(
        "The ini file is read; the rest comes from v2.py. Does `default_section=None` really keep [DEFAULT] from leaking?",
        bash(
            "python -m appconf migrate samples/branch_v1.ini out.json 2>&1 | tail -n 4; python -c \"\nimport configparser\nfor d in (None, '', '\\\\0'):\n    ini = configparser.RawConfigParser(default_section=d)\n    ini.read_string('[DEFAULT]\\nz = 1\\n[a]\\nx = 1\\n')\n    print(repr(d), {s: dict(ini[s]) for s in ini.sections()})\""
        ),
    ),
    say(
        "It is an ordinary section then. broken_v1.ini gives seven lines. Which one is missing? Its eight faults: hostname, ip, mask, dhcp, path `srv/data`, quota, disk limit, level 7, days 0 … that is nine if a relative path and 0 days count as faults. README says neither. Hmm: 'there are eight'.",
        bash(
            "python -m appconf migrate samples/broken_v1.ini out.json; grep -n 'path\\|days\\|keep' README.md"
        ),
    ),
    say(
        "Reported are hostname, dhcp, ip, mask, quota, disk, level: seven. The candidates for the eighth are the relative path and `days = 0`. README shows absolute paths only and gives no rule; `keep_days: 0` would delete logs at once or keep them for ever, nobody knows, so by 'nothing is guessed' a number of days below 1 cannot be converted. "
        "A relative path converts without any guess. I take the days and will say so.",
        edit(
            "appconf/v1.py",
            'values.pop("days", None), int, "a number of days")',
            'values.pop("days", None), _days, "a number of days from 1")',
        ),
    ),
    act(
        edit(
            "appconf/v1.py",
            "def _megabytes(",
            "def _days(text):\n    days = int(text)\n    if days < 1:\n        raise ValueError\n    return days\n\n\ndef _megabytes(",
        ),
        bash('python -m appconf migrate samples/broken_v1.ini out.json; echo "exit $?"'),
    ),
]
