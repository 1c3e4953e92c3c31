#include "table.h"

#include <stdlib.h>
#include <string.h>

int table_names(struct table *table, char **fields, size_t count)
{
    memset(table, 0, sizeof *table);
    table->columns = calloc(count, sizeof *table->columns);
    if (!table->columns)
        return 0;
    table->count = count;
    for (size_t i = 0; i < count; i++) {
        table->columns[i].name = malloc(strlen(fields[i]));
        if (!table->columns[i].name)
            return 0;
        strcpy(table->columns[i].name, fields[i]);
    }
    return 1;
}

static int add_value(struct column *column, double value)
{
    if (column->count == column->capacity) {
        size_t capacity = column->capacity ? column->capacity * 2 : 16;
        double *values = realloc(column->values, capacity * sizeof *values);
        if (!values)
            return 0;
        column->values = values;
        column->capacity = capacity;
    }
    column->values[column->count++] = value;
    return 1;
}

int table_add(struct table *table, char **fields, size_t count)
{
    for (size_t i = 0; i < table->count; i++) {
        struct column *column = &table->columns[i];
        char *end;
        double value;

        if (fields[i][0] == '\0') {
            column->empty++;
            continue;
        }
        value = strtod(fields[i], &end);
        if (*end != '\0')
            column->texts++;
        else if (!add_value(column, value))
            return 0;
    }
    (void)count;
    table->rows++;
    return 1;
}

void table_free(struct table *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(table->columns[i].name);
    free(table->columns);
}
