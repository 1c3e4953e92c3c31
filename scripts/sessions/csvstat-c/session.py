"""A C program with memory errors, wrong parsing and wrong numbers, found with the sanitizers; four tools."""

from steps import act, agent, bash, each, edit, read, say, write

SYSTEM, TOOLS = agent("editor")

TASK = """csvstat (C, see README) crashes on our measurement files, tests/wide.csv is one of them. On small files it
sometimes works. Somebody also claims that medians and deviations are wrong. Please make it do what the README says, run
it under the address and undefined-behaviour sanitizers, and extend tests/ with cases for whatever you repair. `make check`
has to pass, without a warning from the compiler."""

CHECK = (
    "make -s clean && make -s CFLAGS='-std=gnu11 -O1 -g -Wall -Wextra -Werror -fsanitize=address,undefined "
    "-fno-sanitize-recover=all' && make -s check && test $(ls tests/*.expected | wc -l) -ge 6 && "
    "./csvstat -c sensor_09 tests/wide.csv | grep -q 'median 1e+09'"
)

ASAN = "make -s clean && make -s CFLAGS='-std=gnu11 -O1 -g -Wall -Wextra -fsanitize=address,undefined'"

STEPS = [
    act(bash("cat README Makefile tests/run.sh && wc -l src/* tests/* && head -c 400 tests/wide.csv")),
    say(
        "Built normally first, to see what a user sees.",
        bash("make 2>&1 | tail -n 3; make check; ./csvstat tests/wide.csv | head -n 3"),
    ),
    say(
        "Even the small files crash here. The reader is the first suspect.",
        read("src/csv.c"),
        read("src/csv.h"),
    ),
    say(
        "Three faults can be seen by reading: `fields` keeps pointers into `buffer`, which `put` may move; the capacity is compared with "
        "`>` although index `count` is written next; and csv_close forgets the buffer. I will let the sanitizer confirm it before I change anything.",
        bash(f"{ASAN} && ./csvstat tests/plain.csv 2>&1 | head -n 24"),
    ),
    *each(
        "Confirmed for the pointers: the first is taken while the buffer is still NULL. The pointers have to be set once the record is "
        "complete, from `starts`. I will let begin_field only note the start and grow both arrays in one place.",
        edit(
            "src/csv.c",
            """    if (reader->count > reader->capacity) {
        size_t capacity = reader->capacity ? reader->capacity * 2 : 8;
        char **fields = realloc(reader->fields, capacity * sizeof *fields);
        size_t *starts = realloc(reader->starts, capacity * sizeof *starts);
        if (!fields || !starts)
            return 0;
        reader->fields = fields;
        reader->starts = starts;
        reader->capacity = capacity;
    } else if (!reader->capacity) {
        reader->fields = malloc(8 * sizeof *reader->fields);
        reader->starts = malloc(8 * sizeof *reader->starts);
        if (!reader->fields || !reader->starts)
            return 0;
        reader->capacity = 8;
    }
    reader->fields[reader->count] = reader->buffer + reader->used;
    reader->starts[reader->count++] = reader->used;
    return 1;
}
""",
            """    if (reader->count == reader->capacity) {
        size_t capacity = reader->capacity ? reader->capacity * 2 : 8;
        char **fields = realloc(reader->fields, capacity * sizeof *fields);
        size_t *starts;

        if (!fields)
            return 0;
        reader->fields = fields;
        starts = realloc(reader->starts, capacity * sizeof *starts);
        if (!starts)
            return 0;
        reader->starts = starts;
        reader->capacity = capacity;
    }
    reader->starts[reader->count++] = reader->used;
    return 1;
}
""",
        ),
        edit(
            "src/csv.c",
            """    return end_field(reader) ? CSV_RECORD : CSV_NO_MEMORY;
}
""",
            """    if (!end_field(reader))
        return CSV_NO_MEMORY;
    /* Only now does the buffer stay where it is. */
    for (size_t i = 0; i < reader->count; i++)
        reader->fields[i] = reader->buffer + reader->starts[i];
    return CSV_RECORD;
}
""",
        ),
        edit(
            "src/csv.c",
            "    free(reader->starts);\n}",
            "    free(reader->starts);\n    free(reader->buffer);\n}",
        ),
        bash(f"{ASAN} && ./csvstat tests/plain.csv 2>&1 | head -n 24"),
    ),
    say("The next one, in table.c.", read("src/table.c")),
    *each(
        "`malloc(strlen(name))` has no room for the NUL. Also, a row shorter than the header reads fields that do not exist, `count` is "
        "ignored on purpose, and `values` is never freed. A short row is a row with empty cells at its end, I would say; the README says "
        "rows may be of any length.",
        edit("src/table.c", "malloc(strlen(fields[i]));", "malloc(strlen(fields[i]) + 1);"),
        edit(
            "src/table.c",
            "        if (fields[i][0] == '\\0') {",
            "        if (i >= count || fields[i][0] == '\\0') {",
        ),
        edit("src/table.c", "    (void)count;\n", ""),
        edit(
            "src/table.c",
            "    for (size_t i = 0; i < table->count; i++)\n        free(table->columns[i].name);\n    free(table->columns);",
            "    for (size_t i = 0; i < table->count; i++) {\n        free(table->columns[i].name);\n"
            "        free(table->columns[i].values);\n    }\n    free(table->columns);",
        ),
        bash(f"{ASAN} && make check; ./csvstat tests/wide.csv 2>&1 | cut -c1-150"),
    ),
    say(
        "No more memory errors on these files. What stands out: the columns around 1e9 have deviations of 0 or nan. "
        "First an independent computation to compare with.",
        bash(
            """cat > ref.py <<'EOF'
import csv, statistics, sys
rows = list(csv.reader(open(sys.argv[1], newline='', encoding='utf-8')))
for i, name in enumerate(rows[0]):
    cells = [row[i] for row in rows[1:] if i < len(row) and row[i]]
    try:
        values = [float(cell) for cell in cells]
    except ValueError:
        continue
    print(name, len(values), *(f'{x:g}' for x in (statistics.mean(values), statistics.stdev(values), min(values), max(values),
          statistics.median(values))))
EOF
python ref.py tests/wide.csv > ref.txt
./csvstat tests/wide.csv | awk '$2 == "number" {gsub(",", ""); print $1, $3, $8, $10, $12, $14, $16}' > got.txt
diff got.txt ref.txt"""
        ),
        read("src/stats.c"),
    ),
    say(
        "The reference disagrees in nearly every column: with the deviation where values are large (sum of squares minus square of the sum "
        "cancels all digits), and with smallest, largest or median elsewhere, because `by_size` casts a difference below one to 0. With an "
        "even count the median takes the upper value. Two passes for the deviation are exact enough and simple.",
        write(
            "src/stats.c",
            """#include "stats.h"

#include <math.h>
#include <stdlib.h>

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

struct stats stats_of(double *values, size_t count)
{
    struct stats stats = {.count = count};
    double sum = 0, squares = 0;
    size_t half = count / 2;

    for (size_t i = 0; i < count; i++)
        sum += values[i];
    stats.mean = sum / count;
    /* Around the mean, not around 0: the squares of large values would swallow their differences. */
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - stats.mean) * (values[i] - stats.mean);
    stats.deviation = sqrt(squares / (count - 1));
    qsort(values, count, sizeof *values, by_size);
    stats.smallest = values[0];
    stats.largest = values[count - 1];
    stats.median = count % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
    return stats;
}
""",
        ),
        bash(
            f"""{ASAN}
./csvstat tests/wide.csv | awk '$2 == "number" {{gsub(",", ""); print $1, $3, $8, $10, $12, $14, $16}}' > got.txt
diff got.txt ref.txt && echo same; cat got.txt"""
        ),
    ),
]
