"""Data files of three systems joined into one: encodings, decimal commas, damaged lines, overflows and gaps; seven tools."""

from steps import act, agent, bash, files, plan, read, say, write

SYSTEM, TOOLS = agent("workbench")

TASK = """Please build monthly.csv for the energy report as README.md describes it, with a script `monthly.py` that I can run
again next month (`python monthly.py data monthly.csv`). Report what you had to leave out. The three values in
data/expected_may.json have to come out."""

CHECK = r"""python monthly.py data check.csv && python - <<'EOF'
import csv, json
rows = {(r['meter'], r['month']): r for r in csv.DictReader(open('check.csv', encoding='utf-8'))}
assert list(rows) == sorted(rows) and len(rows) == 18
for meter, kwh in json.load(open('data/expected_may.json')).items():
    assert float(rows[meter, '2025-05']['kwh']) == kwh, (meter, rows[meter, '2025-05'])
assert rows['A-01', '2025-06']['quality'] == 'partial'
EOF"""

STEPS = [
    act(files("/workspace"), read("README.md")),
    act(bash("cat data/expected_may.json data/meters.json")),
    act(read("data/readings_a.csv", limit=5)),
    act(bash("head -n 4 data/readings_a.csv; file data/* 2>/dev/null; head -n 4 data/readings_b.csv")),
    say(
        "readings_a.csv is not UTF-8; let me see its bytes and line ends.",
        bash("head -n 2 data/readings_a.csv | od -c | head -n 6"),
    ),
    say(
        "0xE4 for ä and CR LF: Windows-1252. Numbers have a point for thousands and a decimal comma. Are all lines of the same form?",
        bash(
            "LC_ALL=C tr -d '\\r' < data/readings_a.csv | LC_ALL=C grep -vaE '^A-0[1-3];[0-9]{2}\\.[0-9]{2}\\.2025;[0-9]{1,3}(\\.[0-9]{3})*,[0-9]$'; cut -d';' -f1 data/readings_a.csv | sort | uniq -c"
        ),
    ),
    say(
        "All lines but the header. A-01 and A-02 have fewer lines than A-03, so days are missing. Now building B.",
        bash(
            "grep -vE '^B-0[1-3],2025-[0-9]{2}-[0-9]{2},[0-9]+\\.[0-9],[0-9]{2}$' data/readings_b.csv; cut -d, -f1 data/readings_b.csv | sort | uniq -c; tail -n +2 data/readings_b.csv | sort | uniq -d | wc -l"
        ),
    ),
    say(
        "Seven damaged lines and 18 that are repeated. A cut line could still look whole if it is cut within the checksum, so I need the checksum. How is it computed? The README does not say. I will try the obvious ones.",
        bash(
            """python - <<'EOF'
import csv, zlib
rows = [r for r in csv.reader(open('data/readings_b.csv')) if len(r) == 4][1:60]
def digits(t): return sum(int(c) for c in t if c.isdigit())
tries = {
    'digit sum': lambda m, d, c: digits(m + d + c),
    'count only': lambda m, d, c: int(c.replace('.', '')),
    'bytes': lambda m, d, c: sum((m + d + c).encode()),
    'bytes with commas': lambda m, d, c: sum(f'{m},{d},{c}'.encode()),
    'crc': lambda m, d, c: zlib.crc32(f'{m},{d},{c}'.encode()),
}
for name, function in tries.items():
    for modulus in (97, 99, 100):
        hits = sum(function(*r[:3]) % modulus == int(r[3]) for r in rows)
        if hits > 5:
            print(name, modulus, hits, 'of', len(rows))
EOF"""
        ),
    ),
    say(
        "The sum of the bytes without the commas, modulo 97, fits 58 of 59. Which whole lines fail it?",
        bash(
            """python - <<'EOF'
import csv
for number, r in enumerate(csv.reader(open('data/readings_b.csv')), 1):
    if len(r) == 4 and number > 1 and sum(''.join(r[:3]).encode()) % 97 != int(r[3]):
        print(number, *r)
EOF"""
        ),
    ),
    say(
        "Those lines have a plausible form and a wrong count: 1000 too high. Do they stand beside a good line of the same day?",
        bash(
            "for k in $(awk -F, 'NF==4 {print}' data/readings_b.csv | cut -d, -f1,2 | sort | uniq -c | awk '$1 > 1 {print $2}' | head -n 40); do grep \"^$k\" data/readings_b.csv | cut -d, -f1-3 | sort -u | wc -l | grep -q '^1$' || { echo \"== $k\"; grep -n \"^$k\" data/readings_b.csv; }; done"
        ),
    ),
    say(
        "Each time the good line is there as well. So lines with a wrong checksum or a wrong form are left out, equal repeats are counted once, and two different good counts for a day would be a conflict to report. Is B in the order of time?",
        bash(
            'tail -n +2 data/readings_b.csv | awk -F, \'{k = $1; if (k == p && $2 < d) print NR + 1 ": " $0 " after " d; p = k; d = $2}\''
        ),
    ),
    say(
        "One block was written again. Order does not matter if I put the counts into a dictionary by day. Next: where does a count fall, and which days are missing?",
        bash(
            """python - <<'EOF'
import csv
from datetime import date, timedelta
counts = {}
for r in csv.reader(open('data/readings_a.csv', encoding='cp1252'), delimiter=';'):
    if r[0].startswith('A-'):
        d, m, y = map(int, r[1].split('.'))
        counts.setdefault(r[0], {})[date(y, m, d)] = float(r[2].replace('.', '').replace(',', '.'))
for r in csv.reader(open('data/readings_b.csv')):
    if len(r) == 4 and r[0] != 'meter' and sum(''.join(r[:3]).encode()) % 97 == int(r[3]):
        counts.setdefault(r[0], {})[date.fromisoformat(r[1])] = float(r[2])
for meter, by_day in sorted(counts.items()):
    days = sorted(by_day)
    print(meter, days[0], days[-1], len(days))
    for a, b in zip(days, days[1:]):
        if by_day[b] < by_day[a]:
            print('   falls', a, by_day[a], '->', b, by_day[b])
        if (b - a).days > 1:
            print('   gap', a, '->', b, (b - a).days, 'days')
EOF"""
        ),
    ),
    say(
        "That is the whole picture: one overflow (A-02, 99.990,1 → 24,5), one replacement (A-03 on 14 May), and gaps of various lengths. Damaged lines of B have mostly been written correctly as well. "
        'Questions the README leaves open: a `gap of up to 3 days between readings` - is that a distance of 3 between readings, or 3 missing readings? I read it as the distance between two readings ("between readings"). '
        "A-02 from 10 to 13 April has distance 3, from 29 May to 2 June 4; with the other reading the second would be estimated too. I will note it.",
        plan(
            "> readers for A and B with reasons for what is left out",
            "- consumption per day",
            "- months, quality, output",
            "- compare with expected_may.json and by hand",
            "- tests",
        ),
    ),
    act(
        write(
            "monthly.py",
            '''"""Join the readings of all meters into consumption per month.

    python monthly.py FOLDER OUTPUT.csv

What is left out is reported on stderr.
"""

import csv
import json
import re
import sys
from collections import defaultdict
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

OVERFLOW = Decimal(100_000)
LONGEST_GAP = 3
DAY = timedelta(days=1)


@dataclass
class Meter:
    building: str
    room: str
    factor: Decimal
    replacements: dict  # day → (last count of the old meter, first of the new one)


def read_meters(path):
    """Return meter → Meter."""
    return {
        row["meter"]: Meter(
            row["building"],
            row["room"],
            Decimal(row["factor"]),
            {
                date.fromisoformat(old["date"]): (Decimal(str(old["old_last"])), Decimal(str(old["new_first"])))
                for old in row["replacements"]
            },
        )
        for row in json.loads(path.read_text("utf-8"))
    }


def rows_of_a(path):
    """Yield (line, meter, day, count) of building A; Windows-1252, 31.12.2025, 1.234,5."""
    with path.open(encoding="cp1252", newline="") as file:
        for number, row in enumerate(csv.reader(file, delimiter=";"), start=1):
            if number == 1:
                continue
            found = re.fullmatch(r"(\\d\\d)\\.(\\d\\d)\\.(\\d{4})", row[1])
            day = date(*map(int, found.group(3, 2, 1)))
            yield number, row[0], day, Decimal(row[2].replace(".", "").replace(",", "."))


def rows_of_b(path, leave_out):
    """Yield (line, meter, day, count) of building B, whose lines end in a checksum."""
    with path.open(encoding="utf-8", newline="") as file:
        for number, line in enumerate(file.read().splitlines(), start=1):
            if number == 1:
                continue
            row = line.split(",")
            if len(row) != 4 or not re.fullmatch(r"\\d\\d", row[3]):
                leave_out(f"{path.name}:{number}: damaged line {line!r}")
            elif sum("".join(row[:3]).encode()) % 97 != int(row[3]):
                leave_out(f"{path.name}:{number}: wrong checksum in {line!r}")
            else:
                yield number, row[0], date.fromisoformat(row[1]), Decimal(row[2])


def collect(rows, name, leave_out):
    """Return meter → day → count. A day with two different counts is left out."""
    counts = defaultdict(dict)
    conflicts = set()
    for number, meter, day, count in rows:
        if counts[meter].setdefault(day, count) != count:
            leave_out(f"{name}:{number}: {meter} has two counts for {day}")
            conflicts.add((meter, day))
    for meter, day in conflicts:
        del counts[meter][day]
    return counts


def consumption(counts, meter, name, leave_out):
    """Return day → (kWh, whether it was divided) for the counts of a meter."""
    found = {}
    days = sorted(counts)
    for start, end in zip(days, days[1:]):
        length = (end - start).days
        if length > LONGEST_GAP:
            leave_out(f"{name}: no reading between {start} and {end}")
            continue
        used = difference(counts[start], counts[end], meter.replacements.get(end))
        if used is None:
            leave_out(f"{name}: the count falls from {counts[start]} to {counts[end]} on {end}")
            continue
        for number in range(length):
            found[start + number * DAY] = used * meter.factor / length, length > 1
    return found


def difference(before, after, replacement):
    """Return what was counted between two readings, None where that cannot be known."""
    if replacement:
        old_last, new_first = replacement
        return old_last - before + after - new_first
    if after >= before:
        return after - before
    if before > OVERFLOW * 9 / 10 and after < OVERFLOW / 10:
        return after + OVERFLOW - before
    return None


def days_of(year, month):
    first = date(year, month, 1)
    following = date(year + month // 12, month % 12 + 1, 1)
    return [first + number * DAY for number in range((following - first).days)]


def monthly_rows(name, meter, used):
    """Yield a row for each month from the first to the last day with a consumption."""
    months = sorted({(day.year, day.month) for day in used})
    for year, month in months:
        days = [used[day] for day in days_of(year, month) if day in used]
        if len(days) < len(days_of(year, month)):
            quality = "partial"
        else:
            quality = "estimated" if any(divided for _, divided in days) else "complete"
        kwh = sum(amount for amount, _ in days)
        yield [name, meter.building, meter.room, f"{year}-{month:02d}", f"{kwh:.1f}", len(days), quality]


def main(folder, output):
    left_out = []
    meters = read_meters(folder / "meters.json")
    counts = {
        **collect(rows_of_a(folder / "readings_a.csv"), "readings_a.csv", left_out.append),
        **collect(rows_of_b(folder / "readings_b.csv", left_out.append), "readings_b.csv", left_out.append),
    }
    with output.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\\n")
        writer.writerow(["meter", "building", "room", "month", "kwh", "days", "quality"])
        for name in sorted(counts):
            used = consumption(counts[name], meters[name], name, left_out.append)
            writer.writerows(monthly_rows(name, meters[name], used))
    print(*left_out, sep="\\n", file=sys.stderr)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
''',
        ),
    ),
    act(bash("python monthly.py data monthly.csv; echo; cat monthly.csv")),
    say(
        "It runs. The last reading is at midnight on 1 July and belongs to 30 June, so there is no month 2025-07, as it should be. Compare with the three known values.",
        bash(
            """python - <<'EOF'
import csv, json
rows = {(r['meter'], r['month']): r for r in csv.DictReader(open('monthly.csv', encoding='utf-8'))}
for meter, kwh in json.load(open('data/expected_may.json')).items():
    got = rows[meter, '2025-05']
    print(meter, 'expected', kwh, 'got', got['kwh'], got['days'], got['quality'], '' if float(got['kwh']) == kwh else '<-- differs')
EOF"""
        ),
    ),
    say(
        "All three fit, among them the replaced meter and one with a missing day. The replacement by hand, to be sure it is not luck:",
        bash(
            "grep -a 'A-03;1[2345].05' data/readings_a.csv; grep -A6 'A-03' data/meters.json | tail -n 3; grep -A3 old_last data/meters.json"
        ),
    ),
    say(
        "13 May: old_last − count of the 13th, plus 12,0 − 12,0. Right. Now the gaps at the month boundary: B-03 has no reading on 29 and 30 April, so 28 April to 1 May is divided, all three days in April.",
        bash("grep -E '^B-03,2025-0(4-2[789]|4-30|5-01)' data/readings_b.csv; grep B-03 monthly.csv"),
    ),
    say(
        "And the overflow of A-02 with its neighbours.",
        bash("""python - <<'EOF'
from pathlib import Path
import monthly as m
notes = []
counts = m.collect(m.rows_of_a(Path('data/readings_a.csv')), 'a', notes.append)['A-02']
used = m.consumption(counts, m.read_meters(Path('data/meters.json'))['A-02'], 'A-02', notes.append)
for day, (kwh, divided) in used.items():
    if '2025-04-09' <= str(day) <= '2025-04-14' or '2025-04-26' <= str(day) <= '2025-04-30' or '2025-05-27' <= str(day) <= '2025-06-03':
        print(day, f'{kwh:.2f}', 'divided' if divided else '')
EOF"""),
    ),
    say(
        "34.4 across the overflow is like its neighbours, and the five-digit counter has 100,000 states (99999 → 0), so adding 100,000 is right. The four days at the end of May are missing as decided.\n"
        "My rule for an overflow (above 90,000 to below 10,000) is an assumption; a meter set back from 95,000 to 5,000 would count as one. The README wants 'an overflow of a five-digit counter', with no bounds. It is stricter than taking every fall. I keep it.",
        plan(
            "x readers for A and B with reasons for what is left out",
            "x consumption per day",
            "x months, quality, output",
            "x compare with expected_may.json and by hand",
            "> tests",
        ),
    ),
]
