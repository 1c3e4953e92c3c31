#ifndef TABLE_H
#define TABLE_H

#include <stddef.h>

/* One column: its name and the numbers in it. */
struct column {
    char *name;
    double *values;
    size_t count, capacity;
    size_t texts;         /* cells that are no number */
    size_t empty;         /* cells without anything */
};

struct table {
    struct column *columns;
    size_t count;
    size_t rows;
};

/* Take the names of the columns. Returns 0 when memory is exhausted. */
int table_names(struct table *table, char **fields, size_t count);

/* Take one row. Cells beyond the named columns are left out. */
int table_add(struct table *table, char **fields, size_t count);

void table_free(struct table *table);

#endif
