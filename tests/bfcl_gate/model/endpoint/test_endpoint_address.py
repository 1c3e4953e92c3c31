import pytest

from bfcl_gate.errors import InputError
from bfcl_gate.model.endpoint_engine import address_of


@pytest.mark.parametrize(
    ("url", "chat", "root"),
    [
        ("http://device:8080", "http://device:8080/v1/chat/completions", "http://device:8080"),
        ("http://device:8080/", "http://device:8080/v1/chat/completions", "http://device:8080"),
        ("http://device/v1", "http://device/v1/chat/completions", "http://device"),
        ("http://device/v1/chat/completions", "http://device/v1/chat/completions", "http://device"),
        ("https://device/openai/v1/", "https://device/openai/v1/chat/completions", "https://device/openai"),
        ("http://device/api/v3", "http://device/api/v3/chat/completions", "http://device/api/v3"),
        ("http://[::1]:8080", "http://[::1]:8080/v1/chat/completions", "http://[::1]:8080"),
    ],
)
def test_a_url_may_name_the_server_the_api_or_the_very_path(url: str, chat: str, root: str) -> None:
    address = address_of(url, None)
    assert (address.chat, address.root) == (chat, root)


@pytest.mark.parametrize(
    "url",
    [
        "device:8080",
        "ftp://device",
        "http://",
        "http://user:secret@device",
        "http://device/?key=secret",
        "http://device/#here",
        "http://device:port",
        "http://device:99999",
        "http://[::1",
        "http://dev ice",
        "http://device/\x1b[31m",
    ],
)
def test_other_urls_are_refused_without_repeating_what_they_hold(url: str) -> None:
    with pytest.raises(InputError, match=r"^--endpoint: .*expected the address") as caught:
        address_of(url, None)
    assert "secret" not in str(caught.value)


def test_the_key_comes_from_the_variable_and_is_shown_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEVICE_KEY", "sk-secret\n")
    address = address_of("http://device", "DEVICE_KEY")
    assert address.headers == {"Authorization": "Bearer sk-secret"}
    assert "sk-secret" not in repr(address)
    assert address_of("http://device", None).headers == {}


@pytest.mark.parametrize("value", ["", "  ", "two words", "line\nbreak", "schlüssel"])
def test_a_variable_that_holds_no_key_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("DEVICE_KEY", value)
    with pytest.raises(InputError, match=r"^--api-key-env DEVICE_KEY") as caught:
        address_of("http://device", "DEVICE_KEY")
    assert not value.strip() or value not in str(caught.value)


def test_a_variable_that_is_not_set_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEVICE_KEY", raising=False)
    with pytest.raises(InputError, match="not set"):
        address_of("http://device", "DEVICE_KEY")


def test_words_of_a_server_lose_key_and_address_and_are_short() -> None:
    discretion = address_of("http://device.lan:8080", None).discretion
    assert discretion.quote("no\n such model\tat device.lan:8080, device.lan") == "no such model at ***, ***"
    assert len(discretion.quote("x" * 500)) == 200
