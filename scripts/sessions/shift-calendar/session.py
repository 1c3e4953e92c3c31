"""Dates and times: summer time, nights over midnight and month ends, local times that do not exist; seven tools."""

from steps import act, agent, bash, each, edit, files, plan, read, say, search, write

SYSTEM, TOOLS = agent("workbench")

TASK = """The shift plans of rota are off in the weeks around the clock changes and at month ends, the calendar subscription shows times two hours late, and
`who` says "nobody" in the middle of the night. README.md has the rules. Please repair the package, all four commands, and test the rules in tests/test_rules.py.
The existing tests are right; three of them fail today."""

CHECK = r"""python -m pytest -q && test -f tests/test_rules.py && python -m rota who data/station.json '2025-03-30 04:30' | grep -qx 'Écho, Charlie\|Charlie, Delta\|Alfa, Delta\|Bravo, Delta\|.*, .*' \
&& python -m rota hours data/station.json 2025-12 | grep -q Alfa && python -m rota ics data/station.json 2025-03-28 2025-03-28 | grep -q 'DTSTART:20250328T060000Z' \
&& ! python -m rota who data/station.json '2025-03-30 02:30' && python -m rota who data/station.json '2025-10-26 02:30'"""

STEPS = [
    act(files("/workspace"), read("README.md")),
    act(read("rota/plan.py")),
    act(read("rota/hours.py"), read("rota/duty.py"), read("rota/ics.py")),
    act(read("rota/cli.py"), read("tests/test_rota.py"), bash("cat data/station.json")),
    act(bash("python -m pytest -q 2>&1 | grep -E '^E  |^FAILED|passed|failed' | cut -c1-140")),
    say(
        "What does a user see? Each command around the change of 30 March.",
        bash(
            "python -m rota list data/station.json 2025-03-29 2025-03-31; python -m rota hours data/station.json 2025-03; python -m rota who data/station.json '2025-03-30 03:30'; python -m rota ics data/station.json 2025-03-29 2025-03-30 | head -n 9; python -m rota hours data/station.json 2025-12 2>&1 | tail -n 1"
        ),
    ),
    say(
        "Faults by reading: the last day is left out (`<`), `abs` mirrors the rhythm before first_day, `end < start` treats a 24-hour shift (06:00 to 06:00) as empty, `hours=24` on aware datetimes is wall-clock arithmetic in Python (so the end at 07:00 is right, by luck), but `end - start` of two datetimes with the *same* tzinfo "
        "ignores the offset. Let me make sure of that before I rely on it.",
        bash(
            "python - <<'EOF'\nfrom datetime import datetime, timedelta\nfrom zoneinfo import ZoneInfo\nz = ZoneInfo('Europe/Berlin')\na, b = datetime(2025, 3, 29, 19, tzinfo=z), datetime(2025, 3, 30, 7, tzinfo=z)\nprint('difference', b - a, 'by timestamp', (b.timestamp() - a.timestamp()) / 3600)\nprint('plus 24 h', a + timedelta(hours=24), (a + timedelta(hours=24)).utcoffset())\nx = datetime(2025, 10, 26, 2, 30, tzinfo=z)\nprint('fold', x.utcoffset(), x.replace(fold=1).utcoffset(), x == x.replace(fold=1), x < x.replace(fold=1))\ng = datetime(2025, 3, 30, 2, 30, tzinfo=z)\nprint('gap', g, g.utcoffset(), g.timestamp() == datetime(2025, 3, 30, 3, 30, tzinfo=z).timestamp())\nEOF"
        ),
    ),
    say(
        "Confirmed: subtraction and comparison within a zone go by the wall clock. The rule for everything: build local times once, convert to UTC, compute in UTC, convert back for printing. So a Shift holds UTC times and the plan's zone is used for output. "
        "Does anything else use Shift.start?",
        plan(
            "> plan.py: days, rhythm, ends, UTC",
            "- hours by month, split",
            "- who: gaps, doubles, yesterday",
            "- ics: UTC, folding, escaping, ids",
            "- tests for the rules",
        ),
        search(r"\.start|\.end|shifts\(", glob="*.py"),
    ),
    *each(
        "The existing tests use `.timestamp()` and `shifts`; UTC times satisfy them. First a function that turns a local time into UTC and refuses what does not exist.",
        edit(
            "rota/plan.py",
            "def load(path):",
            '''def in_utc(day, clock, zone):
    """Return a local time in UTC; of a time that exists twice the first. Raises PlanError for one that does not exist."""
    local = datetime.combine(day, clock, zone)
    moment = local.astimezone(timezone.utc)
    if moment.astimezone(zone).replace(tzinfo=None) != local.replace(tzinfo=None):
        raise PlanError(f"{day} {clock:%H:%M} does not exist in {zone.key}, the clocks go forward")
    return moment


def load(path):''',
        ),
        edit(
            "rota/plan.py",
            "from datetime import date, datetime, time, timedelta\n",
            "from datetime import date, datetime, time, timedelta, timezone\n",
        ),
        edit(
            "rota/plan.py",
            '''    """Yield the shifts that begin on the days from first to last."""
    day = first
    while day < last:
        number = abs((day - plan.first_day).days)
        for kind in plan.kinds:
            crew = kind.crews[number % len(kind.crews)]
            start = datetime.combine(day, kind.start, plan.zone)
            end = datetime.combine(day, kind.end, plan.zone)
            if end < start:
                end = end + timedelta(hours=24)
            yield Shift(kind.name, crew, start, end)
        day = day + timedelta(days=1)''',
            '''    """Yield the shifts that begin on the days from first to last, both included, ordered by day and kind."""
    for ahead in range((last - first).days + 1):
        day = first + timedelta(days=ahead)
        number = (day - plan.first_day).days
        for kind in plan.kinds:
            crew = kind.crews[number % len(kind.crews)]
            last_day = day if kind.end > kind.start else day + timedelta(days=1)
            yield Shift(kind.name, crew, in_utc(day, kind.start, plan.zone), in_utc(last_day, kind.end, plan.zone))''',
        ),
        edit(
            "rota/plan.py",
            "class Shift:\n",
            'class Shift:\n    """`start` and `end` are in UTC: differences of local times ignore a change of the clocks."""\n\n',
        ),
        bash(
            "python -m pytest -q 2>&1 | grep -E '^E  |^FAILED|passed|failed' | cut -c1-140; python -m rota list data/station.json 2025-03-29 2025-03-30"
        ),
    ),
    say(
        "The list shows UTC now, as I said it would; the output has to convert.",
        edit(
            "rota/cli.py",
            '    return "\\n".join(f"{s.start:%a %d.%m. %H:%M} – {s.end:%a %H:%M}  {s.kind:<6} {s.crew}" for s in found)',
            '    return "\\n".join(\n        f"{s.start.astimezone(plan.zone):%a %d.%m. %H:%M} – {s.end.astimezone(plan.zone):%a %H:%M}  {s.kind:<6} {s.crew}"\n        for s in found\n    )',
        ),
    ),
    act(
        bash(
            "python -m rota list data/station.json 2025-03-29 2025-03-30; python -m rota list data/station.json 2024-12-30 2025-01-01 | grep Tag; python -m rota list data/station.json 2025-10-25 2025-10-26 | grep Nacht"
        )
    ),
    say(
        "Before first_day the rhythm goes on: 31 December is position 3 (Charlie), 30 December position 2 (Alfa). Good. What of a shift that begins in the gap, say 02:30? `in_utc` raises for the whole list. README: 'a local time that does not exist is refused'. For a plan with such a shift that makes one day of the year unusable; but the rule is clear.\n\n"
        "Hours next. In December `month + 1` is 13. The split: clip each shift to the month, whose bounds are local midnights in UTC, and begin a day earlier because a shift may reach in.",
        plan(
            "x plan.py: days, rhythm, ends, UTC",
            "> hours by month, split",
            "- who: gaps, doubles, yesterday",
            "- ics: UTC, folding, escaping, ids",
            "- tests for the rules",
        ),
        write(
            "rota/hours.py",
            '''"""Working hours."""

from collections import defaultdict
from datetime import date, time, timedelta

from rota.plan import in_utc, shifts


def hours(plan, year, month):
    """Return crew → real hours worked in a month of local time."""
    first = date(year, month, 1)
    following = date(year + month // 12, month % 12 + 1, 1)
    begin, end = (in_utc(day, time(0), plan.zone) for day in (first, following))
    worked = defaultdict(float)
    # A shift of the day before may reach into the month.
    for shift in shifts(plan, first - timedelta(days=1), following - timedelta(days=1)):
        inside = min(shift.end, end) - max(shift.start, begin)
        if inside > timedelta(0):
            worked[shift.crew] += inside / timedelta(hours=1)
    return dict(worked)
''',
        ),
    ),
    act(
        bash(
            "python -m rota hours data/station.json 2025-03; python -m rota hours data/station.json 2025-12; python - <<'EOF'\nfrom pathlib import Path\nfrom rota.hours import hours\nfrom rota.plan import load\nplan = load(Path('data/station.json'))\nfor month in (1, 3, 4, 10, 12):\n    worked = hours(plan, 2025, month)\n    print(month, sum(h for crew, h in worked.items() if crew in ('Alfa', 'Bravo', 'Charlie')), sum(h for crew, h in worked.items() if crew in ('Delta', 'Écho')))\nEOF\npython -m pytest -q 2>&1 | tail -n 2"
        )
    ),
    say(
        "March has 743 hours (31 · 24 − 1) and October 745, for the two crews of 24 hours as well. A zone whose clocks change at midnight would make `in_utc(…, time(0))` refuse the month; it existed in Brazil (America/Sao_Paulo until 2018, in October/November, not on the first of a month) and Cuba. "
        "Were there any on the first of a month?",
        bash(
            "python - <<'EOF'\nfrom datetime import date, time\nfrom zoneinfo import ZoneInfo, available_timezones\nfrom rota.plan import PlanError, in_utc\nbad = []\nfor name in sorted(available_timezones()):\n    zone = ZoneInfo(name)\n    for year in range(2000, 2038):\n        for month in range(1, 13):\n            try:\n                in_utc(date(year, month, 1), time(0), zone)\n            except PlanError:\n                bad.append((name, year, month))\nprint(len(bad), bad[:6])\nEOF"
        ),
    ),
    say(
        "There are 32 cases, in Cairo, Casablanca, Amman and other zones. A month must not be refused for that: the rule speaks of times somebody gives. The begin of a month is the first moment of its first day. With fold=0 Python takes the offset before the gap, which gives just the moment of the change. So a parameter is not needed: a plain conversion in hours.py does it.",
        edit(
            "rota/hours.py",
            "    begin, end = (in_utc(day, time(0), plan.zone) for day in (first, following))\n",
            "    # Where the clocks go forward at midnight, this is the moment of the change.\n    begin, end = (\n        datetime.combine(day, time(0), plan.zone).astimezone(timezone.utc) for day in (first, following)\n    )\n",
        ),
        edit(
            "rota/hours.py",
            "from datetime import date, time, timedelta\n\nfrom rota.plan import in_utc, shifts",
            "from datetime import date, datetime, time, timedelta, timezone\n\nfrom rota.plan import shifts",
        ),
        bash(
            "python -m rota hours data/station.json 2025-03 | head -n 1; sed 's#Europe/Berlin#Asia/Amman#' data/station.json > p.json; python -m rota hours p.json 2022-04 2>&1 | tail -n 2; python -m rota hours p.json 2011-04 2>&1 | tail -n 2; rm p.json"
        ),
    ),
    say(
        "Now who. The shifts of yesterday matter; the end is excluded; gaps are refused, doubles mean the first.",
        plan(
            "x plan.py: days, rhythm, ends, UTC",
            "x hours by month, split",
            "> who: gaps, doubles, yesterday",
            "- ics: UTC, folding, escaping, ids",
            "- tests for the rules",
        ),
        edit(
            "rota/duty.py",
            '        moment = datetime.strptime(text, "%Y-%m-%d %H:%M").replace(tzinfo=plan.zone)\n',
            '        local = datetime.strptime(text, "%Y-%m-%d %H:%M")\n',
        ),
        edit(
            "rota/duty.py",
            "    day = moment.date()\n    return [shift.crew for shift in shifts(plan, day, day) if shift.start <= moment <= shift.end]",
            "    day = local.date()\n    moment = in_utc(day, local.time(), plan.zone)\n    return [shift.crew for shift in shifts(plan, day - timedelta(days=1), day) if shift.start <= moment < shift.end]",
        ),
        edit(
            "rota/duty.py",
            "from datetime import datetime\n\nfrom rota.plan import PlanError, shifts",
            "from datetime import datetime, timedelta\n\nfrom rota.plan import PlanError, in_utc, shifts",
        ),
    ),
    act(
        bash(
            "for t in '2025-01-02 03:00' '2025-01-02 07:00' '2025-01-02 06:00' '2025-01-02 05:59' '2025-03-30 01:59' '2025-03-30 02:30' '2025-03-30 03:00' '2025-10-26 02:30' '2025-13-01 00:00' 'now'; do echo \"$t: $(python -m rota who data/station.json \"$t\" 2>&1)\"; done; python -m pytest -q 2>&1 | tail -n 2"
        )
    ),
    say(
        "All existing tests pass, and 02:30 on 30 March is refused. Could a shift be longer than a day, so that the day before yesterday matters? The rule for ends says at most until the same time next day, so no; with the clocks going back it has 25 hours but begins yesterday all the same.\n\n"
        "Now ics. Look at the raw output.",
        bash(
            "python -m rota ics data/station.json 2025-03-29 2025-03-29 | cat -A | head -n 12; python -m rota ics data/station.json 2025-03-29 2025-03-29 | awk '{ if (length($0) > 75) print length($0) }' | sort -n | uniq -c"
        ),
    ),
    say(
        "Since shifts are in UTC the times are right already. Missing: CR LF, folding at 75 *bytes* without cutting a letter, escaping, and useful UIDs: `0@rota` is the same for another export, so a subscription overwrites events. README does not mention ids, but iCalendar requires them to be unique, and DTSTAMP too. "
        "A UID from kind and start is stable. DTSTAMP needs a clock; the start of the shift would be a lie, hmm: RFC 5545 requires DTSTAMP in every VEVENT. Without METHOD it is 'when the information was last revised'. A fixed value per plan would do: first_day. I add neither clock nor lie: DTSTAMP from first_day midnight UTC, and say it.",
        plan(
            "x plan.py: days, rhythm, ends, UTC",
            "x hours by month, split",
            "x who: gaps, doubles, yesterday",
            "> ics: UTC, folding, escaping, ids",
            "- tests for the rules",
        ),
        write(
            "rota/ics.py",
            '''"""iCalendar (RFC 5545)."""

LONGEST = 75
ESCAPED = {"\\\\": "\\\\\\\\", ";": "\\\\;", ",": "\\\\,", "\\n": "\\\\n"}


def calendar(shifts, place, stamp):
    """Return shifts as an iCalendar text; `stamp` is the day the plan was made."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//rota//DE"]
    for shift in shifts:
        lines += [
            "BEGIN:VEVENT",
            f"UID:{shift.start:%Y%m%dT%H%M%SZ}-{escaped(shift.kind)}@rota",
            f"DTSTAMP:{stamp:%Y%m%d}T000000Z",
            f"DTSTART:{shift.start:%Y%m%dT%H%M%SZ}",
            f"DTEND:{shift.end:%Y%m%dT%H%M%SZ}",
            f"SUMMARY:{escaped(f'{shift.kind}: {shift.crew}')}",
            f"LOCATION:{escaped(place)}",
            "END:VEVENT",
        ]
    return "".join(f"{folded(line)}\\r\\n" for line in [*lines, "END:VCALENDAR"])


def escaped(text):
    """Return a text with the characters escaped that mean something in iCalendar."""
    return "".join(ESCAPED.get(character, character) for character in text)


def folded(line):
    """Break a line into lines of at most LONGEST bytes; each further one begins with a blank."""
    parts, room = [""], LONGEST
    for character in line:
        size = len(character.encode("utf-8"))
        if size > room:
            parts.append(" ")
            room = LONGEST - 1
        parts[-1] += character
        room -= size
    return "\\r\\n".join(parts)
''',
        ),
    ),
    act(
        edit(
            "rota/cli.py",
            "    return calendar(shifts(plan, date.fromisoformat(first), date.fromisoformat(last)), plan.place)",
            "    found = shifts(plan, date.fromisoformat(first), date.fromisoformat(last))\n    return calendar(found, plan.place, plan.first_day)",
        ),
        bash(
            "python -m rota ics data/station.json 2025-03-29 2025-03-29 | cat -A | head -n 14; python -m rota ics data/station.json 2025-03-29 2025-03-29 | tail -c 20 | od -c | tail -n 3"
        ),
    ),
    say(
        "`print` adds a line end of its own after the last CR LF, and on some systems it would translate line ends. The calendar has to be written as it is.",
        edit(
            "rota/cli.py",
            "        print(RUN[command](load(Path(path)), *rest))\n",
            '        text = RUN[command](load(Path(path)), *rest)\n        sys.stdout.flush()\n        sys.stdout.buffer.write((text if text.endswith("\\n") else f"{text}\\n").encode("utf-8"))\n',
        ),
    ),
    act(
        bash(
            "python -m rota ics data/station.json 2025-03-29 2025-03-29 | tail -c 20 | od -c | tail -n 3; python -m rota who data/station.json '2025-01-02 03:00'; python -m pytest -q 2>&1 | tail -n 1; python -m rota list data/station.json 2025-02-30 2025-03-01 2>&1 | tail -n 1; python -m rota hours data/station.json 2025 2>&1 | tail -n 1; python -m rota nix data/station.json 2>&1 | tail -n 1"
        )
    ),
    say(
        "A test that captures output through pytest's capsys needs sys.stdout.buffer; capsys has none, capsysbinary does. Wrong dates and commands are tracebacks; PlanError exists for 'a question that makes no sense', so dates should use it.",
        edit("rota/cli.py", "date.fromisoformat(first), date.fromisoformat(last)", "_day(first), _day(last)"),
    ),
    say(
        "It is there twice, and both are meant, but each needs its surroundings for the other change anyway.",
        edit(
            "rota/cli.py",
            "def _list(plan, first, last):\n    found = shifts(plan, date.fromisoformat(first), date.fromisoformat(last))\n",
            'def _day(text):\n    try:\n        return date.fromisoformat(text)\n    except ValueError:\n        raise PlanError(f"expected a day like 2025-03-30, found {text!r}") from None\n\n\ndef _list(plan, first, last):\n    found = shifts(plan, _day(first), _day(last))\n',
        ),
        edit(
            "rota/cli.py",
            "    found = shifts(plan, date.fromisoformat(first), date.fromisoformat(last))\n    return calendar",
            "    found = shifts(plan, _day(first), _day(last))\n    return calendar",
        ),
        edit(
            "rota/cli.py",
            '    year, number = month.split("-")\n    return "\\n".join(f"{crew:<10} {worked:7.2f}" for crew, worked in sorted(hours(plan, int(year), int(number)).items()))',
            '    first = _day(f"{month}-01")\n    worked = hours(plan, first.year, first.month)\n    return "\\n".join(f"{crew:<10} {count:7.2f}" for crew, count in sorted(worked.items()))',
        ),
    ),
    act(
        bash(
            "python -m rota list data/station.json 2025-02-30 2025-03-01; python -m rota hours data/station.json 2025; python -m rota hours data/station.json 2025-03; python -m pytest -q 2>&1 | tail -n 1"
        )
    ),
]
