#include "csv.h"

#include <stdlib.h>
#include <string.h>

void csv_open(struct csv_reader *reader, FILE *file, char delimiter)
{
    memset(reader, 0, sizeof *reader);
    reader->file = file;
    reader->delimiter = delimiter;
    reader->next_line = 1;
}

/* Append one byte to the buffer. Returns 0 when memory is exhausted. */
static int put(struct csv_reader *reader, char byte)
{
    if (reader->used == reader->size) {
        size_t size = reader->size ? reader->size * 2 : 64;
        char *grown = realloc(reader->buffer, size);
        if (!grown)
            return 0;
        reader->buffer = grown;
        reader->size = size;
    }
    reader->buffer[reader->used++] = byte;
    return 1;
}

/* Note that a field begins at the end of the buffer. */
static int begin_field(struct csv_reader *reader)
{
    if (reader->count > reader->capacity) {
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

static int end_field(struct csv_reader *reader)
{
    return put(reader, '\0');
}

enum csv_status csv_next(struct csv_reader *reader)
{
    int byte = getc(reader->file);
    int quoted = 0;

    if (byte == EOF)
        return CSV_END;
    reader->line = reader->next_line;
    reader->count = 0;
    reader->used = 0;
    if (!begin_field(reader))
        return CSV_NO_MEMORY;
    for (; byte != EOF; byte = getc(reader->file)) {
        if (byte == '"') {
            quoted = !quoted;
        } else if (!quoted && byte == reader->delimiter) {
            if (!end_field(reader) || !begin_field(reader))
                return CSV_NO_MEMORY;
        } else if (!quoted && byte == '\n') {
            reader->next_line++;
            break;
        } else if (!put(reader, (char)byte)) {
            return CSV_NO_MEMORY;
        }
    }
    return end_field(reader) ? CSV_RECORD : CSV_NO_MEMORY;
}

void csv_close(struct csv_reader *reader)
{
    free(reader->fields);
    free(reader->starts);
}
