"""Threads that advance one step at a time.

    with Steps() as steps:
        first = steps.thread(lambda pause: cache.get("a", lambda: pause("computing") or 1))
        first.until("computing")        # runs the thread up to that pause
        ...
        first.finish()                  # lets it go on; returns its result or raises its exception

Every wait ends after LIMIT_S seconds with an AssertionError, so a deadlock is a failure and not a hang.
"""

import threading

LIMIT_S = 5


class Steps:
    def __enter__(self):
        self._threads = []
        return self

    def thread(self, run):
        stepped = Stepped(run)
        self._threads.append(stepped)
        return stepped

    def __exit__(self, *error):
        for stepped in self._threads:
            stepped.release()


class Stepped:
    def __init__(self, run):
        self._run = run
        self._at = None
        self._change = threading.Condition()
        self._free = False
        self._done = False
        self._result = None
        self._error = None
        self._thread = threading.Thread(target=self._main, daemon=True)

    def _main(self):
        try:
            self._result = self._run(self._pause)
        except Exception as error:
            self._error = error
        with self._change:
            self._done = True
            self._change.notify_all()

    def _pause(self, name):
        with self._change:
            self._at = name
            self._change.notify_all()
            self._change.wait_for(lambda: self._free, LIMIT_S)

    def start(self):
        if not self._thread.is_alive() and not self._done:
            self._thread.start()
        return self

    def until(self, name):
        """Run up to the pause of that name."""
        self.start()
        with self._change:
            assert self._change.wait_for(lambda: self._at == name or self._done, LIMIT_S), f"never came to {name}"
            assert self._at == name, f"ended before {name}"

    def waits(self, seconds=0.2):
        """Return whether the thread is still at work after a while."""
        self.start()
        with self._change:
            return not self._change.wait_for(lambda: self._done, seconds)

    def release(self):
        with self._change:
            self._free = True
            self._change.notify_all()

    def finish(self):
        self.start()
        self.release()
        with self._change:
            assert self._change.wait_for(lambda: self._done, LIMIT_S), "the thread does not end"
        if self._error:
            raise self._error
        return self._result
