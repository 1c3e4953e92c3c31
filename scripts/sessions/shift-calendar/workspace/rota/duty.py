"""Who is on duty."""

from datetime import datetime

from rota.plan import PlanError, shifts


def on_duty(plan, text):
    """Return the crews on duty at a local time `YYYY-MM-DD HH:MM`."""
    try:
        moment = datetime.strptime(text, "%Y-%m-%d %H:%M").replace(tzinfo=plan.zone)
    except ValueError:
        raise PlanError(f"expected a time like 2025-03-30 03:30, found {text!r}") from None
    day = moment.date()
    return [shift.crew for shift in shifts(plan, day, day) if shift.start <= moment <= shift.end]
