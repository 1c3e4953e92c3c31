"""The session goes on: printing, failures and the last runs."""

from steps import bash, each, edit, say

ASAN = "make -s clean && make -s CFLAGS='-std=gnu11 -O1 -g -Wall -Wextra -fsanitize=address,undefined'"
STEPS = [
    *each(
        "Now the printing. `%g` shows six digits, enough for the expected files but not for values like 1e9 + 0.5; that is the format the tests pin, so it stays.",
        edit(
            "src/main.c",
            """    stats = stats_of(column->values, column->count);
    printf("%-16s number %zu cells, %zu empty, mean %g, deviation %g, smallest %g, largest %g, median %g\\n",
           column->name, stats.count, column->empty, stats.mean, stats.deviation, stats.smallest, stats.largest,
           stats.median);
""",
            """    if (!column->count) {
        printf("%-16s empty  0 cells, %zu empty\\n", column->name, column->empty);
        return;
    }
    stats = stats_of(column->values, column->count);
    printf("%-16s number %zu cells, %zu empty, mean %g, deviation ", column->name, stats.count, column->empty, stats.mean);
    if (stats.count > 1)
        printf("%g", stats.deviation);
    else
        putchar('-');
    printf(", smallest %g, largest %g, median %g\\n", stats.smallest, stats.largest, stats.median);
""",
        ),
        edit(
            "src/stats.c",
            "    stats.deviation = sqrt(squares / (count - 1));",
            "    stats.deviation = count > 1 ? sqrt(squares / (count - 1)) : 0;",
        ),
        bash(
            f"""{ASAN}
t() {{ printf "$1" | ./csvstat 2>&1 | head -n 6 | cut -c1-130; echo; }}
t 'a,b\\n1,\\n2,\\n'; t 'a\\n5\\n'; t 'a,b,c,d\\nnan,0x1F, 7,1e3\\ninf,2,8 ,4\\n'; t 'a\\n'; t ''; make check"""
        ),
    ),
    say(
        "Good. Long fields and many columns are what the original crash was about; I will stress those, with leak checking on.",
        bash(
            """python - <<'EOF'
import random
random.seed(3)
with open('big.csv', 'w', encoding='utf-8', newline='') as file:
    file.write(','.join(f'c{i}' for i in range(300)) + '\\n')
    for _ in range(200):
        file.write(','.join(random.choice(['', '1.5', '-2', '"' + 'ä"",\\n' * 400 + '"']) for _ in range(random.randrange(1, 400))) + '\\n')
EOF
wc -c big.csv; ./csvstat big.csv > out.txt 2> err.txt; echo "exit $?"; wc -l < out.txt; head -n 5 err.txt; tail -n 2 out.txt"""
        ),
    ),
    say(
        "No error and no leak. An input file that is cut anywhere must not crash either: all prefixes of quotes.csv, then random bytes.",
        bash(
            """n=$(wc -c < tests/quotes.csv); for i in $(seq 0 $n); do head -c $i tests/quotes.csv | ./csvstat > out.txt 2>&1; echo $?; done | sort | uniq -c
python - <<'EOF'
import random, subprocess
random.seed(5)
codes = {}
for _ in range(150):
    data = bytes(random.choice(b'",\\n\\r\\0a1.\\xff') for _ in range(random.randrange(0, 60)))
    done = subprocess.run(['./csvstat'], input=data, capture_output=True)
    codes[done.returncode] = codes.get(done.returncode, 0) + 1
    if b'Sanitizer' in done.stderr or b'runtime error' in done.stderr:
        print(data, done.stderr.decode()[:600]); break
print(codes)
EOF"""
        ),
    ),
    say(
        "Two of the codes deserve a look: which inputs return 1? I expect the empty one and open quotes only.",
        bash(
            """n=$(wc -c < tests/quotes.csv); for i in $(seq 0 $n); do head -c $i tests/quotes.csv | ./csvstat 2>&1 >out.txt; done | sort | uniq -c"""
        ),
    ),
    say(
        "As expected. On the failure paths `fail` exits without freeing, which the leak check does not count since the memory is still reachable. Now the tests. "
        "run.sh compares output only; for exit codes I add the line `exit N` to what is compared, which needs the expected files to hold it. That would change existing "
        "files, so I keep run.sh and let the messages of failing inputs be the expectation.",
        bash(
            r'''printf 'a,b\r\n1,2\r\n3,4\r\n' > tests/crlf.csv
printf '"say ""hi""",b"c\n1,2\n3,"4"' > tests/doubled.csv
printf 'a,b\n"1\n2",3\n4,"5\n' > tests/open.csv
printf 'id,full,none,one\n1,2,,\n2\n3,4,,9,extra\n' > tests/short.csv
printf 'a,b,c,d\nnan,0x1F, 7,1e3\ninf,2,8 ,-4.5E-1\n' > tests/numbers.csv
printf 'x\n0.3\n0.1\n0.2\n0.4\n' > tests/median.csv
printf 'x\n1000000000.1\n1000000000.2\n1000000000.3\n' > tests/large.csv
for f in crlf doubled open short numbers median large; do echo "== $f"; ./csvstat tests/$f.csv 2>&1 | tee tests/$f.expected; done'''
        ),
    ),
    say(
        "I check these by hand before they become the expectation: median of 0.1…0.4 is 0.25 and the deviation 0.129099; 1e9+{.1,.2,.3} has the deviation 0.1; in short.csv `full` has 2 and 4 "
        "with one empty, `none` has nothing, `one` has a single 9; open.csv names line 4. All right. wide.csv gets the "
        "values of the Python reference as its expectation.",
        bash(
            """./csvstat tests/wide.csv > tests/wide.expected
awk '$2 == "number" {gsub(",", ""); print $1, $3, $8, $10, $12, $14, $16}' tests/wide.expected | diff - ref.txt && echo 'wide agrees with ref'
make -s clean && make 2>&1 | grep -c warning; make check"""
        ),
    ),
    say(
        "There is one more way in: options. The delimiter, a column that does not exist, wrong usage, a folder instead of a file.",
        bash(
            """printf 'a;b\\n1;2\\n' > s.csv; ./csvstat -d ';' s.csv | cut -c1-40; ./csvstat -d ab s.csv; echo $?; ./csvstat -c zz s.csv; echo $?
./csvstat -c b -d ';' s.csv | cut -c1-40; ./csvstat nothing.csv; echo $?; ./csvstat tests; echo $?; ./csvstat a b; echo $?"""
        ),
    ),
    *each(
        "A folder is reported as an empty file: reading fails with EISDIR and nobody looks at ferror. The README says exit 1 if the file cannot be read, so a read error halfway must not pass for the end either.",
        edit(
            "src/csv.c",
            "    if (byte == EOF)\n        return CSV_END;\n    reader->line",
            "    if (byte == EOF)\n        return ferror(reader->file) ? CSV_READ_ERROR : CSV_END;\n    reader->line",
        ),
        edit(
            "src/csv.c",
            "    if (!end_field(reader))\n        return CSV_NO_MEMORY;\n    /* Only",
            "    if (ferror(reader->file))\n        return CSV_READ_ERROR;\n    if (!end_field(reader))\n        return CSV_NO_MEMORY;\n    /* Only",
        ),
        edit(
            "src/csv.h",
            "CSV_OPEN_QUOTE, CSV_NO_MEMORY };",
            "CSV_OPEN_QUOTE, CSV_READ_ERROR, CSV_NO_MEMORY };",
        ),
        edit(
            "src/main.c",
            "    if (status == CSV_OPEN_QUOTE)",
            "    if (status == CSV_READ_ERROR)\n        fail(name, reader->line, strerror(errno));\n    if (status == CSV_OPEN_QUOTE)",
        ),
        edit("src/main.c", "#include <stdlib.h>", "#include <errno.h>\n#include <stdlib.h>"),
        bash("make 2>&1 | grep -E 'warning|error'; ./csvstat tests; echo $?; make check | grep -c ok"),
    ),
    say(
        "A last full run of all tests under the sanitizers that abort on the first finding, and then I clean up.",
        bash(
            "make -s clean && make -s CFLAGS='-std=gnu11 -O1 -g -Wall -Wextra -Werror -fsanitize=address,undefined -fno-sanitize-recover=all' && make check; ./csvstat big.csv | wc -l; make -s clean; rm -f ref.py ref.txt got.txt out.txt err.txt big.csv s.csv; ls . src tests"
        ),
    ),
    say(
        "csvstat now does what the README says on all inputs I tried, without a finding of the address, leak and undefined-behaviour sanitizers.\n\n"
        "Memory (csv.c, table.c): field pointers were taken before the buffer had its final place; the field array was written one past its end from the ninth "
        "column on; names lacked the byte for NUL; short rows read fields that did not exist; two leaks.\n"
        "Parsing (csv.c): doubled quotes, open quotes, CR LF, line numbers across quoted line ends, read errors.\n"
        "Numbers (stats.c, table.c): sorting compared whole numbers only, the median of an even count was the upper value, the deviation lost all digits for large values. "
        "A column without values crashed; it prints `empty` now, and the deviation of one value is `-`. nan, inf and hexadecimal count as text.\n\n"
        "tests/ has eight new cases, wide.csv among them, whose figures agree with Python's statistics module. `make check` passes without warnings. "
        "Left alone: `%g` prints six digits, too few to tell 1000000000.1 from 1000000000.2."
    ),
]
