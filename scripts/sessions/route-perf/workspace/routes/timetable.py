"""Trips, read from a file."""


class Ride:
    """From one stop of a trip to the next."""

    def __init__(self, trip, start, departure, goal, arrival):
        self.trip = trip
        self.start = start
        self.departure = departure
        self.goal = goal
        self.arrival = arrival

    def __eq__(self, other):
        return self.key() == other.key()

    def __hash__(self):
        return hash(self.key())

    def key(self):
        return (self.trip, self.start, self.departure, self.goal, self.arrival)


class Timetable:
    def __init__(self):
        self.rides = []
        self.stops = []

    def add(self, ride):
        if ride not in self.rides:
            self.rides.append(ride)
        for stop in (ride.start, ride.goal):
            if stop not in self.stops:
                self.stops.append(stop)

    def rides_from(self, stop, minute):
        """Return the rides that leave a stop at a minute or later."""
        return [ride for ride in self.rides if ride.start == stop and ride.departure >= minute]


def load(path):
    """Return the timetable of a file. A row that stands there twice counts once."""
    table = Timetable()
    before = None
    for row in path.read_text("utf-8").splitlines()[1:]:
        trip, stop, arrival, departure = row.split(",")
        if before is not None and before[0] == trip:
            table.add(Ride(trip, before[1], int(before[3]), stop, int(arrival)))
        before = (trip, stop, arrival, departure)
    return table
