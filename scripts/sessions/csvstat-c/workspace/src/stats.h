#ifndef STATS_H
#define STATS_H

#include <stddef.h>

struct stats {
    size_t count;
    double mean, deviation, smallest, largest, median;
};

/* Statistics of count values, count > 0. Sorts the values. */
struct stats stats_of(double *values, size_t count);

#endif
