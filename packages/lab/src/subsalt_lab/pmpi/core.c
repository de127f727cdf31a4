/* Counts and times MPI calls: one table per thread, so that nothing is locked on the way.
 *
 * A row is the calls of one function from one place, on one communicator, in one phase. Only the outermost call counts:
 * what MPI does through its own functions is part of the call that caused it. The clock is that of the system, for
 * PMPI_Wtime may not be called before MPI runs.
 */
#include "audit.h"
#include "private.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PUBLIC __attribute__((visibility("default")))

struct core_thread* core_threads;
static __thread struct core_thread* self __attribute__((tls_model("initial-exec")));

/* whether calls are recorded: from the end of MPI_Init to the beginning of MPI_Finalize */
static volatile int running;
static int ended;
static double began, init_seconds;
/* sessions that are open, of a program without MPI_Init */
static int sessions, by_session;
static int all_sites;
static int barrier_function = -1, ibarrier_function = -1, finalize_function = -1;

/* seconds of the main thread in each phase */
static int* phase_numbers;
static double* phase_seconds;
static int phase_count, phase_room;
static double phase_since;

struct core_thread* core_self(void) {
    if (self) return self;
    struct core_thread* t = calloc(1, sizeof *t);
    if (!t) abort();
    for (int i = 0; i < 4; i++)
        t->seen[i] = MPI_COMM_NULL;
    t->next = __atomic_load_n(&core_threads, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&core_threads, &t->next, t, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
    return self = t;
}

/* -- phases ------------------------------------------------------------------------------------------------------ */

static void leave_phase(int phase, double now) {
    int i = 0;
    while (i < phase_count && phase_numbers[i] != phase)
        i++;
    if (i == phase_count) {
        if (phase_count == phase_room) {
            phase_room = phase_room ? 2 * phase_room : 64;
            phase_numbers = realloc(phase_numbers, (size_t)phase_room * sizeof *phase_numbers);
            phase_seconds = realloc(phase_seconds, (size_t)phase_room * sizeof *phase_seconds);
            if (!phase_numbers || !phase_seconds) abort();
        }
        phase_numbers[phase_count] = phase;
        phase_seconds[phase_count++] = 0.0;
    }
    phase_seconds[i] += now - phase_since;
    phase_since = now;
}

int core_phases(const int** phases, const double** seconds) {
    *phases = phase_numbers, *seconds = phase_seconds;
    return phase_count;
}

void core_pcontrol(int level) {
    /* levels 0, 1 and 2 have a meaning of their own in the standard: off, normal, flush; as a phase 1 is as good as any
     */
    struct core_thread* t = core_self();
    if (running && t->is_main && level != t->phase) leave_phase(t->phase, core_now());
    t->phase = level;
}

PUBLIC int MPI_Pcontrol(const int level, ...) {
    core_pcontrol(level);
    return MPI_SUCCESS;
}

/* -- rows -------------------------------------------------------------------------------------------------------- */

static size_t place(const char* site, int function, int comm, int phase) {
    uint64_t h = (uint64_t)(uintptr_t)site ^ ((uint64_t)(uint32_t)function << 40) ^ ((uint64_t)(uint32_t)comm << 20) ^
                 (uint64_t)(uint32_t)phase;
    h *= 0x9e3779b97f4a7c15ULL;
    return (size_t)(h >> 20);
}

static void grow(struct core_thread* t) {
    int room = t->room ? 2 * t->room : 256;
    struct core_row** rows = calloc((size_t)room, sizeof *rows);
    if (!rows) abort();
    for (int i = 0; i < t->room; i++) {
        struct core_row* r = t->rows[i];
        if (!r) continue;
        size_t at = place(r->site, r->function, r->comm, r->phase) & (size_t)(room - 1);
        while (rows[at])
            at = (at + 1) & (size_t)(room - 1);
        rows[at] = r;
    }
    free(t->rows);
    t->rows = rows, t->room = room;
}

static struct core_row* row_of(struct core_thread* t, const struct core_call* c) {
    if (2 * t->used >= t->room) grow(t);
    size_t at = place(c->site, c->function, c->comm_index, c->phase) & (size_t)(t->room - 1);
    for (struct core_row* r; (r = t->rows[at]); at = (at + 1) & (size_t)(t->room - 1))
        if (r->site == c->site && r->function == c->function && r->comm == c->comm_index && r->phase == c->phase)
            return r;
    struct core_row* r = calloc(1, sizeof *r);
    if (!r) abort();
    r->site = c->site, r->function = c->function, r->comm = c->comm_index, r->phase = c->phase;
    r->least = 1e300;
    if (core_carries[c->function]) {
        r->bins = calloc(CORE_BINS, sizeof *r->bins);
        if (!r->bins) abort();
    }
    t->rows[at] = r, t->used++;
    return r;
}

/* -- a call ------------------------------------------------------------------------------------------------------ */

static int comm_of(struct core_thread* t, MPI_Comm comm) {
    if (t->seen_at == __atomic_load_n(&core_comm_generation, __ATOMIC_ACQUIRE)) {
        for (int i = 0; i < 4; i++)
            if (t->seen[i] == comm) return t->seen_index[i];
    } else {
        for (int i = 0; i < 4; i++)
            t->seen[i] = MPI_COMM_NULL;
        t->seen_at = core_comm_generation;
    }
    int index = core_comm_lookup(comm);
    t->seen[t->seen_next] = comm, t->seen_index[t->seen_next] = index;
    t->seen_next = (t->seen_next + 1) & 3;
    return index;
}

int core_enter(struct core_call* call, int function, const void* caller, MPI_Comm comm, unsigned flags) {
    if (!running) return 0;
    struct core_thread* t = core_self();
    if (t->depth) return 0;
    t->depth = 1;
    call->thread = t;
    call->function = function, call->flags = flags, call->comm = comm;
    call->comm_index = comm == MPI_COMM_NULL ? 0 : comm_of(t, comm);
    call->phase = t->phase;
    call->bytes = 0;
    call->site = all_sites || function == barrier_function || function == ibarrier_function ? core_site(caller) : NULL;
    return 1;
}

void core_start(struct core_call* call) {
    call->begin = core_now();
    audit_next(call->function, call->comm, call->flags, call->bytes, call->begin);
}

static int bin_of(long long bytes) {
    if (bytes <= 0) return 0;
    int bin = 64 - __builtin_clzll((unsigned long long)bytes);
    return bin < CORE_BINS ? bin : CORE_BINS - 1;
}

void core_leave(struct core_call* call) {
    double end = core_now(), seconds = end - call->begin;
    struct core_thread* t = call->thread;
    struct core_row* r = row_of(t, call);
    r->calls++, r->bytes += call->bytes, r->seconds += seconds;
    if (seconds < r->least) r->least = seconds;
    if (seconds > r->most) r->most = seconds;
    if (r->bins) {
        struct core_bin* b = &r->bins[bin_of(call->bytes)];
        b->calls++, b->bytes += call->bytes, b->seconds += seconds;
    }
    if (call->function == barrier_function || call->function == ibarrier_function)
        audit_barrier(call->comm, call->site, call->phase, call->begin, end);
    t->depth = 0;
}

int core_drop(struct core_call* call) {
    call->thread->depth = 0;
    return MPI_SUCCESS;
}

/* -- begin and end of MPI ---------------------------------------------------------------------------------------- */

void core_begin(double since) {
    if (running || ended) return;
    for (int i = 0; i < core_functions; i++) {
        if (!strcmp(core_names[i], "MPI_Barrier")) barrier_function = i;
        if (!strcmp(core_names[i], "MPI_Ibarrier")) ibarrier_function = i;
        if (!strcmp(core_names[i], "MPI_Finalize")) finalize_function = i;
    }
    const char* sites = getenv("SUBSALT_PMPI_SITES");
    all_sites = sites && *sites && strcmp(sites, "0");
    core_self()->is_main = 1;
    core_comm_begin();
    init_seconds = core_now() - since;
    core_clock_begin();
    began = phase_since = core_now();
    running = 1;
}

static void finish(MPI_Comm world) {
    double now = core_now();
    struct core_thread* t = core_self();
    audit_next(finalize_function, MPI_COMM_NULL, 0, 0, now);
    running = 0, ended = 1;
    leave_phase(t->phase, now);
    core_write(world, now - began, init_seconds);
}

void core_end(void) {
    if (running && !by_session) finish(MPI_COMM_WORLD);
}

void core_abort(int code) {
    if (running) core_write_abort(code, core_now() - began);
}

PUBLIC int MPI_Init(int* argc, char*** argv) {
    double since = core_now();
    core_check_library();
    int result = PMPI_Init(argc, argv);
    if (result == MPI_SUCCESS) core_begin(since);
    return result;
}

PUBLIC int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    double since = core_now();
    core_check_library();
    int result = PMPI_Init_thread(argc, argv, required, provided);
    if (result == MPI_SUCCESS) core_begin(since);
    return result;
}

PUBLIC int MPI_Finalize(void) {
    core_end();
    return PMPI_Finalize();
}

PUBLIC int MPI_Abort(MPI_Comm comm, int code) {
    core_abort(code);
    return PMPI_Abort(comm, code);
}

#ifdef CORE_SESSIONS
PUBLIC int MPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
    double since = core_now();
    core_check_library();
    int result = PMPI_Session_init(info, errhandler, session);
    if (result == MPI_SUCCESS) {
        __atomic_add_fetch(&sessions, 1, __ATOMIC_SEQ_CST);
        if (!running && !ended) by_session = 1, core_begin(since);
    }
    return result;
}

PUBLIC int MPI_Session_finalize(MPI_Session* session) {
    if (__atomic_sub_fetch(&sessions, 1, __ATOMIC_SEQ_CST) == 0 && by_session && running) {
        /* there is no world of all ranks: the last session makes one */
        MPI_Group group;
        MPI_Comm world;
        core_self()->depth = 1;
        if (PMPI_Group_from_session_pset(*session, "mpi://WORLD", &group) == MPI_SUCCESS) {
            if (PMPI_Comm_create_from_group(group, "org.subsalt.profile", MPI_INFO_NULL, MPI_ERRORS_RETURN, &world) ==
                MPI_SUCCESS) {
                finish(world);
                PMPI_Comm_free(&world);
            }
            PMPI_Group_free(&group);
        }
        core_self()->depth = 0;
    }
    return PMPI_Session_finalize(session);
}
#endif
