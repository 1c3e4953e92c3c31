#include "csv.h"
#include "stats.h"
#include "table.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void usage(void)
{
    fputs("usage: csvstat [-d CHAR] [-c COLUMN] [FILE]\n", stderr);
    exit(2);
}

static void fail(const char *name, long line, const char *what)
{
    fprintf(stderr, "csvstat: %s:%ld: %s\n", name, line, what);
    exit(1);
}

static void print(const struct column *column)
{
    struct stats stats;

    if (column->texts) {
        printf("%-16s text   %zu cells, %zu empty\n", column->name, column->texts + column->count, column->empty);
        return;
    }
    stats = stats_of(column->values, column->count);
    printf("%-16s number %zu cells, %zu empty, mean %g, deviation %g, smallest %g, largest %g, median %g\n",
           column->name, stats.count, column->empty, stats.mean, stats.deviation, stats.smallest, stats.largest,
           stats.median);
}

static void read_table(struct table *table, struct csv_reader *reader, const char *name)
{
    enum csv_status status = csv_next(reader);

    if (status == CSV_END)
        fail(name, 1, "the file is empty");
    for (int first = 1; status == CSV_RECORD; first = 0, status = csv_next(reader))
        if (!(first ? table_names(table, reader->fields, reader->count)
                    : table_add(table, reader->fields, reader->count)))
            status = CSV_NO_MEMORY;
    if (status == CSV_OPEN_QUOTE)
        fail(name, reader->line, "a quoted field begins here and does not end");
    if (status == CSV_NO_MEMORY)
        fail(name, reader->line, "out of memory");
}

int main(int argc, char **argv)
{
    const char *name = "-", *only = NULL;
    char delimiter = ',';
    struct csv_reader reader;
    struct table table;
    FILE *file = stdin;
    int option, shown = 0;

    while ((option = getopt(argc, argv, "d:c:")) != -1) {
        if (option == 'd' && strlen(optarg) == 1)
            delimiter = optarg[0];
        else if (option == 'c')
            only = optarg;
        else
            usage();
    }
    if (argc - optind > 1)
        usage();
    if (optind < argc) {
        name = argv[optind];
        file = fopen(name, "r");
        if (!file) {
            perror(name);
            return 1;
        }
    }
    csv_open(&reader, file, delimiter);
    read_table(&table, &reader, name);
    for (size_t i = 0; i < table.count; i++) {
        if (only && strcmp(only, table.columns[i].name) != 0)
            continue;
        print(&table.columns[i]);
        shown = 1;
    }
    if (only && !shown)
        fail(name, 1, "no column of that name");
    table_free(&table);
    csv_close(&reader);
    fclose(file);
    return 0;
}
