#ifndef CSV_H
#define CSV_H

#include <stdio.h>

/* Reads one record at a time. fields[0..count-1] belong to the reader and are valid until the
 * next call of csv_next. */
struct csv_reader {
    FILE *file;
    char delimiter;
    long line;            /* of the last record's first line, from 1 */
    long next_line;
    char **fields;
    size_t count, capacity;
    char *buffer;         /* all fields of the record, each ended by NUL */
    size_t used, size;
    size_t *starts;       /* where each field begins in buffer */
};

enum csv_status { CSV_RECORD, CSV_END, CSV_OPEN_QUOTE, CSV_NO_MEMORY };

void csv_open(struct csv_reader *reader, FILE *file, char delimiter);
enum csv_status csv_next(struct csv_reader *reader);
void csv_close(struct csv_reader *reader);

#endif
