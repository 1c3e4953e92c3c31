"""An incident pieced together from three logs in two time zones, with terminal colours in one; one tool."""

from steps import agent, bash, say, shell_task, think

SYSTEM, TOOLS = agent("shell")

TASK = shell_task("""
On 14 May our shop refused orders after lunch. README.md says what the logs in logs/ are. Find out what happened and
write answers.json with these keys (all times in UTC):

- first_503, last_503: time of the first and last request answered with 503, as 2025-05-14T12:34:56Z
- count_503: how many requests were answered with 503
- orders_lost: how many of them were attempts to place an order
- worst_minute: the minute with the most 503 answers, as HH:MM
- cause: the file name of the script that caused it; blocking_pid: the process id of its session
- lock_seconds: for how long it held its lock, in whole seconds (rounded)
- share_failed_percent: among the requests for /api/orders and /api/cart that arrived while the lock was held, the
  share answered with 503, in percent with one decimal

Then write timeline.md for the people who were not there: ten lines at most, each with a UTC time and the log that shows
it. Check the answers with `python verify.py`. I need to know as well whether the deployment of that day or the nightly
export had anything to do with it, since both teams blame each other.
""")

CHECK = "python verify.py && test $(grep -c . timeline.md) -le 12 && grep -q 13:07:31 timeline.md && grep -q db.jsonl timeline.md"

STEPS = [
    think(
        "First what is there and how big it is.",
        bash('cat README.md; wc -lc logs/*; for f in logs/*; do echo "== $f"; head -n 4 $f; done'),
    ),
    say(
        "Three formats. The worker log contains colour codes and seems to be two hours ahead: job-001 belongs to r-0001, which the gateway has at 12:50:05. "
        "Let me confirm that with several pairs before I rely on it.",
        bash(
            r"""sed 's/\x1b\[[0-9;]*m//g' logs/worker.log > worker.txt
for r in r-0001 r-0021 r-0061 r-00f1 r-0140; do grep -h "$r " logs/gateway.log | cut -c1-60; grep -h "$r\b" worker.txt | cut -c1-80; done"""
        ),
    ),
    think(
        "Some of the ids are not order requests and have no worker line, fine; for the others it is two hours exactly. And the database: epoch milliseconds, "
        "so UTC. I will look at the status codes first.",
        bash(
            "awk '{print $(NF-1)}' logs/gateway.log | sort | uniq -c; awk '{print NF}' logs/gateway.log | sort | uniq -c; grep -E '\" (502|404) ' logs/gateway.log"
        ),
    ),
    say(
        "Every line has nine fields, so columns are safe. 60 answers with 503. The 502 and 404 answers are spread over the whole time and have nothing to do with it.",
        bash(
            "grep '\" 503 ' logs/gateway.log | sed -n '1,3p;58,60p'; grep '\" 503 ' logs/gateway.log | awk '{print $5, ($6 ~ /orders/ ? \"orders\" : $6)}' | sort | uniq -c"
        ),
    ),
    say(
        "First 13:08:20, last 13:18:59; 25 lost orders. Hmm, is the file ordered by time? 'first' is only the first line if it is.",
        bash(
            "awk '{print $1}' logs/gateway.log | sort -c && echo ordered; grep '\" 503 ' logs/gateway.log | cut -c13-17 | sort | uniq -c"
        ),
    ),
    think(
        "Ordered. Worst minute 13:13 with 11. Now the slow requests before the 503s: latency per minute shows when it began.",
        bash(
            """awk '$6 ~ /orders|cart/ {m = substr($1, 13, 5); n[m]++; s[m] += $NF; if ($NF > x[m]) x[m] = $NF; f[m] += $(NF-1) == 503}
END {for (m in n) printf "%s %2d requests, mean %5d ms, max %5d ms, %2d failed\\n", m, n[m], s[m] / n[m], x[m], f[m]}' logs/gateway.log | sort"""
        ),
    ),
    say(
        "Requests that need the database become slow from 13:07 on and are normal again at 13:19. Requests without it (search, static)?",
        bash(
            """awk '$6 !~ /orders|cart/ {m = substr($1, 13, 5); n[m]++; if ($NF > x[m]) x[m] = $NF} END {for (m in n) print m, n[m], x[m]}' logs/gateway.log | sort | sed -n '15,32p' """
        ),
    ),
    say(
        "They stayed fast, so it is the database or the way to it. What does the worker say?",
        bash(
            "sed -n '/13:0[0-9]/!d;p' worker.txt | head -n 5; grep -n ERROR worker.txt | head -n 3; grep -c ERROR worker.txt; grep -c 'waiting for a connection' worker.txt"
        ),
    ),
    think(
        "The first sed finds nothing since worker times are 15:xx there. I will view the beginning of the trouble in local time, 15:07 to 15:09, raw with the traceback.",
        bash("sed -n '/15:07:/,/15:09:0/p' worker.txt | head -n 60"),
    ),
    say(
        "The pool of 20 connections was used up. The errors are the consequence, not the cause: somebody held connections. The database events will tell.",
        bash(
            'jq -r \'select(.kind != "pool") | [(.ts / 1000 | todate), .kind, .state, .pid, .user, .app, .mode // "", .table // "", .behind // .by // ""] | @tsv\' logs/db.jsonl'
        ),
    ),
    say(
        "There it is. `psql -f 0042_add_gift_note.sql` (pid 5188) was granted an AccessExclusive lock on `orders` at 13:07:31, and 18 worker sessions queued up behind 5188. "
        "It was terminated by the person on call at 13:19:03. Now the pool over that time.",
        bash(
            'jq -r \'select(.kind == "pool") | "\\(.ts / 1000 | todate) used \\(.used)/\\(.size) waiting \\(.waiting)"\' logs/db.jsonl | awk \'$3 == "20/20" || prev == "20/20" {print} {prev = $3}\' | sed -n \'1,3p;$p\'; jq -s \'map(select(.kind == "pool" and .used == 20)) | length\' logs/db.jsonl'
        ),
    ),
    think(
        "The pool was full from 13:08:30 (first sample) to 13:19:00. Lock seconds: from 13:07:31.250 to 13:19:04.002: compute. jq cut the milliseconds.",
        bash(
            "jq -s 'map(select(.kind == \"lock\" and .pid == 5188)) | map(.ts) | (.[1] - .[0]) / 1000' logs/db.jsonl"
        ),
    ),
    say(
        "692.752 s, rounded 693. Next the share of failures: gateway lines between 13:07:31 and 13:19:04 for the two paths. The gateway has whole seconds, so the boundaries need care.",
        bash(
            """awk '$6 ~ /^\\/api\\/(orders|cart)/ {t = substr($1, 13)} $6 ~ /^\\/api\\/(orders|cart)/ && t >= "13:07:31" && t < "13:19:04" {n++; f += $(NF-1) == 503}
END {printf "%d of %d = %.1f %%\\n", f, n, 100 * f / n}' logs/gateway.log
grep -E '13:07:3[01]|13:19:0[3-5]' logs/gateway.log"""
        ),
    ),
    think(
        "No request of these paths falls onto the boundary seconds, so the share is 60 of 70, 85.7 %. Write the answers and verify.",
        bash(
            """cat > answers.json <<'EOF'
{
  "first_503": "2025-05-14T13:08:20Z",
  "last_503": "2025-05-14T13:18:59Z",
  "count_503": 60,
  "orders_lost": 24,
  "worst_minute": "13:13",
  "cause": "0042_add_gift_note.sql",
  "blocking_pid": 5188,
  "lock_seconds": 693,
  "share_failed_percent": 85.7
}
EOF
python verify.py"""
        ),
    ),
    say(
        "One answer is wrong, orders_lost. I wrote 24 although the table above said 25; but let me count again in a different way rather than correct the typo blindly.",
        bash(
            "grep -c '\"POST /api/orders HTTP/1.1\" 503' logs/gateway.log; grep -c 'order for r-.* failed' worker.txt; sed -i 's/\"orders_lost\": 24/\"orders_lost\": 25/' answers.json && python verify.py | grep -c right"
        ),
    ),
    say(
        "Gateway and worker agree on 25, and all nine answers are right. Do the lost orders match one to one?",
        bash(
            """grep '"POST /api/orders HTTP/1.1" 503' logs/gateway.log | grep -o 'r-[0-9a-f]*' | sort > gw.txt
grep -o 'order for r-[0-9a-f]* failed' worker.txt | grep -o 'r-[0-9a-f]*' | sort > wk.txt
diff gw.txt wk.txt && echo identical; paste -sd' ' gw.txt"""
        ),
    ),
    think(
        "Identical. Now the blame question. The deployment 2025.19.2 (pid 5120) ended 13:06:40, 51 seconds before the lock. Did anything change between 13:05 and 13:07:31? "
        "Compare latency before, during and after deployment, until the lock.",
        bash(
            """python - <<'EOF'
import re
from statistics import median
spans = [('before the deployment', '12:50:00', '13:05:02'), ('deployment', '13:05:02', '13:06:40'),
         ('between', '13:06:40', '13:07:31'), ('after the lock', '13:19:05', '13:31:00')]
rows = [line.split() for line in open('logs/gateway.log', encoding='utf-8')]
for name, start, end in spans:
    ms = [int(r[-1]) for r in rows if start <= r[0][12:] < end and re.match('/api/(orders|cart)', r[5])]
    codes = sorted({r[-2] for r in rows if start <= r[0][12:] < end})
    print(f'{name:<22} {len(ms):>3} requests, median {median(ms):>5} ms, max {max(ms)} ms, codes {" ".join(codes)}')
EOF"""
        ),
    ),
    say(
        "Nothing changed through the deployment: same latency, no errors before the lock was taken. And the export (pid 4711, 12:58 to 13:12)? If it had blocked anyone, somebody would "
        "be listed as waiting behind it, and things would have improved when it ended.",
        bash(
            """jq -r 'select(.behind) | .behind' logs/db.jsonl | sort | uniq -c
jq -c 'select(.pid == 4711)' logs/db.jsonl
jq -r 'select(.kind == "pool" and .ts >= 1747227480000 and .ts < 1747228080000) | .used' logs/db.jsonl | sort -n | uniq -c"""
        ),
    ),
    think(
        "Let me check these epoch values: 1747227480 = ? 12:58:00 and 13:08:00. I will compute to be certain, and see the pool at the end of the export, 13:12:12.",
        bash(
            "date -u -d @1747227480 +%T; date -u -d @1747228080 +%T; jq -r 'select(.kind == \"pool\") | \"\\(.ts / 1000 | todate) \\(.used) waiting \\(.waiting)\"' logs/db.jsonl | grep -E '13:1[123]:'"
        ),
    ),
    say(
        "While the export ran and before the lock, 3 to 8 connections were in use, as usual. When it ended at 13:12 nothing improved. But one could still object that the migration waited for the "
        "export. The lock was `granted` at 13:07:31, while the export was running, so it did not wait for it. Could the export have held the migration open until it ended? Again no: it ended "
        "at 13:12:12 and the lock was held until 13:19:04. The data shows when the lock was granted, though not when it was asked for; I will say so.",
        bash(
            "jq -c 'select(.pid == 5188)' logs/db.jsonl; jq -c 'select(.kind == \"lock\" and .state == \"waiting\")' logs/db.jsonl | sed -n '1p;$p'"
        ),
    ),
    say(
        "Last question for the timeline: when did users recover? First good order after the lock, and jobs that were delayed.",
        bash(
            """awk 'substr($1, 13) >= "13:19:00" && $6 ~ /^\\/api\\/orders/' logs/gateway.log | head -n 4
grep -A1 'waiting for a connection' worker.txt | grep -E 'WARN|sent' | tail -n 2; grep 'waiting for' worker.txt | awk '{print substr($2, 1, 5)}' | sort | uniq -c"""
        ),
    ),
    think(
        "Write the timeline. In UTC. At most ten lines.",
        bash(
            """cat > timeline.md <<'EOF'
- 12:58:12 the nightly export begins (db.jsonl, pid 4711); 3 to 8 of 20 connections in use, as before
- 13:05:02 to 13:06:40 deployment 2025.19.2 (db.jsonl, pid 5120); no slower and no failed requests (gateway.log)
- 13:07:31 `psql -f 0042_add_gift_note.sql` is granted an exclusive lock on `orders` (db.jsonl, pid 5188)
- 13:07:35 the first worker waits behind pid 5188; 18 of them by 13:08:12 (db.jsonl)
- 13:08:20 first 503, for GET /api/orders/5317 (gateway.log); pool 20/20 in use (worker.log, there 15:08 local time)
- 13:12:12 the export ends (db.jsonl); nothing improves (pool still 20/20)
- 13:13 worst minute, 11 requests refused (gateway.log)
- 13:18:59 last 503; 60 in all, 25 of them orders, each also in worker.log
- 13:19:03 the person on call ends pid 5188, the lock is released after 692.8 s (db.jsonl)
- 13:19:15 first good request for orders (gateway.log)
EOF
grep -c . timeline.md; awk 'substr($1, 13) > "13:19:00" && $6 ~ /orders/ {print $1, $5, $6, $8; exit}' logs/gateway.log; grep -n 'waiting' worker.txt | head -n 2"""
        ),
    ),
    say(
        "The last line of the timeline has a time I had not checked. I will put in the real one and verify every other time against its log by a script.",
        bash(
            r"""t=$(awk 'substr($1, 13) > "13:19:00" && $6 ~ /orders/ && $8 < 300 {print substr($1, 13); exit}' logs/gateway.log)
sed -i "s/^- 13:19:15/- $t/" timeline.md
jq -r '.ts / 1000 | todate' logs/db.jsonl | cut -c12-19 > times.txt; cut -c13-20 logs/gateway.log >> times.txt
for t in $(grep -oE '[0-9]{2}:[0-9]{2}:[0-9]{2}' timeline.md); do grep -qx $t times.txt && echo "$t found" || echo "$t NOT FOUND"; done"""
        ),
    ),
    think(
        "All found? 13:08:12: the last of the waiting, found in the list above? Let me see the output... Then remove scratch files and verify for the last time.",
        bash("rm -f worker.txt gw.txt wk.txt times.txt; python verify.py; cat timeline.md; ls"),
    ),
    say(
        "The cause was the migration script `0042_add_gift_note.sql`: run by hand at 13:07:31 UTC, it took an exclusive lock on `orders` and held it for 693 s. Everything that touches orders "
        "queued behind it until all 20 connections were taken; from 13:08:20 to 13:18:59 the gateway answered 60 requests with 503, 25 of them orders (85.7 % of the requests for orders and "
        "carts in that time). The lock ended when the on-call person terminated pid 5188.\n\n"
        "Neither team is to blame by these logs. The deployment was over 51 s before, without slower or failed requests. The export ran with normal pool usage, nobody waited behind it, and its end at "
        "13:12:12 changed nothing. One thing the logs cannot show: when the migration *asked* for the lock, so whether it had to wait before.\n\n"
        "answers.json passes verify.py (nine of nine); timeline.md has ten lines, each time checked against its log. Note that worker.log is in local time, two hours ahead of UTC."
    ),
]
