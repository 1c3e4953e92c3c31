"""The error tree; `main()` of a command turns an error into its exit code, nothing else does.

EdgeAgenticError        never raised itself
├── InputError          what the user gave cannot be used (exit 2)
│   └── ContextOverflowError   a prompt is larger than the context (exit 2)
├── EngineError         the engine or server is gone or refuses (exit 3)
└── SourceError         a model or data source cannot be reached, written or trusted (exit 3)

A failed gate and an invalid run are results, not errors: they are returned with their numbers (exit 1).
"""


class EdgeAgenticError(Exception):
    """Base of every error this distribution raises on purpose; the message is one paragraph for the user."""

    exit_code = 3


class InputError(EdgeAgenticError):
    """Bad input or usage: says what, where, what was expected and what to do."""

    exit_code = 2


class ContextOverflowError(InputError):
    """A prompt (and its answer) does not fit the context."""


class EngineError(EdgeAgenticError):
    """The engine cannot answer any more, so no verdict can be reached."""


class SourceError(EdgeAgenticError):
    """A model or data set could not be fetched, stored or verified."""
