/* Barriers over all ranks: rank 0 writes, for each place, communicator and phase, what the ranks recorded.
 *
 * For barrier k let t[r] be the time that rank r spent in it and g[r] the gap to its next call. Sums over k, in s:
 *
 *   own     min t[r]                      what the barrier itself costs: the rank that came last waited for nobody
 *   tight   max g[r] + min (t[r] - g[r])  what its removal can save when the next call waits for all ranks too: they
 *                                         would be ready for that call at max (arrival + g) in place of end + max g
 *   loose   max t[r]                      what it can save in any case: no rank is ahead by more
 *
 * Places are merged by their names. Where ranks call a place another number of times, or at other points of the order
 * of barriers, instances cannot be told apart, and the sums mean nothing: "aligned" is false.
 */
#include "audit.h"
#include "audit_rows.h"
#include "private.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char* const REASONS[AUDIT_REASONS] = {"file before",   "file after", "one-sided", "window",
                                                   "shared memory", "wildcard",   "finalize",  "fresh"};
static const char* const RELATIONS[] = {"none", "same", "larger", "smaller", "other", "empty"};
/* instances reduced at once */
enum { BLOCK = 4096 };

struct text {
    char* at;
    size_t length, room;
};

__attribute__((format(printf, 2, 3))) static void add(struct text* t, const char* form, ...) {
    va_list given;
    for (int pass = 0; pass < 2; pass++) {
        va_start(given, form);
        int n = vsnprintf(t->at ? t->at + t->length : NULL, t->room - t->length, form, given);
        va_end(given);
        if (n < 0) abort();
        if ((size_t)n < t->room - t->length) {
            t->length += (size_t)n;
            return;
        }
        t->room = 2 * (t->length + (size_t)n) + 256;
        t->at = realloc(t->at, t->room);
        if (!t->at) abort();
    }
}

static void* zeros(size_t count, size_t size) {
    void* p = calloc(count ? count : 1, size);
    if (!p) abort();
    return p;
}

/* Returns the texts of all ranks behind each other on rank 0, NULL elsewhere. */
static char* gathered(const struct text* t, MPI_Comm world, int rank, int ranks) {
    int length = (int)t->length, *lengths = zeros((size_t)ranks, sizeof *lengths), *from = NULL;
    char* all = NULL;
    PMPI_Gather(&length, 1, MPI_INT, lengths, 1, MPI_INT, 0, world);
    if (rank == 0) {
        size_t sum = 0;
        from = zeros((size_t)ranks, sizeof *from);
        for (int r = 0; r < ranks; r++) {
            from[r] = (int)sum;
            sum += (size_t)lengths[r];
        }
        all = zeros(sum + 1, 1);
    }
    PMPI_Gatherv(t->at, length, MPI_CHAR, all, lengths, from, MPI_CHAR, 0, world);
    free(lengths);
    free(from);
    return all;
}

/* A key names a row on every rank: site, communicator, its size, phase, function. */
static void add_key(struct text* t, const struct audit_row* r) {
    add(t, "%s\t%s\t%d\t%d\t%s\n", r->site ? r->site : "", r->comm->name, r->comm->size, r->phase,
        core_names[r->function]);
}

static int by_text(const void* a, const void* b) {
    return strcmp(*(char* const*)a, *(char* const*)b);
}

/* Splits into lines, sorts them, leaves each once; returns how many. The lines stay in `text`. */
static int lines_of(char* text, char*** lines) {
    size_t count = 0;
    for (const char* c = text; *c; c++)
        count += *c == '\n';
    *lines = zeros(count, sizeof **lines);
    char* rest = NULL;
    count = 0;
    for (char* line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        (*lines)[count++] = line;
    qsort(*lines, count, sizeof **lines, by_text);
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp((*lines)[i], (*lines)[used - 1]) != 0) (*lines)[used++] = (*lines)[i];
    return (int)used;
}

/* Returns the keys of all ranks, the same list on each. */
static char* all_keys(MPI_Comm world, int rank, int ranks, char*** keys, int* count) {
    struct text own = {0}, merged = {0};
    for (const struct audit_row* r = audit_rows; r; r = r->next)
        add_key(&own, r);
    char* all = gathered(&own, world, rank, ranks);
    free(own.at);
    if (rank == 0) {
        *count = lines_of(all, keys);
        for (int i = 0; i < *count; i++)
            add(&merged, "%s\n", (*keys)[i]);
        free(*keys);
        free(all);
    }
    int length = (int)merged.length;
    PMPI_Bcast(&length, 1, MPI_INT, 0, world);
    char* list = zeros((size_t)length + 1, 1);
    if (length && rank == 0) memcpy(list, merged.at, (size_t)length);
    PMPI_Bcast(list, length, MPI_CHAR, 0, world);
    free(merged.at);
    *count = lines_of(list, keys);
    return list;
}

static struct audit_row* row_of(const char* key) {
    for (struct audit_row* r = audit_rows; r; r = r->next) {
        struct text own = {0};
        add_key(&own, r);
        own.at[own.length - 1] = '\0';
        int is_same = !strcmp(own.at, key);
        free(own.at);
        if (is_same) return r;
    }
    return NULL;
}

/* own, tight and loose on rank 0; see above */
static void sums(const struct audit_row* r, int stored, MPI_Comm world, int rank, double out[3]) {
    static float least[3 * BLOCK], most[3 * BLOCK];
    out[0] = out[1] = out[2] = 0.0;
    for (int at = 0; at < stored; at += BLOCK) {
        int n = stored - at < BLOCK ? stored - at : BLOCK;
        for (int i = 0; i < n; i++) {
            int has = r && at + i < r->stored;
            float took = has ? r->took[at + i] : 0.0f, gap = has ? r->gap[at + i] : 0.0f;
            least[i] = has ? took : INFINITY, least[n + i] = has ? took - gap : INFINITY;
            most[i] = has ? took : -INFINITY, most[n + i] = has ? gap : -INFINITY;
        }
        PMPI_Reduce(rank ? least : MPI_IN_PLACE, least, 2 * n, MPI_FLOAT, MPI_MIN, 0, world);
        PMPI_Reduce(rank ? most : MPI_IN_PLACE, most, 2 * n, MPI_FLOAT, MPI_MAX, 0, world);
        for (int i = 0; rank == 0 && i < n; i++) {
            out[0] += (double)least[i];
            out[1] += (double)most[n + i] + (double)least[n + i];
            out[2] += (double)most[i];
        }
    }
}

static void write_string(FILE* out, const char* text, size_t length) {
    putc('"', out);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 0x20)
            fprintf(out, "\\u%04x", c);
        else
            putc(c, out);
    }
    putc('"', out);
}

/* A row: key, then numbers of all ranks. `numbers` has four of each rank: calls, skipped, seconds, of those stored. */
static void write_row(FILE* out, const char* key, const double* numbers, int ranks, int is_aligned, int stored,
                      const double sum[3]) {
    static const char* const names[] = {"site", "comm", "size", "phase", "call"};
    static const char* const columns[] = {"calls", "skipped", "seconds", "stored_seconds"};
    const char* at = key;
    putc('{', out);
    for (int i = 0; i < 5; i++) {
        size_t length = strcspn(at, "\t");
        fprintf(out, "\"%s\": ", names[i]);
        if (i == 2 || i == 3)
            fprintf(out, "%ld", strtol(at, NULL, 10));
        else
            write_string(out, at, length);
        fputs(", ", out);
        at += length + (at[length] != '\0');
    }
    for (int i = 0; i < 4; i++) {
        fprintf(out, "\"%s\": [", columns[i]);
        for (int r = 0; r < ranks; r++)
            fprintf(out, "%s%.9g", r ? ", " : "", numbers[4 * r + i]);
        fputs("], ", out);
    }
    fprintf(out, "\"aligned\": %s, \"stored\": %d, \"own\": %.9g, \"tight\": %.9g, \"loose\": %.9g}",
            is_aligned ? "true" : "false", stored, sum[0], sum[1], sum[2]);
}

/* One line for each call that came after a row, and for each reason: number of the row, what, how often. */
static void add_details(struct text* t, int number, const struct audit_row* r) {
    for (const struct audit_follow* f = r->follows; f; f = f->next)
        add(t, "%d\tnext\t%s\t%s\t%s\t%lld\n", number, core_names[f->function], RELATIONS[f->relation],
            f->site ? f->site : "", f->calls);
    for (int i = 0; i < AUDIT_REASONS; i++)
        if (r->kept[i]) add(t, "%d\tkeep\t%s\t\t\t%lld\n", number, REASONS[i], r->kept[i]);
}

void audit_write(FILE* out, MPI_Comm world) {
    int rank, ranks, count = 0, wildcard = 0, ready = 0;
    char** keys = NULL;
    PMPI_Comm_rank(world, &rank);
    PMPI_Comm_size(world, &ranks);
    char* list = all_keys(world, rank, ranks, &keys, &count);
    PMPI_Reduce(&audit_wildcard, &wildcard, 1, MPI_INT, MPI_MAX, 0, world);
    PMPI_Reduce(&audit_ready, &ready, 1, MPI_INT, MPI_MAX, 0, world);
    double* numbers = zeros(4 * (size_t)ranks, sizeof *numbers);
    struct text details = {0};
    if (out)
        fprintf(out, "{\"wildcard\": %s, \"ready\": %s, \"rows\": [", wildcard ? "true" : "false",
                ready ? "true" : "false");
    for (int i = 0; i < count; i++) {
        const struct audit_row* r = row_of(keys[i]);
        double own[4] = {0}, sum[3];
        /* the largest of x and of its complement are the same in all ranks that have the row: nothing is between */
        unsigned long long order[2] = {0, 0};
        long long most[2] = {0, 0};
        if (r) {
            own[0] = (double)r->calls, own[1] = (double)r->skipped, own[2] = r->seconds, own[3] = r->stored_seconds;
            order[0] = r->order, order[1] = ~r->order;
            most[0] = r->stored, most[1] = 1;
            add_details(&details, i, r);
        }
        PMPI_Gather(own, 4, MPI_DOUBLE, numbers, 4, MPI_DOUBLE, 0, world);
        PMPI_Allreduce(MPI_IN_PLACE, order, 2, MPI_UNSIGNED_LONG_LONG, MPI_MAX, world);
        PMPI_Allreduce(MPI_IN_PLACE, &most[0], 1, MPI_LONG_LONG, MPI_MAX, world);
        PMPI_Allreduce(MPI_IN_PLACE, &most[1], 1, MPI_LONG_LONG, MPI_SUM, world);
        int size = 0;
        sscanf(strchr(strchr(keys[i], '\t') + 1, '\t') + 1, "%d", &size);
        int is_aligned = order[0] == ~order[1] && most[1] == size;
        sums(r, (int)most[0], world, rank, sum);
        if (out) {
            fputs(i ? ",\n" : "\n", out);
            write_row(out, keys[i], numbers, ranks, is_aligned, (int)most[0], sum);
        }
    }
    char* all = gathered(&details, world, rank, ranks);
    if (out) {
        fputs("], \"details\": [", out);
        char* rest = NULL;
        int number = 0;
        for (char* line = strtok_r(all, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
            fputs(number++ ? ",\n" : "\n", out);
            write_string(out, line, strlen(line));
        }
        fputs("]}", out);
    }
    for (struct audit_comm* c = audit_comms; c; c = c->next)
        PMPI_Group_free(&c->group);
    audit_comms = NULL;
    free(all);
    free(details.at);
    free(numbers);
    free(keys);
    free(list);
}
