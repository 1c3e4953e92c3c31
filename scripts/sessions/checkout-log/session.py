"""A log analysis with a numeric answer: one tool, pipelines, a wrong first answer, a verified second one."""

SYSTEM = (
    "You are a data analyst with a shell in /workspace. Use the bash tool to look at the data before you compute "
    "anything, say how you got each number, and verify the result with the means the project offers."
)

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "bash",
            "description": "Execute a bash command in /workspace. Each call is a new shell. Returns stdout and "
            "stderr together and the exit code if it is not 0.",
            "parameters": {
                "type": "object",
                "properties": {
                    "command": {"type": "string", "description": "Command line, may span several lines"}
                },
                "required": ["command"],
                "additionalProperties": False,
            },
        },
    }
]

TASK = """Customers complained that paying failed on the afternoon of 3 May. From logs/gateway.log I need, for all
requests under /checkout: how many there were (checkout_requests), the share answered with a 5xx status in percent
with one decimal (failure_percent), the region with the most of these failures (worst_region), and the 95th
percentile (nearest rank) of the milliseconds of the successful ones (p95_ms). Write them to answer.json and verify."""

CHECK = "python verify_answer.py"

STEPS = [
    {
        "content": "I will read the notes and look at the shape of the log first.",
        "calls": [
            ("bash", {"command": "cat README.md && wc -l logs/gateway.log && head -n 6 logs/gateway.log"})
        ],
    },
    {
        "content": "Fields are separated by blanks. Are there lines of another form?",
        "calls": [
            ("bash", {"command": "awk 'NF != 7' logs/gateway.log"}),
            ("bash", {"command": "awk 'NF == 7 {print $5}' logs/gateway.log | sort | uniq -c | sort -rn"}),
        ],
    },
    {
        "content": "Only three lines are of another form, and they are no requests. I will select lines by their date. "
        "Now the checkout requests by region and outcome.",
        "calls": [
            (
                "bash",
                {
                    "command": "grep '^2025' logs/gateway.log | awk '$4 ~ \"^/checkout\" {n[$7]++; if ($5 >= 500) f[$7]++} "
                    'END {for (r in n) printf "%-9s %3d requests %3d failed %5.1f %%\\n", r, n[r], f[r], '
                    "100 * f[r] / n[r]}' | sort"
                },
            )
        ],
    },
    {
        "content": "eu-north stands out. Next the percentile of the successful requests, and the sums over all regions.",
        "calls": [
            (
                "bash",
                {
                    "command": "python3 - <<'EOF'\n"
                    "import statistics\n"
                    "rows = [l.split() for l in open('logs/gateway.log', encoding='utf-8') if l.startswith('2025')]\n"
                    "pay = [r for r in rows if r[3].startswith('/checkout')]\n"
                    "failed = [r for r in pay if r[4] >= '500']\n"
                    "ms = sorted(int(r[5]) for r in pay if r[4] < '300')\n"
                    "print(len(pay), len(failed), round(100 * len(failed) / len(pay), 1), len(ms))\n"
                    "print('interpolated p95', statistics.quantiles(ms, n=100)[94], 'largest', ms[-4:])\n"
                    "EOF"
                },
            )
        ],
    },
    {
        "content": "I will write the answer and verify it.",
        "calls": [
            (
                "bash",
                {
                    "command": "cat > answer.json <<'EOF'\n"
                    '{"checkout_requests": 79, "failure_percent": 21.5, "worst_region": "eu-north", "p95_ms": 562}\n'
                    "EOF\n"
                    "python verify_answer.py"
                },
            )
        ],
    },
    {
        "content": "The percentile is wrong: I rounded the interpolated value, but the task asks for the nearest rank, "
        "so the value at position ceil(0.95 · 62) = 59 of the sorted list.",
        "calls": [
            (
                "bash",
                {
                    "command": "grep '^2025' logs/gateway.log | awk '$4 ~ \"^/checkout\" && $5 < 300 {print $6}' "
                    "| sort -n | sed -n '59p'"
                },
            )
        ],
    },
    {
        "content": "434 ms. I will correct that one value and verify again.",
        "calls": [
            (
                "bash",
                {
                    "command": 'sed -i \'s/"p95_ms": 562/"p95_ms": 434/\' answer.json && cat answer.json && python verify_answer.py'
                },
            )
        ],
    },
    {
        "content": "Paying did fail that afternoon, mostly in one region. Of 79 checkout requests 17 ended with a 5xx "
        "status (21.5 %); 12 of the 17 came from eu-north, where 42.9 % failed against 6.9 % in eu-west and 13.6 % in "
        "us-east. The 95th percentile (nearest rank) of the successful requests is 434 ms. answer.json holds the "
        "values and verify_answer.py accepts them.",
    },
]
