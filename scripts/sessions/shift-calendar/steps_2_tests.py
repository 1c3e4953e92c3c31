"""The session goes on: the tests."""

from steps import act, bash, edit, files, plan, say, write

STEPS = [
    say(
        "Now the tests for the rules.",
        plan(
            "x plan.py: days, rhythm, ends, UTC",
            "x hours by month, split",
            "x who: gaps, doubles, yesterday",
            "x ics: UTC, folding, escaping, ids",
            "> tests for the rules",
        ),
        write(
            "tests/test_rules.py",
            """from dataclasses import replace
from datetime import date, time
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from rota.cli import main
from rota.duty import on_duty
from rota.hours import hours
from rota.ics import calendar, escaped, folded
from rota.plan import Kind, Plan, PlanError, load, shifts

STATION = Path(__file__).parent.parent / "data" / "station.json"
BERLIN = ZoneInfo("Europe/Berlin")


def one(start, end, crews=("A",), zone=BERLIN):
    return Plan(zone, date(2025, 1, 1), (Kind("x", time.fromisoformat(start), time.fromisoformat(end), crews),), "here")


def length(plan, day):
    shift = next(shifts(plan, day, day))
    return (shift.end - shift.start).total_seconds() / 3600


@pytest.mark.parametrize(
    ("start", "end", "day", "expected"),
    [
        ("19:00", "07:00", date(2025, 3, 29), 11),
        ("19:00", "07:00", date(2025, 10, 25), 13),
        ("06:00", "06:00", date(2025, 3, 29), 23),
        ("06:00", "06:00", date(2025, 5, 1), 24),
        ("07:00", "19:00", date(2025, 3, 30), 12),
    ],
)
def test_hours_are_real_hours(start, end, day, expected):
    assert length(one(start, end), day) == expected


def test_the_rhythm_goes_on_before_its_first_day():
    plan = one("07:00", "19:00", ("A", "B", "C"))
    assert [s.crew for s in shifts(plan, date(2024, 12, 30), date(2025, 1, 2))] == ["B", "C", "A", "B"]


def test_a_night_at_the_turn_of_the_month_is_split():
    plan = one("19:00", "07:00", ("A", *["B"] * 30))
    plan = replace(plan, first_day=date(2025, 4, 30))
    assert hours(plan, 2025, 4)["A"] == 5
    assert hours(plan, 2025, 5)["A"] == 7 + 5


@pytest.mark.parametrize(("month", "expected"), [(1, 744), (2, 672), (3, 743), (10, 745), (12, 744)])
def test_a_month_has_all_its_hours(month, expected):
    assert sum(hours(one("06:00", "06:00"), 2025, month).values()) == expected


def test_a_month_that_begins_with_a_change_of_the_clocks_is_counted():
    zone = ZoneInfo("Asia/Amman")
    assert sum(hours(one("06:00", "06:00", zone=zone), 2011, 4).values()) == 719


@pytest.mark.parametrize(
    ("moment", "crews"),
    [("2025-01-02 18:59", []), ("2025-01-02 19:00", ["B"]), ("2025-01-03 06:59", ["B"]), ("2025-01-03 07:00", [])],
)
def test_a_shift_contains_its_start_and_not_its_end(moment, crews):
    assert on_duty(one("19:00", "07:00", ("A", "B", "C")), moment) == crews


def test_a_time_that_does_not_exist_is_refused():
    with pytest.raises(PlanError, match="2025-03-30 02:30 does not exist in Europe/Berlin"):
        on_duty(one("19:00", "07:00"), "2025-03-30 02:30")


def test_a_time_that_exists_twice_means_the_first():
    plan = one("02:45", "02:50")
    shift = next(shifts(plan, date(2025, 10, 26), date(2025, 10, 26)))
    assert f"{shift.start:%H:%M}" == "00:45"
    assert on_duty(plan, "2025-10-26 02:45") == ["A"]


def test_the_calendar_has_utc_times_and_crlf():
    text = calendar(shifts(load(STATION), date(2025, 3, 29), date(2025, 3, 29)), "Hof", date(2025, 1, 1))
    assert "DTSTART:20250329T180000Z\\r\\nDTEND:20250330T050000Z\\r\\n" in text
    assert text.endswith("END:VCALENDAR\\r\\n")
    assert len(set(line for line in text.split("\\r\\n") if line.startswith("UID:"))) == 3


def test_texts_are_escaped():
    assert escaped("a,b;c\\\\d\\ne") == "a\\\\,b\\\\;c\\\\\\\\d\\\\ne"


def test_lines_are_folded_at_75_bytes_and_never_within_a_letter():
    line = "LOCATION:" + "ä" * 100
    parts = folded(line).split("\\r\\n")
    assert [len(part.encode()) for part in parts] == [75, 75, 63]
    assert parts[0] + "".join(part[1:] for part in parts[1:]) == line


def test_questions_that_make_no_sense_are_answered_in_a_line(capsysbinary):
    for arguments in (["list", str(STATION), "2025-02-30", "2025-03-01"], ["hours", str(STATION), "2025"], ["who", str(STATION), "now"]):
        assert main(arguments) == 1
        assert capsysbinary.readouterr().err.startswith(b"rota: expected a ")


def test_the_command_line_writes_the_calendar_as_it_is(capsysbinary):
    assert main(["ics", str(STATION), "2025-03-29", "2025-03-29"]) == 0
    out = capsysbinary.readouterr().out
    assert out.endswith(b"END:VCALENDAR\\r\\n")
    assert max(len(line) for line in out.split(b"\\r\\n")) <= 75
""",
        ),
    ),
    act(bash("python -m pytest -q 2>&1 | grep -E '^E  |^FAILED|passed|failed' | cut -c1-150")),
    say(
        "One fails. I will look at the numbers before I call the code or the test wrong.",
        bash(
            "python - <<'EOF'\nfrom rota.ics import folded\nprint([len(p.encode()) for p in folded('LOCATION:' + 'ä' * 100).split('\\r\\n')])\nfrom datetime import date, time\nfrom zoneinfo import ZoneInfo\nfrom rota.hours import hours\nfrom rota.plan import Kind, Plan\nplan = Plan(ZoneInfo('Asia/Amman'), date(2025, 1, 1), (Kind('x', time(6), time(6), ('A',)),), '')\nprint(hours(plan, 2011, 4), hours(plan, 2011, 3))\nEOF"
        ),
    ),
    say(
        "My arithmetic was wrong, not the code: 9 bytes and 33 letters fill the first line, a blank and 37 letters the second, and 30 letters are left, 61 bytes with the blank.",
        edit("tests/test_rules.py", "== [75, 75, 63]", "== [75, 75, 61]"),
    ),
    act(
        bash(
            "python -m pytest -q 2>&1 | tail -n 1; python -m rota list data/station.json 2025-03-29 2025-03-30; python -m rota hours data/station.json 2025-03"
        ),
        plan(
            "x plan.py: days, rhythm, ends, UTC",
            "x hours by month, split",
            "x who: gaps, doubles, yesterday",
            "x ics: UTC, folding, escaping, ids",
            "x tests for the rules",
        ),
    ),
    act(files("/workspace", glob="*.py")),
    say(
        "All four commands follow the rules; the existing tests pass, and tests/test_rules.py holds one test per rule.\n\n"
        "- The common cause: Python compares and subtracts datetimes of one zone by the wall clock. Shifts now hold UTC times (`in_utc` in plan.py), and output converts back.\n"
        "- plan.py: the last day is included, the rhythm goes on before first_day, a shift from 06:00 to 06:00 has a day.\n"
        "- hours.py: December works, hours are split at the month's end; March 2025 has 743 hours per post, October 745.\n"
        "- duty.py: shifts of the evening before count, the end does not; 02:30 on 30 March is refused.\n"
        "- ics.py: real UTC times, CR LF, folding by bytes, escaping, stable ids.\n\n"
        "To check: events carry DTSTAMP, which iCalendar requires, set to the plan's first day, since there is no time of the last change. Subscribers will see all events as new once, because the ids changed."
    ),
]
