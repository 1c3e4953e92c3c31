"""Keys in the order of their last use."""


class Order:
    def __init__(self):
        self._keys = []

    def touch(self, key):
        """Make a key the one used last."""
        if key in self._keys:
            self._keys.remove(key)
        self._keys.append(key)

    def pop_oldest(self):
        """Remove and return the key used longest ago."""
        return self._keys.pop(0)

    def discard(self, key):
        if key in self._keys:
            self._keys.remove(key)
