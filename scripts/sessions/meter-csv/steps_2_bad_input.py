"""The session goes on: worse input, and the tests."""

from steps import act, bash, edit, files, plan, read, say, write

STEPS = [
    say(
        "What if the script meets input that is worse than this one? A meter that meters.json does not know, a header only, a broken line in A, a repeated month in which nothing was measured.",
        bash(
            r"""try() { python monthly.py probe out.csv 2>&1 | tail -n 2; echo "exit $?"; }
rm -rf probe; cp -r data probe; printf 'C-09;01.05.2025;12,0\r\n' >> probe/readings_a.csv; try
rm -rf probe; cp -r data probe; printf 'A-01;32.05.2025;12,0\r\n' >> probe/readings_a.csv; try
rm -rf probe; cp -r data probe; printf 'A-01;02.07.2025;\r\n' >> probe/readings_a.csv; try
rm -rf probe; cp -r data probe; head -n 1 data/readings_b.csv > probe/readings_b.csv; try; cut -d, -f1 out.csv | sort | uniq -c | tail -n 4
rm -rf probe out.csv"""
        ),
    ),
    say(
        "Building A has no protection: bad dates, counts and short lines are tracebacks, unknown meters a KeyError. They should be left out and reported like those of B. I also wrote the exit code of `tail`, not of the script; next time with pipefail.",
        edit(
            "monthly.py",
            '''def rows_of_a(path):
    """Yield''',
            '''def rows_of_a(path, leave_out):
    """Yield''',
        ),
    ),
    act(
        edit(
            "monthly.py",
            """            found = re.fullmatch(r"(\\d\\d)\\.(\\d\\d)\\.(\\d{4})", row[1])
            day = date(*map(int, found.group(3, 2, 1)))
            yield number, row[0], day, Decimal(row[2].replace(".", "").replace(",", "."))
""",
            """            try:
                meter, day, count = row
                day = datetime.strptime(day, "%d.%m.%Y").date()
                count = Decimal(count.replace(".", "").replace(",", "."))
            except (ValueError, InvalidOperation):
                leave_out(f"{path.name}:{number}: damaged line {';'.join(row)!r}")
                continue
            yield number, meter, day, count
""",
        )
    ),
    act(
        edit(
            "monthly.py",
            "from datetime import date, timedelta\nfrom decimal import Decimal\n",
            "from datetime import date, datetime, timedelta\nfrom decimal import Decimal, InvalidOperation\n",
        ),
        edit(
            "monthly.py",
            'rows_of_a(folder / "readings_a.csv"), "readings_a.csv"',
            'rows_of_a(folder / "readings_a.csv", left_out.append), "readings_a.csv"',
        ),
    ),
    say(
        "For B the form of the date and the count is not checked either, but a line with a right checksum and a wrong date is hardly possible; still, one `try` for both keeps it even. I will restructure: both yield texts, and one function parses.",
        read("monthly.py", offset=48, limit=52),
    ),
    act(
        edit(
            "monthly.py",
            """            else:
                yield number, row[0], date.fromisoformat(row[1]), Decimal(row[2])
""",
            """            else:
                try:
                    yield number, row[0], date.fromisoformat(row[1]), Decimal(row[2])
                except (ValueError, InvalidOperation):
                    leave_out(f"{path.name}:{number}: damaged line {line!r}")
""",
        )
    ),
    act(
        edit(
            "monthly.py",
            "        for name in sorted(counts):\n",
            '        for name in sorted(counts):\n            if name not in meters:\n                left_out.append(f"{name}: not in meters.json, {len(counts[name])} readings")\n                continue\n',
        ),
        bash(
            r"""set -o pipefail; try() { python monthly.py probe out.csv 2>&1 | tail -n 2; echo "exit $?"; }
rm -rf probe; cp -r data probe; printf 'C-09;01.05.2025;12,0\r\n' >> probe/readings_a.csv; try
rm -rf probe; cp -r data probe; printf 'A-01;32.05.2025;12,0\r\nA-01;02.07.2025;\r\nA-01\r\n\r\n' >> probe/readings_a.csv; try
rm -rf probe out.csv; python monthly.py data out.csv 2> notes.txt; cmp out.csv monthly.csv && echo 'same result'; wc -l < notes.txt"""
        ),
    ),
    say(
        "Now tests, with a folder built from a few lines each.",
        write(
            "test_monthly.py",
            """import json
from datetime import date
from decimal import Decimal as D

import monthly

METER = monthly.Meter("A", "Küche", D(1), {})


def line_of_b(meter, day, count):
    return f"{meter},{day},{count},{sum(f'{meter}{day}{count}'.encode()) % 97:02d}"


def used(counts, meter=METER):
    notes = []
    by_day = {date(2025, 4, day): D(str(count)) for day, count in counts.items()}
    return {day.day: kwh for day, (kwh, _) in monthly.consumption(by_day, meter, "m", notes.append).items()}, notes


def test_consumption_is_the_difference_to_the_next_midnight():
    assert used({1: 10, 2: 12.5, 3: 12.5}) == ({1: D("2.5"), 2: 0}, [])


def test_the_factor_is_applied():
    assert used({1: 10, 2: 12.5}, monthly.Meter("A", "", D(10), {}))[0] == {1: 25}


def test_a_gap_of_three_days_is_divided_and_one_of_four_is_not():
    assert used({1: 10, 4: 16})[0] == {1: 2, 2: 2, 3: 2}
    assert used({1: 10, 5: 16}) == ({}, ["m: no reading between 2025-04-01 and 2025-04-05"])


def test_a_five_digit_counter_overflows():
    assert used({1: 99990, 2: 24.5})[0] == {1: D("34.5")}


def test_a_count_that_falls_otherwise_is_left_out():
    assert used({1: 500, 2: 20}) == ({}, ["m: the count falls from 500 to 20 on 2025-04-02"])


def test_a_replacement_counts_both_meters():
    meter = monthly.Meter("A", "", D(1), {date(2025, 4, 2): (D(505), D(12))})
    assert used({1: 500, 2: 12, 3: 20}, meter)[0] == {1: 5, 2: 8}


def test_damaged_lines_are_left_out_with_their_number(tmp_path):
    path = tmp_path / "b.csv"
    good = line_of_b("B-01", "2025-04-01", "7.0")
    path.write_text("\\n".join(["head", good, good[:-1], "B-01,2025-04-01,1007.0,20", good]), "utf-8")
    notes = []
    rows = list(monthly.rows_of_b(path, notes.append))
    assert [number for number, *_ in rows] == [2, 5]
    assert [note.split(" ")[0] for note in notes] == ["b.csv:3:", "b.csv:4:"]


def test_two_counts_for_a_day_are_a_conflict():
    notes = []
    day = date(2025, 4, 1)
    assert monthly.collect([(2, "m", day, D(1)), (3, "m", day, D(2))], "b", notes.append) == {"m": {}}
    assert notes == ["b:3: m has two counts for 2025-04-01"]


def test_a_month_is_complete_estimated_or_partial():
    days = {day: (D(1), False) for day in monthly.days_of(2025, 4)}
    assert list(monthly.monthly_rows("m", METER, days)) == [["m", "A", "Küche", "2025-04", "30.0", 30, "complete"]]
    days[date(2025, 4, 9)] = D(1), True
    assert [row[-1] for row in monthly.monthly_rows("m", METER, days)] == ["estimated"]
    del days[date(2025, 4, 30)]
    assert [row[-2:] for row in monthly.monthly_rows("m", METER, days)] == [[29, "partial"]]


def test_december_ends_with_the_year():
    assert monthly.days_of(2025, 12)[-1] == date(2025, 12, 31)


def test_the_export_of_building_a_is_read_as_it_is_written(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("Zähler;Datum;Stand\\r\\nA-01;01.04.2025;82.310,5\\r\\nA-01;31.04.2025;1,0\\r\\n".encode("cp1252"))
    notes = []
    assert list(monthly.rows_of_a(path, notes.append)) == [(2, "A-01", date(2025, 4, 1), D("82310.5"))]
    assert notes == ["a.csv:3: damaged line 'A-01;31.04.2025;1,0'"]
""",
        ),
    ),
    act(bash("python -m pytest -q 2>&1 | tail -n 12")),
    say(
        "The line I made up as a wrong one carries the right checksum by chance: 20 is what the bytes of B-01, the day and 1007.0 give.",
        bash("python -c \"print(sum(b'B-012025-04-011007.0') % 97)\""),
    ),
    act(edit("test_monthly.py", '"B-01,2025-04-01,1007.0,20"', '"B-01,2025-04-01,1007.0,21"')),
    say(
        "An unused import is left in the tests (json) as well.",
        edit("test_monthly.py", "import json\nfrom datetime", "from datetime"),
    ),
    act(
        bash(
            "python -m pytest -q 2>&1 | tail -n 1; python monthly.py data monthly.csv 2> notes.txt; cat monthly.csv; cut -d: -f1,3- notes.txt | sort | cut -c1-60 | uniq -c | sort -rn | head -n 20"
        )
    ),
    act(
        bash("rm -rf out.csv notes.txt __pycache__"),
        files("/workspace"),
        plan(
            "x readers for A and B with reasons for what is left out",
            "x consumption per day",
            "x months, quality, output",
            "x compare with expected_may.json and by hand",
            "x tests",
        ),
    ),
    say(
        "monthly.csv is there: 18 rows, six meters over April to June. The three values of the caretaker come out exactly (A-01 2290.0, A-03 545.9, B-02 567.0).\n\n"
        "Left out, each reported on stderr with its line: damaged lines of readings_b.csv and lines with a wrong checksum (counts 1000 too high; the good line of that day was there each time). Without consumption: "
        "A-01 from 9 to 15 June and A-02 from 29 May to 1 June, gaps longer than 3 days; these months are `partial`. Months with shorter gaps are `estimated`.\n\n"
        "Decisions to check:\n"
        "- The checksum is not documented; the sum of the bytes modulo 97 fits every undamaged line.\n"
        "- 'A gap of up to 3 days' is the distance between two readings. If you mean three missing readings, set LONGEST_GAP to 4; then A-02 would be estimated at the turn of May.\n"
        "- An overflow is a fall from above 90,000 to below 10,000.\n\n"
        "test_monthly.py has 11 tests; all pass."
    ),
]
