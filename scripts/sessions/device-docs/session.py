"""Documentation: examples that do not run, dead links, a table against a large file; seven tools."""

from steps import act, agent, asks, bash, edit, files, plan, read, say, search

SYSTEM, TOOLS = agent("workbench")

TASK = """The release build stops at `python tools/check_docs.py`. Please bring documentation and code together so that it passes: examples, links, the table of error codes,
docstrings. The checker itself stays as it is. Where code and documentation disagree find out which of them is right before you change one; docs/codes.md was printed
in the manual of version 2.0, and numbers that were printed must keep their meaning. The answer to a reader's question should be in the docs, not only in the code."""

CHECK = 'python tools/check_docs.py && grep -q \'(142, "Sensor", "value of the outside wall jumps"\' device/codes.py && grep -q \'(143, "Sensor", "value of the buffer tank jumps"\' device/codes.py'

STEPS = [
    act(files("/workspace"), read("README.md")),
    act(bash("python tools/check_docs.py")),
    act(read("tools/check_docs.py")),
    act(read("docs/guide.md"), read("docs/changes.md")),
    act(read("device/frame.py"), read("device/values.py")),
    say(
        "Four kinds of work. I begin with the codes, since numbers are what customers see.",
        plan(
            "> codes: code against table",
            "- guide: examples and text",
            "- links and headings",
            "- docstrings",
        ),
        read("device/codes.py", limit=60),
    ),
    act(read("docs/codes.md", limit=60)),
    say(
        "142 is there twice, on two lines next to each other; the table calls the second one 143. Both places side by side:",
        search(r"\b14[0-6]\b", path="device/codes.py"),
        search(r"\| 14[0-6] \|", path="docs/codes.md"),
    ),
    say(
        "The printed table has 142 for the outside wall and 143 for the buffer tank, then 145; so the code is wrong, and 143 is not 'a number that does not exist' but the lost one. `describe(142)` returns the first of the two; a controller that sends 143 is answered with 'unknown code'.",
        bash('python -c "from device.values import describe; print(describe(142)); print(describe(143))"'),
        edit(
            "device/codes.py",
            '    (142, "Sensor", "value of the buffer tank jumps", ""),',
            '    (143, "Sensor", "value of the buffer tank jumps", ""),',
        ),
    ),
    say(
        "Now the order. Where is it broken?",
        bash(
            "python - <<'EOF'\nfrom device.codes import CODES\nfor before, after in zip(CODES, CODES[1:]):\n    if before[0] >= after[0]:\n        print(before, after)\nEOF\ngrep -n 'fan of the' device/codes.py | head -n 4"
        ),
    ),
    act(
        edit(
            "device/codes.py",
            '    (265, "Brenner", "fan of the flue stands still", ""),\n    (264, "Brenner", "fan of the boiler stands still", ""),\n',
            '    (264, "Brenner", "fan of the boiler stands still", ""),\n    (265, "Brenner", "fan of the flue stands still", ""),\n',
        )
    ),
    say(
        "A swap of lines only, the numbers keep their texts, as in the table. Next the differences and the missing ones.",
        bash(
            "python - <<'EOF'\nimport re\nfrom device.codes import CODES\nfrom pathlib import Path\nrows = {int(r[0]): r[1:] for r in re.findall(r'^\\| (\\d+) \\| (.+?) \\| (.+?) \\| (.*?) \\|$', Path('docs/codes.md').read_text('utf-8'), re.M)}\nfor number, *code in CODES:\n    code = tuple(code[:2]) + (code[2] or '–',)\n    if rows.get(number) != code:\n        print(number, 'code', code, 'table', rows.get(number))\nprint(sorted(rows.keys() - {c[0] for c in CODES}), rows.get(299))\nEOF"
        ),
    ),
    say(
        "Case by case:\n- 107: `senser` is a slip in the code; the table is right. A display text, so it may be corrected without changing the meaning.\n- 181: 'no flow in the boiler again' in the table. The code of 182 and following has the same texts without 'again'. A slip of the table.\n"
        "- 230: 'press reset' in the code for all ten places of this fault, 'ask somebody' in the table for one.\n- 299: in the table only, 'burner on holiday'. Was it ever in the code? Nothing in the workspace mentions it.",
        search(r"299|holiday|again|ask somebody|senser", path="/workspace"),
    ),
    act(edit("device/codes.py", '"no senser at the hot water tank"', '"no sensor at the hot water tank"')),
    act(
        edit(
            "docs/codes.md",
            "| 181 | Kreis | no flow in the boiler again | bleed the circuit |",
            "| 181 | Kreis | no flow in the boiler | bleed the circuit |",
        )
    ),
    act(bash("grep -n 'no flame at' docs/codes.md device/codes.py | head -n 14")),
    act(
        edit(
            "docs/codes.md",
            "| 230 | Brenner | no flame at the boiler | ask somebody |",
            "| 230 | Brenner | no flame at the boiler | press reset |",
        )
    ),
    say(
        "299: the checker wants it out of the table or into the code. It was printed, 'numbers that were printed must keep their meaning', so the number must not be given away; but no device sends a code that the driver does not know… `describe(299)` says 'unknown code 299' today. Taking it out of the table loses the memory of it. "
        "I take the row out and reserve the number in a sentence of the table's introduction, which the checker does not read as a row.",
        read("docs/codes.md", limit=6),
    ),
    act(
        edit(
            "docs/codes.md",
            "Numbers are never used again.\n",
            'Numbers are never used again. 299 ("burner on\nholiday") was printed in the manual of 2.0; no version of the driver knows it, and it stays reserved.\n',
        )
    ),
    act(edit("docs/codes.md", "| 299 | Brenner | burner on holiday | – |\n", "")),
    say(
        "The missing rows 114 to 116, 201 and 311: they are in the code. I insert them in order, made from the code, so that no slip of mine gets in.",
        bash("""python - <<'EOF'
import re
from pathlib import Path
from device.codes import CODES
path = Path('docs/codes.md')
lines = path.read_text('utf-8').splitlines()
for number, group, text, action in CODES:
    if number in (114, 115, 116, 201, 311):
        at = next(i for i, line in enumerate(lines) if (m := re.match(r'\\| (\\d+) \\|', line)) and int(m.group(1)) > number)
        lines.insert(at, f"| {number} | {group} | {text} | {action or '–'} |")
path.write_text('\\n'.join(lines) + '\\n', 'utf-8')
EOF
grep -nE '^\\| (113|114|115|116|117|200|201|202|310|311|312) ' docs/codes.md; python tools/check_docs.py | grep codes"""),
    ),
    say(
        "The checker is content with the codes. It does not check the order of the table, nor that a number stands there once; I do, quickly.",
        bash(
            "grep -oE '^\\| [0-9]+' docs/codes.md | cut -c3- | sort -nc && grep -oE '^\\| [0-9]+' docs/codes.md | sort | uniq -d | wc -l; grep -cE '^\\| [0-9]' docs/codes.md; python -c 'from device.codes import CODES; print(len(CODES))'"
        ),
        plan(
            "x codes: code against table",
            "> guide: examples and text",
            "- links and headings",
            "- docstrings",
        ),
    ),
    say(
        "Now the examples of the guide, with what really comes out.",
        bash("python tools/check_docs.py -v | sed -n '/^\\*\\*\\*/,$p' | head -n 70"),
    ),
    say(
        "Four: the checksum bytes, decoding of that frame, the message of a damaged frame, and the step of powers. Which is right for the checksum? The text says '16 bits, the low byte first'. The algorithm (0xFFFF, 0xA001) is CRC-16/MODBUS; its check value for '123456789' is 0x4B37.",
        bash(
            "python - <<'EOF'\nfrom device.frame import checksum\nprint(hex(checksum(b'123456789')))\nbody = bytes.fromhex('110302006b')\nprint(hex(checksum(body)), checksum(body).to_bytes(2, 'little').hex(' '), checksum(body).to_bytes(2, 'big').hex(' '))\nEOF"
        ),
    ),
    say(
        "The code is a correct CRC-16/MODBUS and puts the low byte first, as the text says. The bytes in the guide fit neither order, so the example is wrong. Power: text and example both say steps of 10 watts (1500 W = 0x96 = 150 steps), the code says 5. Two sources against one; what do the changes say, and who uses SCALES?",
        search(r"power|SCALES|watt", path="/workspace"),
    ),
    say(
        "Nothing but the guide mentions it. I cannot decide from here what the hardware does: with 10 in the guide and 5 in the code, a wrong choice heats twice as much or half. Changing the documentation is harmless for the device, changing the code is not. The driver is in the field with 5 and would have been noticed... "
        "That is an argument, not a proof. I adapt the guide to the code and put the question at the top of my summary.",
        edit("docs/guide.md", "powers in steps of 10 Watt.", "powers in steps of 5 Watt."),
    ),
    say(
        "The guide writes `watts`.",
        edit("docs/guide.md", "powers in steps of 10 watts.", "powers in steps of 5 watts."),
    ),
    act(edit("docs/guide.md", "    '0096'\n", "    '012c'\n")),
    act(
        bash(
            "python - <<'EOF'\nfrom device.frame import Frame, encode, decode\nprint(encode(Frame(17, 3, b'\\x00\\x6b')).hex(' '))\ntry:\n    decode(b'\\x11\\x03\\x00\\x00\\x00')\nexcept ValueError as error:\n    print(type(error).__module__, type(error).__name__, error)\nfor n in (252, 253, 255):\n    try:\n        encode(Frame(1, 1, bytes(n))); print(n, 'fine')\n    except ValueError as error:\n        print(error)\nfor a in (0, 1, 247, 248):\n    try:\n        encode(Frame(a, 1)); print(a, 'fine')\n    except ValueError as error:\n        print(error)\nEOF"
        )
    ),
    say(
        "The text says 255 bytes of payload, the code 252; frames of Modbus have 256 bytes at most, and 252 + 5 is 257. Hmm: address, command, length, two of checksum make 5, so 251 would be the limit for 256. The code is what devices accept today; I document 252 and mention the rest in the summary.",
        edit("docs/guide.md", "The payload has at most 255 bytes.", "The payload has at most 252 bytes."),
    ),
    act(
        edit(
            "docs/guide.md",
            "    '11 03 02 00 6b 6a 93'\n    >>> decode(bytes.fromhex(\"11 03 02 00 6b 6a 93\"))\n",
            "    '11 03 02 00 6b e5 a3'\n    >>> decode(bytes.fromhex(\"11 03 02 00 6b e5 a3\"))\n",
        )
    ),
    act(
        edit(
            "docs/guide.md",
            "    Traceback (most recent call last):\n    device.frame.FrameError: wrong checksum\n",
            "    Traceback (most recent call last):\n    device.frame.FrameError: checksum 0000 instead of 3194\n",
        ),
        bash(
            "python tools/check_docs.py -v | sed -n '/^\\*\\*\\*/,$p' | head -n 40; python tools/check_docs.py | head -n 6"
        ),
    ),
    say(
        "I guessed the numbers; the checker shows the real ones. Let me take them over exactly.",
        bash("""python - <<'EOF'
import re
from pathlib import Path
from device.frame import Frame, FrameError, decode, encode
path = Path('docs/guide.md')
text = path.read_text('utf-8')
real = encode(Frame(17, 3, b'\\x00\\x6b')).hex(' ')
text = text.replace('11 03 02 00 6b e5 a3', real)
try:
    decode(b'\\x11\\x03\\x00\\x00\\x00')
except FrameError as error:
    text = re.sub(r'FrameError: checksum .*', f'FrameError: {error}', text)
path.write_text(text, 'utf-8')
EOF
sed -n '5,24p' docs/guide.md; python tools/check_docs.py | grep guide"""),
    ),
    say(
        "The examples run. Links and headings now: `### Frames` directly under `#` skips a level; changelog.md is called changes.md; codes.md has no heading 'What to do', and guide.md none 'Units' (it is 'Values').",
        plan(
            "x codes: code against table",
            "x guide: examples and text",
            "> links and headings",
            "- docstrings",
        ),
        edit("docs/guide.md", "### Frames", "## Frames"),
    ),
    act(
        edit("docs/guide.md", "(changelog.md)", "(changes.md)"),
        edit("docs/changes.md", "(guide.md#units)", "(guide.md#values)"),
    ),
    say(
        "The link `codes.md#what-to-do` promises a place that tells what to do. The column of that name is in the table; a heading would be better for a reader: what does `–` mean, whom to call? I only know that `–` stands for an empty action. So I point the link to the table and explain the dash there.",
        edit(
            "docs/guide.md",
            "What to do is in [the table](codes.md#what-to-do).",
            "What to do is in the last column of [the table](codes.md#error-codes); `–` means that nothing can be done on the spot.",
        ),
    ),
    act(bash("python tools/check_docs.py")),
    say(
        "Docstrings remain. They have to say what a caller cannot see: units, what None means, what is raised. `write_value` cuts with int() and wraps with & 0xFFFF: 4000 °C is written as something else without an error. That is a fault worth mentioning, not documenting as a feature.",
        plan(
            "x codes: code against table",
            "x guide: examples and text",
            "x links and headings",
            "> docstrings",
        ),
        bash(
            "python - <<'EOF'\nfrom device.values import read_value, write_value\nfor kind, value in (('temperature', 4000), ('temperature', -3276.8), ('temperature', 21.55), ('power', 7), ('pressure', -0.01)):\n    print(kind, value, write_value(kind, value).hex(), read_value(kind, write_value(kind, value)))\nprint(repr(read_value('power', b'')), repr(read_value('power', b'\\x01')))\nEOF"
        ),
    ),
    act(
        edit(
            "device/frame.py",
            "class FrameError(ValueError):\n    pass\n",
            'class FrameError(ValueError):\n    """Something that cannot be a frame; the message says why."""\n',
        ),
        edit(
            "device/frame.py",
            "class Frame:\n    address",
            'class Frame:\n    """A command to a device: address 1 to 247, or 0 for all; the payload has 252 bytes at most."""\n\n    address',
        ),
    ),
    act(
        edit(
            "device/frame.py",
            "def encode(frame):\n",
            'def encode(frame):\n    """Return the bytes of a frame: address, command, length, payload, checksum with the low byte first.\n\n    Raises FrameError for an address above 247 and for more than 252 bytes of payload.\n    """\n',
        ),
        edit(
            "device/frame.py",
            "def decode(data):\n",
            'def decode(data):\n    """Return the frame that bytes hold.\n\n    Raises FrameError where the length does not fit or the checksum is wrong.\n    """\n',
        ),
    ),
    act(
        edit(
            "device/frame.py",
            "def checksum(data):\n",
            'def checksum(data):\n    """Return the CRC-16/MODBUS of bytes.\n\n    >>> hex(checksum(b"123456789"))\n    \'0x4b37\'\n    """\n',
        )
    ),
    act(
        edit(
            "device/values.py",
            "def read_value(kind, payload, index=0):\n",
            'def read_value(kind, payload, index=0):\n    """Return value number `index` of a payload as a Decimal, None for a sensor that is not connected.\n\n    `kind` is temperature (°C), pressure (bar) or power (W).\n    """\n',
        ),
        edit(
            "device/values.py",
            "def write_value(kind, value):\n",
            'def write_value(kind, value):\n    """Return two bytes for a value; digits below the step of its kind are cut off. None is "not connected".\n\n    The value must fit into 16 bits with a sign: ±3276.7 °C, ±327.67 bar, ±163835 W. This is not checked.\n    """\n',
        ),
        edit(
            "device/values.py",
            "def describe(code):\n",
            'def describe(code):\n    """Return group, meaning and, where there is one, action of an error code; a text for an unknown code, too."""\n',
        ),
    ),
    act(
        bash(
            "python tools/check_docs.py; python -m doctest device/frame.py && echo 'doctest fine'; python -c \"from device.values import describe; print(describe(143), '|', describe(107), '|', describe(299))\""
        )
    ),
    act(
        files("/workspace"),
        plan(
            "x codes: code against table",
            "x guide: examples and text",
            "x links and headings",
            "x docstrings",
        ),
    ),
    say(
        "The check passes. One question first, because a wrong answer is dangerous: **power is written in steps of 5 W by the code, while the guide said 10 W, in text and example.** I adapted the guide, since that changes no device; please confirm with the hardware.\n\n"
        "- Code changed in three places: 143 (buffer tank) had been numbered 142 by mistake, against the printed table, and was unknown to the driver; two lines were out of order; a slip in the text of 107.\n"
        "- docs/codes.md: five missing rows added, slips in 181 and 230 corrected, 299 taken out and reserved in the introduction.\n"
        "- docs/guide.md: the frame example had a wrong checksum (the code is CRC-16/MODBUS), the limit is 252 bytes, not 255; links and headings.\n"
        "- Docstrings for all public names.\n\n"
        "Noticed and left alone: write_value does not check its range; a temperature of 4000 is written as another value. A full frame has 257 bytes, one more than Modbus allows."
    ),
    asks(
        "Thank you! It is 5 W, I asked. Can write_value refuse values out of range then, with a ValueError?"
    ),
    say(
        "Good. The check belongs before the mask; None is not affected. Is 0x8000 itself a value? It means 'not connected', so -3276.8 has to be refused as well.",
        edit(
            "device/values.py",
            '    raw = 0x8000 if value is None else int(Decimal(str(value)) / SCALES[kind]) & 0xFFFF\n    return raw.to_bytes(2, "big")',
            '    if value is None:\n        return INVALID.to_bytes(2, "big")\n    raw = int(Decimal(str(value)) / SCALES[kind])\n    if abs(raw) > 0x7FFF:\n        raise ValueError(f"{kind} {value} is not between {-0x7FFF * SCALES[kind]} and {0x7FFF * SCALES[kind]}")\n    return (raw & 0xFFFF).to_bytes(2, "big")',
        ),
    ),
    act(
        edit(
            "device/values.py",
            "±163835 W. This is not checked.\n",
            "±163835 W.\n    Raises ValueError where it does not.\n",
        ),
        bash(
            "python - <<'EOF'\nfrom device.values import read_value, write_value\nfor kind, value in (('temperature', 3276.7), ('temperature', -3276.7), ('temperature', -3276.8), ('temperature', 4000), ('power', 163835), ('power', 163840), ('pressure', None), ('temperature', 'NaN')):\n    try:\n        print(kind, value, write_value(kind, value).hex(), read_value(kind, write_value(kind, value)))\n    except ValueError as error:\n        print(kind, value, 'ValueError:', error)\nEOF\npython tools/check_docs.py"
        ),
    ),
    act(
        edit(
            "docs/guide.md",
            "    '012c'\n",
            "    '012c'\n    >>> write_value(\"temperature\", 4000)\n    Traceback (most recent call last):\n    ValueError: temperature 4000 is not between -3276.7 and 3276.7\n",
        ),
        edit(
            "docs/changes.md",
            "# Changes\n",
            "# Changes\n\n## Next\n\n- `write_value` refuses values out of range; see [Values](guide.md#values).\n- Code 143 is known to the driver again.\n",
        ),
        bash("python tools/check_docs.py; head -n 12 docs/changes.md"),
    ),
    say(
        "`write_value` raises ValueError outside of ±32767 steps (±3276.7 °C, ±327.67 bar, ±163835 W); NaN is refused as well, by int(). The guide has an example, docs/changes.md an entry, and check_docs passes."
    ),
]
