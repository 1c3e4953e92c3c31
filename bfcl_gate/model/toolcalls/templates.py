"""Which tool-call syntax a chat template asks for, told from the template's text."""

_MARKERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("mistral", ("[TOOL_CALLS]",)),
    ("gpt-oss", ("<|channel|>", "<|message|>")),
    ("functionary", (">>>all", ">>>${recipient}")),
    ("kimi", ("<|tool_calls_section_begin|>", "<|tool_call_begin|>")),
    ("lfm2", ("<|tool_call_start|>",)),
    ("lfm2", ("<|tool_list_start|>",)),
    ("lfm2", ("List of tools: [",)),
    ("minimax", ("]<]minimax[>[",)),
    ("deepseek", ("DSML",)),
    ("gemma", ("<|tool_call>call:",)),
    ("gemma", ("<start_function_call>",)),
    ("qwen-xml", ("<tool_call>", "<function=", "<parameter=")),
    ("minimax", ("<minimax:tool_call>",)),
    ("minimax", ("<tool_calls>",)),
    ("glm", ("<arg_key>", "<arg_value>")),
    ("deepseek", ("<｜tool▁calls▁begin｜>",)),
    ("cohere", ("<|START_ACTION|>",)),
    ("cohere", ("Action:", "tool_name")),
    ("nemotron", ("<TOOLCALL>",)),
    ("phi4", ("<|/tool_call|>",)),
    ("phi4", ("<|/tool|>",)),
    ("phi4", ("functools[",)),
    ("granite", ("<|tool_call|>",)),
    ("hermes", ("<tool_call>",)),
    ("functionary", ("<|start_header_id|>", "<function=", "</function>")),
    ("pythonic", ("<|python_start|>",)),
    ("llama3-json", ("<|start_header_id|>", '"parameters"')),
)
"""Family and what must all stand in the template; the first that fits decides."""


def syntax_of_template(template_text: str) -> str:
    """Return the family name of the template's tool calls, "auto" where none is recognised."""
    for family, markers in _MARKERS:
        if all(marker in template_text for marker in markers):
            return family
    return "auto"
