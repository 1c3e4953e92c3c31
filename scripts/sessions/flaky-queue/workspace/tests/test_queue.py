import pytest

from jobqueue import Queue, Retry, handler
from jobqueue.handlers import HANDLERS, find


class Clock:
    def __init__(self):
        self.now = 100.0
        self.slept = []

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def queue(clock):
    return Queue(clock=clock, sleep=clock.sleep)


@pytest.fixture
def ran():
    names = []

    @handler("note")
    def note(payload):
        names.append(payload)

    return names


def test_jobs_run_in_the_order_they_were_put(queue, ran):
    for name in "abc":
        queue.put("note", name)
    queue.run_until_idle()
    assert "".join(ran) == "abc"


def test_a_higher_priority_runs_first(queue, ran):
    queue.put("note", "low")
    queue.put("note", "high", priority=5)
    queue.run_until_idle()
    assert ran == ["high", "low"]


def test_a_job_with_a_delay_waits(queue, ran, clock):
    queue.put("note", "late", delay=3)
    queue.put("note", "now")
    queue.run_until_idle()
    assert (ran, clock.slept) == (["now", "late"], [3.0])


def test_pauses_double(queue, clock):
    @handler("broken")
    def broken(payload):
        raise Retry

    queue.put("broken")
    queue.run_until_idle()
    assert clock.slept == [1, 2, 4]


def test_the_longest_prefix_is_used():
    functions = {"mail.": len, "mail.list.": str}
    for name in set(functions):
        handler(name)(functions[name])
    assert find("mail.list.may") is str


def test_a_prefix_is_found():
    HANDLERS.clear()
    handler("mail.")(len)
    assert find("mail.x") is len


def test_an_unknown_name_is_an_error():
    with pytest.raises(KeyError, match=r"mail\.x"):
        find("mail.x")


def test_the_report_is_alphabetical(queue, ran):
    handler("ping")(lambda payload: None)
    queue.put("ping", tags={"slow", "net", "cheap"})
    queue.put("note", "x", tags={"net"})
    queue.run_until_idle()
    assert queue.report() == "note: 1 added, 1 done\nping: 1 added, 1 done\ntags: cheap, net, slow"
