"""iCalendar."""


def calendar(shifts, place):
    """Return shifts as an iCalendar text."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//rota//DE"]
    for number, shift in enumerate(shifts):
        lines += [
            "BEGIN:VEVENT",
            f"UID:{number}@rota",
            f"DTSTART:{shift.start:%Y%m%dT%H%M%SZ}",
            f"DTEND:{shift.end:%Y%m%dT%H%M%SZ}",
            f"SUMMARY:{shift.kind}: {shift.crew}",
            f"LOCATION:{place}",
            "END:VEVENT",
        ]
    return "\n".join([*lines, "END:VCALENDAR"])
