"""Mean and variance of a stream."""


class Running:
    def __init__(self):
        self.count = 0
        self.total = 0.0
        self.squares = 0.0

    def add(self, value):
        self.count += 1
        self.total += value
        self.squares += value * value

    @property
    def mean(self):
        return self.total / self.count

    @property
    def variance(self):
        """Return the variance of the sample."""
        return (self.squares - self.total * self.total / self.count) / (self.count - 1)
