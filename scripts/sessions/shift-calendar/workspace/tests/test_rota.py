from datetime import date
from pathlib import Path

from rota.duty import on_duty
from rota.hours import hours
from rota.plan import load, shifts

PLAN = load(Path(__file__).parent.parent / "data" / "station.json")


def test_both_days_are_included():
    found = [s for s in shifts(PLAN, date(2025, 1, 1), date(2025, 1, 2)) if s.kind == "Tag"]
    assert [s.crew for s in found] == ["Alfa", "Bravo"]


def test_a_night_of_the_change_to_summer_time_has_eleven_hours():
    night = next(s for s in shifts(PLAN, date(2025, 3, 29), date(2025, 3, 29)) if s.kind == "Nacht")
    assert (night.end.timestamp() - night.start.timestamp()) / 3600 == 11


def test_hours_of_a_month_add_up():
    worked = hours(PLAN, 2025, 4)
    assert worked["Alfa"] + worked["Bravo"] + worked["Charlie"] == 30 * 24


def test_the_night_shift_of_yesterday_is_on_duty_in_the_morning():
    assert on_duty(PLAN, "2025-01-02 03:00") == ["Charlie", "Delta"]
