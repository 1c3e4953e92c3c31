"""The search."""

CHANGE = 3


def earliest(table, start, goal, minute):
    """Return the rides of a connection that arrives first, None if there is none.

    Changing takes CHANGE minutes, staying on a trip none. Of connections that arrive at the same minute the one with
    fewer changes is returned, then the one whose trips come first in the alphabet.
    """
    best = {}
    queue = [(minute, 0, [], start, None)]
    while queue:
        queue = sorted(queue, key=lambda entry: (entry[0], entry[1], [ride.trip for ride in entry[2]]))
        now, changes, rides, stop, trip = queue[0]
        queue = queue[1:]
        if stop == goal:
            return rides
        if (stop, trip) in best:
            continue
        best[(stop, trip)] = now
        for ride in table.rides_from(stop, now):
            stays = trip is None or ride.trip == trip
            if stays or ride.departure >= now + CHANGE:
                queue = queue + [(ride.arrival, changes + (0 if stays else 1), rides + [ride], ride.goal, ride.trip)]
    return None


def text_of(rides):
    """Return a connection as text, one line per trip."""
    if rides is None:
        return "no connection"
    lines = []
    for ride in rides:
        if lines and lines[-1][0] == ride.trip:
            lines[-1][3:] = [ride.goal, ride.arrival]
        else:
            lines.append([ride.trip, ride.start, ride.departure, ride.goal, ride.arrival])
    return "\n".join(
        f"{trip:<6} {_clock(departure)} {start} → {_clock(arrival)} {goal}" for trip, start, departure, goal, arrival in lines
    )


def _clock(minute):
    return f"{minute // 60:02d}:{minute % 60:02d}"
