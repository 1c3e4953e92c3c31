#include "stats.h"

#include <math.h>
#include <stdlib.h>

static int by_size(const void *left, const void *right)
{
    return (int)(*(const double *)left - *(const double *)right);
}

struct stats stats_of(double *values, size_t count)
{
    struct stats stats = {.count = count};
    double sum = 0, squares = 0;

    for (size_t i = 0; i < count; i++) {
        sum += values[i];
        squares += values[i] * values[i];
    }
    stats.mean = sum / count;
    stats.deviation = sqrt((squares - sum * sum / count) / (count - 1));
    qsort(values, count, sizeof *values, by_size);
    stats.smallest = values[0];
    stats.largest = values[count - 1];
    stats.median = values[count / 2];
    return stats;
}
