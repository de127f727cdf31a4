/* Writes what all ranks recorded into one JSON file, SUBSALT_PMPI_OUT: rank 0 receives the text of every rank. */
#include "audit.h"
#include "private.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void quoted(FILE* out, const char* text) {
    fputc('"', out);
    for (const unsigned char* c = (const unsigned char*)text; *c; c++)
        if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else if (*c < 32)
            fprintf(out, "\\u%04x", *c);
        else
            fputc(*c, out);
    fputc('"', out);
}

static void write_row(FILE* out, const struct core_row* r, const struct core_thread* t) {
    int size;
    const char* comm = core_comm_at(r->comm, &size);
    fprintf(out, "{\"call\":\"%s\",\"main\":%d,\"phase\":%d,\"site\":", core_names[r->function], t->is_main, r->phase);
    quoted(out, r->site ? r->site : "");
    fputs(",\"comm\":", out);
    quoted(out, comm);
    fprintf(out, ",\"size\":%d,\"calls\":%lld,\"seconds\":%.9g,\"least\":%.9g,\"most\":%.9g,\"bytes\":%lld", size,
            r->calls, r->seconds, r->least, r->most, r->bytes);
    const char* before = ",\"sizes\":[";
    for (int i = 0; r->bins && i < CORE_BINS; i++) {
        const struct core_bin* b = &r->bins[i];
        if (!b->calls) continue;
        fprintf(out, "%s[%d,%lld,%.9g,%lld]", before, i, b->calls, b->seconds, b->bytes);
        before = ",";
    }
    fputs(*before == ',' && before[1] ? "}" : (r->bins ? "]}" : "}"), out);
}

static void write_rank(FILE* out, int rank, double seconds, double init_seconds) {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    fprintf(out, "{\"rank\":%d,\"host\":", rank);
    quoted(out, host);
    fprintf(out, ",\"wall\":%.9g,\"init\":%.9g,\"phases\":[", seconds, init_seconds);
    const int* phases;
    const double* times;
    int n = core_phases(&phases, &times);
    for (int i = 0; i < n; i++)
        fprintf(out, "%s[%d,%.9g]", i ? "," : "", phases[i], times[i]);
    fputs("],\"objects\":[", out);
    for (int i = 0; core_object(i); i++) {
        if (i) fputc(',', out);
        quoted(out, core_object(i));
    }
    fputs("],\"calls\":[", out);
    const char* before = "\n";
    for (const struct core_thread* t = __atomic_load_n(&core_threads, __ATOMIC_ACQUIRE); t; t = t->next)
        for (int i = 0; i < t->room; i++)
            if (t->rows[i]) {
                fputs(before, out);
                write_row(out, t->rows[i], t);
                before = ",\n";
            }
    fputs("]}", out);
}

void core_write(MPI_Comm world, double seconds, double init_seconds) {
    const char* path = getenv("SUBSALT_PMPI_OUT");
    int rank, size;
    PMPI_Comm_rank(world, &rank);
    PMPI_Comm_size(world, &size);
    char* text = NULL;
    size_t length = 0;
    FILE* mine = open_memstream(&text, &length);
    if (!mine) abort();
    write_rank(mine, rank, seconds, init_seconds);
    fclose(mine);

    FILE* out = rank == 0 && path ? fopen(path, "w") : NULL;
    if (rank == 0 && path && !out) fprintf(stderr, "subsalt: the profile cannot be written to %s\n", path);
    long long bytes = (long long)length;
    if (rank == 0) {
        char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
        int n;
        PMPI_Get_library_version(library, &n);
        if (out) {
            fputs("{\"schema\":\"subsalt-pmpi-raw-1\",\"library\":", out);
            quoted(out, library);
            fputs(",\"ranks\":[\n", out);
            fwrite(text, 1, length, out);
        }
        for (int r = 1; r < size; r++) {
            MPI_Status status;
            PMPI_Recv(&bytes, 1, MPI_LONG_LONG, r, 7719, world, &status);
            text = realloc(text, (size_t)bytes);
            if (!text) abort();
            /* in pieces, for a count is an int */
            for (long long at = 0; at < bytes; at += 1 << 30)
                PMPI_Recv(text + at, (int)(bytes - at < (1 << 30) ? bytes - at : 1 << 30), MPI_CHAR, r, 7719, world,
                          &status);
            if (out) {
                fputs(",\n", out);
                fwrite(text, 1, (size_t)bytes, out);
            }
        }
        if (out) fputs("],\n\"audit\":", out);
    } else {
        PMPI_Send(&bytes, 1, MPI_LONG_LONG, 0, 7719, world);
        for (long long at = 0; at < bytes; at += 1 << 30)
            PMPI_Send(text + at, (int)(bytes - at < (1 << 30) ? bytes - at : 1 << 30), MPI_CHAR, 0, 7719, world);
    }
    free(text);
    audit_write(out, world);
    if (out) {
        fputs("}\n", out);
        if (fclose(out)) fprintf(stderr, "subsalt: the profile cannot be written to %s\n", path);
    }
}

void core_write_abort(int code, double seconds) {
    const char* path = getenv("SUBSALT_PMPI_OUT");
    char name[4096];
    int rank = -1;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!path || snprintf(name, sizeof name, "%s.abort", path) >= (int)sizeof name) return;
    FILE* out = fopen(name, "w");
    if (!out) return;
    fprintf(out, "{\"rank\":%d,\"code\":%d,\"seconds\":%.9g}\n", rank, code, seconds);
    fclose(out);
}
