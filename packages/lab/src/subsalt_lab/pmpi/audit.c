/* The audit of barriers: how long each took on this rank, and which call came before and after it.
 *
 * What a class is made of is decided elsewhere (subsalt_lab.barriers); here stand the facts. The call after a barrier
 * is the next one of the same thread that another rank could notice: questions about types, sizes and the like are
 * passed over. The gap between the two tells how much of a wait would only move there. See audit_write.c for the
 * numbers over ranks.
 */
#include "audit.h"
#include "audit_rows.h"
#include "private.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* what an audit makes of a function */
enum kind { OTHER, LOCAL, FILES, RMA, MAKES_COMM, FINALIZE, BARRIER, IBARRIER };

struct audit_row* audit_rows;
struct audit_comm* audit_comms;
int audit_wildcard;
int audit_ready;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned char* kinds;
static int* opens; /* 1: makes a window, 2: one of shared memory, -1: frees one */
static int barrier_function = -1;
/* windows that are open, and those among them with memory that ranks share; the latter are never taken back */
static int windows, shared;
static char** skipped_sites;

/* Of one thread: the barrier whose next call is awaited, and what came last. */
struct state {
    struct audit_row* pending;
    int at; /* its instance, -1 beyond those that are kept */
    double end;
    unsigned reasons;
    enum kind before;
    unsigned before_flags;
    int function;
};
static __thread struct state mine __attribute__((tls_model("initial-exec")));

static int starts(const char* text, const char* with) {
    return !strncmp(text, with, strlen(with));
}

/* Whether a name is in a list of names between spaces. */
static int among(const char* name, const char* list) {
    size_t length = strlen(name);
    for (const char* at = list; (at = strstr(at, name)); at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) return 1;
    return 0;
}

/* Calls that no other rank can notice, and that wait for none; Comm_free is one as far as anyone waits. */
static const char LOCAL_CALLS[] =
    "Comm_rank Comm_size Comm_remote_size Comm_remote_group Comm_group Comm_test_inter Comm_compare Comm_free "
    "Comm_get_attr Comm_set_attr Comm_delete_attr Comm_get_name Comm_set_name Comm_get_errhandler Comm_set_errhandler "
    "Comm_call_errhandler Comm_create_errhandler Comm_create_keyval Comm_free_keyval Comm_get_info Comm_set_info "
    "Comm_get_parent Comm_attach_buffer Comm_detach_buffer Comm_flush_buffer Cart_coords Cart_rank Cart_shift Cart_get "
    "Cartdim_get Cart_map Graph_get Graph_map Graphdims_get Graph_neighbors Graph_neighbors_count "
    "Dist_graph_neighbors Dist_graph_neighbors_count Dims_create Topo_test Initialized Finalized Is_thread_main "
    "Query_thread Address Pack Pack_size Pack_external Pack_external_size Unpack Unpack_external Alloc_mem Free_mem "
    "Request_free Request_get_status Pcontrol Wtime Wtick Get_count Get_address Get_elements Get_elements_x "
    "Get_processor_name Get_version Get_library_version Get_hw_resource_info Add_error_class Add_error_code "
    "Add_error_string Remove_error_class Remove_error_code Remove_error_string Test_cancelled Keyval_create "
    "Keyval_free "
    "Abi_get_version Abi_get_info Win_get_attr Win_set_attr Win_get_name Win_set_name Win_get_group Win_get_info "
    "Win_set_info Win_get_errhandler Win_set_errhandler Win_create_errhandler Win_create_keyval Win_free_keyval "
    "Win_delete_attr Win_call_errhandler File_create_errhandler Register_datarep";
static const char* const LOCAL_BEGINNINGS[] = {"Type_",       "Group_", "Op_",     "Info_",     "Error_",
                                               "Errhandler_", "Attr_",  "Status_", "Grequest_", "Buffer_",
                                               "Session_",    "Aint_",  "T_",      "Abi_"};
static const char MAKERS[] =
    "Comm_dup Comm_dup_with_info Comm_idup Comm_idup_with_info Comm_create Comm_create_group Comm_create_from_group "
    "Comm_split Comm_split_type Cart_create Cart_sub Graph_create Dist_graph_create Dist_graph_create_adjacent "
    "Intercomm_create Intercomm_create_from_groups Intercomm_merge Comm_accept Comm_connect Comm_join Comm_spawn "
    "Comm_spawn_multiple";
static const char ONE_SIDED[] =
    "Put Get Accumulate Get_accumulate Fetch_and_op Compare_and_swap Rput Rget Raccumulate Rget_accumulate";

static enum kind kind_of(const char* name) {
    if (!strcmp(name, "Barrier")) return BARRIER;
    if (!strcmp(name, "Ibarrier")) return IBARRIER;
    if (!strcmp(name, "Finalize")) return FINALIZE;
    if (among(name, LOCAL_CALLS)) return LOCAL;
    for (size_t i = 0; i < sizeof LOCAL_BEGINNINGS / sizeof *LOCAL_BEGINNINGS; i++)
        if (starts(name, LOCAL_BEGINNINGS[i])) return LOCAL;
    if (among(name, MAKERS)) return MAKES_COMM;
    if (starts(name, "File_")) return FILES;
    if (starts(name, "Win_") || among(name, ONE_SIDED)) return RMA;
    return OTHER;
}

static int window_of(const char* name) {
    if (!strcmp(name, "Win_free")) return -1;
    if (!strcmp(name, "Win_allocate_shared")) return 2;
    return among(name, "Win_create Win_allocate Win_create_dynamic");
}

/* Sites to pass over, from SUBSALT_PMPI_SKIP: separated by semicolons, other signs as %XX. */
static void read_sites(const char* text) {
    if (!text || !*text) return;
    char *list = strdup(text), *next = list, *rest = NULL;
    size_t count = 2;
    for (const char* at = list; *at; at++)
        count += *at == ';';
    skipped_sites = calloc(count, sizeof *skipped_sites);
    if (!skipped_sites || !next) abort();
    count = 0;
    for (char* site; (site = strtok_r(next, ";", &rest)); next = NULL) {
        char* to = site;
        for (const char* from = site; *from; from++) {
            char digits[3] = {0};
            if (*from == '%' && from[1] && from[2]) {
                digits[0] = *++from, digits[1] = *++from;
                *to++ = (char)strtol(digits, NULL, 16);
            } else {
                *to++ = *from;
            }
        }
        *to = '\0';
        skipped_sites[count++] = site;
    }
}

__attribute__((constructor)) static void prepare(void) {
    kinds = calloc((size_t)core_functions, sizeof *kinds);
    opens = calloc((size_t)core_functions, sizeof *opens);
    if (!kinds || !opens) abort();
    for (int i = 0; i < core_functions; i++) {
        char name[128];
        snprintf(name, sizeof name, "%s", core_names[i] + (starts(core_names[i], "MPI_") ? 4 : 0));
        size_t length = strlen(name);
        if (length > 2 && !strcmp(name + length - 2, "_c")) name[length - 2] = '\0';
        kinds[i] = (unsigned char)kind_of(name);
        opens[i] = window_of(name);
        if (kinds[i] == BARRIER) barrier_function = i;
    }
    read_sites(getenv("SUBSALT_PMPI_SKIP"));
}

/* -- tables; the caller holds the lock --------------------------------------------------------------------------- */

static struct audit_comm* comm_of(MPI_Comm comm) {
    int size;
    const char* name = core_comm_name(comm, &size);
    for (struct audit_comm* c = audit_comms; c; c = c->next)
        if (c->name == name) return c;
    struct audit_comm* c = calloc(1, sizeof *c);
    if (!c) abort();
    c->name = name, c->size = size;
    /* kept: when its next call comes, the communicator itself may have been freed */
    PMPI_Comm_group(comm, &c->group);
    PMPI_Comm_test_inter(comm, &c->is_inter);
    c->next = audit_comms, audit_comms = c;
    return c;
}

static struct audit_row* row_of(const char* site, struct audit_comm* comm, int phase, int function) {
    for (struct audit_row* r = audit_rows; r; r = r->next)
        if (r->site == site && r->comm == comm && r->phase == phase && r->function == function) return r;
    struct audit_row* r = calloc(1, sizeof *r);
    if (!r) abort();
    r->site = site, r->comm = comm, r->phase = phase, r->function = function;
    r->next = audit_rows, audit_rows = r;
    return r;
}

/* How the communicator of the next call stands to that of the barrier. */
static int relation(struct audit_comm* barrier, MPI_Comm next) {
    int size, inter = 0;
    if (next == MPI_COMM_NULL) return AUDIT_NONE;
    const char* name = core_comm_name(next, &size);
    if (name == barrier->name) return AUDIT_SAME;
    for (int i = 0; i < AUDIT_KNOWN; i++)
        if (barrier->known[i].name == name) return barrier->known[i].relation;
    int found = AUDIT_OTHER;
    PMPI_Comm_test_inter(next, &inter);
    if (!inter && !barrier->is_inter) {
        MPI_Group group;
        int inside = 0, *from = malloc(2 * (size_t)barrier->size * sizeof *from), *to = from + barrier->size;
        if (!from) abort();
        for (int i = 0; i < barrier->size; i++)
            from[i] = i;
        PMPI_Comm_group(next, &group);
        PMPI_Group_translate_ranks(barrier->group, barrier->size, from, group, to);
        PMPI_Group_free(&group);
        for (int i = 0; i < barrier->size; i++)
            inside += to[i] != MPI_UNDEFINED;
        free(from);
        if (inside == barrier->size)
            found = size > inside ? AUDIT_LARGER : AUDIT_SAME;
        else if (inside == size)
            found = AUDIT_SMALLER;
    }
    int at = barrier->next_known++ % AUDIT_KNOWN;
    barrier->known[at].name = name, barrier->known[at].relation = found;
    return found;
}

/* Whether nothing but questions was asked of a communicator before its first barrier. */
static int is_unused(MPI_Comm comm, const struct audit_comm* c) {
    if (!strcmp(c->name, "world") || !strcmp(c->name, "self")) return 0;
    const struct core_thread* t = core_self();
    int index = core_comm_lookup(comm);
    for (int i = 0; i < t->room; i++) {
        const struct core_row* r = t->rows[i];
        if (r && r->comm == index && kinds[r->function] != LOCAL && kinds[r->function] != BARRIER) return 0;
    }
    return 1;
}

static void reason(unsigned which) {
    if (mine.reasons & (1u << which)) return;
    mine.reasons |= 1u << which;
    mine.pending->kept[which]++;
}

/* The call after the barrier that is pending has come. */
static void follow(int function, MPI_Comm comm, unsigned flags, long long bytes, double begin, const char* site) {
    struct audit_row* r = mine.pending;
    enum kind kind = (enum kind)kinds[function];
    int where = core_carries[function] && bytes == 0 && !site ? AUDIT_EMPTY : relation(r->comm, comm);
    struct audit_follow* f;
    for (f = r->follows; f; f = f->next)
        if (f->function == function && f->relation == where && f->site == site) break;
    if (!f) {
        f = calloc(1, sizeof *f);
        if (!f) abort();
        f->function = function, f->relation = where, f->site = site;
        f->next = r->follows, r->follows = f;
    }
    f->calls++;
    if (mine.at >= 0) r->gap[mine.at] = (float)(begin - mine.end);
    if (kind == FILES) reason(AUDIT_FILE_AFTER);
    if (kind == RMA) reason(AUDIT_RMA);
    if (kind == FINALIZE) reason(AUDIT_FINALIZE);
    if (flags & CORE_ANY_SOURCE) reason(AUDIT_WILDCARD);
    mine.pending = NULL;
}

/* -- what the interposer tells ----------------------------------------------------------------------------------- */

void audit_next(int function, MPI_Comm comm, unsigned flags, long long bytes, double begin) {
    if (function < 0 || kinds[function] == LOCAL) return;
    mine.function = function;
    if (flags & CORE_ANY_SOURCE) audit_wildcard = 1;
    if (flags & CORE_READY) audit_ready = 1;
    /* of a barrier the site is known when it has ended */
    if (kinds[function] == BARRIER) return;
    if (mine.pending) {
        pthread_mutex_lock(&lock);
        follow(function, comm, flags, bytes, begin, NULL);
        pthread_mutex_unlock(&lock);
    }
    if (opens[function]) {
        __atomic_add_fetch(&windows, opens[function] > 0 ? 1 : -1, __ATOMIC_RELAXED);
        if (opens[function] == 2) __atomic_store_n(&shared, 1, __ATOMIC_RELAXED);
    }
    mine.before = (enum kind)kinds[function];
    mine.before_flags = flags;
}

int audit_skip(MPI_Comm comm, const char* site) {
    if (!skipped_sites || !site || comm == MPI_COMM_NULL) return 0;
    for (char** s = skipped_sites; *s; s++) {
        if (strcmp(*s, site) != 0) continue;
        pthread_mutex_lock(&lock);
        struct audit_comm* c = comm_of(comm);
        c->barriers++;
        row_of(site, c, core_self()->phase, barrier_function)->skipped++;
        pthread_mutex_unlock(&lock);
        return 1;
    }
    return 0;
}

void audit_barrier(MPI_Comm comm, const char* site, int phase, double begin, double end) {
    /* an error, which MPI has reported */
    if (comm == MPI_COMM_NULL) return;
    pthread_mutex_lock(&lock);
    int is_barrier = kinds[mine.function] == BARRIER;
    if (mine.pending && is_barrier) follow(mine.function, comm, 0, 0, begin, site);
    struct audit_comm* c = comm_of(comm);
    struct audit_row* r = row_of(site, c, phase, mine.function);
    r->calls++, r->seconds += end - begin;
    /* ranks that call it in the same places of the order of all barriers of the communicator have the same number */
    r->order = (r->order ^ (unsigned long long)++c->barriers) * 1099511628211ULL;
    if (is_barrier) {
        mine.pending = r, mine.end = end, mine.at = -1, mine.reasons = 0;
        if (r->stored < AUDIT_INSTANCES) {
            if (r->stored == r->room) {
                r->room = r->room ? 2 * r->room : 64;
                r->took = realloc(r->took, (size_t)r->room * sizeof *r->took);
                r->gap = realloc(r->gap, (size_t)r->room * sizeof *r->gap);
                if (!r->took || !r->gap) abort();
            }
            mine.at = r->stored++;
            r->took[mine.at] = (float)(end - begin), r->gap[mine.at] = 0.0f;
            r->stored_seconds += end - begin;
        }
        if (mine.before == FILES) reason(AUDIT_FILE_BEFORE);
        if (mine.before == RMA) reason(AUDIT_RMA);
        if (mine.before_flags & CORE_ANY_SOURCE) reason(AUDIT_WILDCARD);
        if (mine.before == MAKES_COMM || (c->barriers == 1 && is_unused(comm, c))) reason(AUDIT_FRESH);
        if (__atomic_load_n(&windows, __ATOMIC_RELAXED) > 0) reason(AUDIT_WINDOW);
        if (__atomic_load_n(&shared, __ATOMIC_RELAXED)) reason(AUDIT_SHARED);
    }
    mine.before = is_barrier ? BARRIER : IBARRIER;
    mine.before_flags = 0;
    pthread_mutex_unlock(&lock);
}
