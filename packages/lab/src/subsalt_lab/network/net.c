// How fast messages go between ranks: latency, streams, both ways at once, collective operations.
//
//     net FACTS                          where the ranks are
//     net SETTING... pairs=0-1,2-3 ...   settings: sizes=0,8,4096 tests=latency,stream,both
//     collectives=allreduce,barrier
//                                        blocks=15 microseconds=2000 seconds=1 threads=multiple
//
// Rank 0 prints lines that begin with "subsalt-net"; `lines.py` reads them. Every block of calls begins together; its
// time is that of the slowest rank, for one call. Nothing is timed before what arrives was compared with what was sent;
// blocks of all sizes take turns, so that a drift of the machine favours none. Needs C11, POSIX clocks, and MPI-2; on
// Linux it tells the processors of each rank.
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WINDOW = 64, MOST_SIZES = 64, TAG = 7, WORD = 4096, VERIFIED = 16 << 20, MOST_CALLS = 1 << 24 };
// exit codes; `errors.py` knows the first
enum { WRONG = 97, IMPOSSIBLE = 96 };

static int rank, ranks, blocks, n_sizes;
static long long sizes[MOST_SIZES], lines;
static double block_seconds, case_seconds;
static unsigned char *in, *out;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void stop(int code, const char* what, const char* where, long long bytes) {
    fprintf(stderr, "net: %s: %s, %lld bytes, rank %d\n", what, where, bytes, rank);
    fflush(stderr);
    // a launcher that ends the ranks drops what it has not read by then
    struct timespec while_it_reads = {0, 200000000};
    nanosleep(&while_it_reads, NULL);
    MPI_Abort(MPI_COMM_WORLD, code);
    _exit(code); // MPICH 5.0.2 returns from MPI_Abort at times, and would go on measuring
}

static double slowest(double seconds) {
    double most;
    MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

// A byte of message `number` from rank `from`: neighbours, messages and ranks all differ.
static unsigned char pattern(int from, long long number, long long i) {
    return (unsigned char)(31 * from + 7 * number + i + (i >> 8) + 1);
}

static void fill(unsigned char* where, int from, long long number, long long bytes) {
    for (long long i = 0; i < bytes; i++)
        where[i] = pattern(from, number, i);
#ifdef PLANT_CORRUPTION // for the test that verification sees it
    if (bytes == PLANT_CORRUPTION && from == 1) where[bytes / 2] ^= 1;
#endif
}

static void expect(const unsigned char* where, int from, long long number, long long bytes, const char* what) {
    for (long long i = 0; i < bytes; i++)
        if (where[i] != pattern(from, number, i)) stop(WRONG, "what arrived is not what was sent", what, bytes);
}

// ---- between two ranks ----------------------------------------------------------------------------------------------

enum { LATENCY, STREAM, BOTH, PAIR_TESTS };

typedef struct {
    int other; // -1: this rank is in no pair
    int first; // this rank sends first, or alone
} Pair;

static void ping_pong(Pair p, long long bytes) {
    if (p.first) {
        MPI_Send(out, (int)bytes, MPI_BYTE, p.other, TAG, MPI_COMM_WORLD);
        MPI_Recv(in, (int)bytes, MPI_BYTE, p.other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(in, (int)bytes, MPI_BYTE, p.other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(out, (int)bytes, MPI_BYTE, p.other, TAG, MPI_COMM_WORLD);
    }
}

// 64 messages in flight: each lands in memory of its own, and a short answer says that all did.
static void window(Pair p, long long bytes, int sends, int receives) {
    MPI_Request requests[2 * WINDOW];
    int n = 0;
    for (int m = 0; receives && m < WINDOW; m++)
        MPI_Irecv(in + m * bytes, (int)bytes, MPI_BYTE, p.other, TAG, MPI_COMM_WORLD, &requests[n++]);
    for (int m = 0; sends && m < WINDOW; m++)
        MPI_Isend(out, (int)bytes, MPI_BYTE, p.other, TAG, MPI_COMM_WORLD, &requests[n++]);
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    char done = 0;
    if (receives) MPI_Send(&done, 1, MPI_BYTE, p.other, TAG + 1, MPI_COMM_WORLD);
    if (sends) MPI_Recv(&done, 1, MPI_BYTE, p.other, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void stream(Pair p, long long bytes) {
    window(p, bytes, p.first, !p.first);
}
static void both(Pair p, long long bytes) {
    window(p, bytes, 1, 1);
}

// Every message of a window another pattern, each way; then the one that is sent while time is taken. Of large messages
// fewer: they take their time on a slow network.
static void verify_pair(Pair p, long long bytes) {
    int messages = bytes > VERIFIED / WINDOW ? (int)(VERIFIED / bytes) + 1 : WINDOW;
    memset(in, 0, (size_t)(WINDOW * bytes));
    for (int way = 0; way < 2; way++) {
        MPI_Request requests[WINDOW];
        for (int m = 0; p.first != way && m < messages; m++)
            MPI_Irecv(in + m * bytes, (int)bytes, MPI_BYTE, p.other, TAG, MPI_COMM_WORLD, &requests[m]);
        for (int m = 0; p.first == way && m < messages; m++) {
            fill(out, rank, m, bytes);
            MPI_Send(out, (int)bytes, MPI_BYTE, p.other, TAG, MPI_COMM_WORLD);
        }
        if (p.first == way) continue;
        MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
        for (int m = 0; m < messages; m++)
            expect(in + m * bytes, p.other, m, bytes, "messages between two ranks");
    }
    fill(out, rank, 0, bytes);
}

// What arrived while time was taken: in the first place the pattern, in all others the same.
static void verify_arrived(Pair p, int test, long long bytes) {
    if (test == STREAM && p.first) return;
    expect(in, p.other, 0, bytes, "messages in flight");
    for (int m = 1; test != LATENCY && m < WINDOW; m++)
        if (memcmp(in, in + m * bytes, (size_t)bytes))
            stop(WRONG, "what arrived is not what was sent", "messages in flight", bytes);
}

static const struct {
    const char* name;
    void (*run)(Pair, long long);
} pair_tests[] = {{"latency", ping_pong}, {"stream", stream}, {"both", both}};

// ---- among all ranks ------------------------------------------------------------------------------------------------

// The root of a call is the next rank: one that stays root would run ahead, or behind, and never be waited for.
static int turn;

static int next_root(void) {
    int root = turn;
    turn = (turn + 1) % ranks;
    return root;
}

// Bytes of the message of one rank; for alltoall and allgather of what it has for each.
static void allreduce(long long b) {
    MPI_Allreduce(out, in, (int)(b / 8), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static void reduce(long long b) {
    MPI_Reduce(out, in, (int)(b / 8), MPI_DOUBLE, MPI_SUM, next_root(), MPI_COMM_WORLD);
}
static void bcast(long long b) {
    int root = next_root();
    MPI_Bcast(rank == root ? out : in, (int)b, MPI_BYTE, root, MPI_COMM_WORLD);
}
static void allgather(long long b) {
    MPI_Allgather(out, (int)b, MPI_BYTE, in, (int)b, MPI_BYTE, MPI_COMM_WORLD);
}
static void alltoall(long long b) {
    MPI_Alltoall(out, (int)b, MPI_BYTE, in, (int)b, MPI_BYTE, MPI_COMM_WORLD);
}
static void barrier(long long b) {
    (void)b;
    MPI_Barrier(MPI_COMM_WORLD);
}

enum { SUMS = 1, TO_EACH = 2, NO_BYTES = 4 };

static const struct {
    const char* name;
    void (*run)(long long);
    int kind;
} collectives[] = {{"allreduce", allreduce, SUMS},    {"reduce", reduce, SUMS},        {"bcast", bcast, 0},
                   {"allgather", allgather, TO_EACH}, {"alltoall", alltoall, TO_EACH}, {"barrier", barrier, NO_BYTES}};

enum { ALLREDUCE, REDUCE, BCAST, ALLGATHER, ALLTOALL, BARRIER, COLLECTIVES };

// What each should leave, from small whole numbers in doubles: sums are exact in any order.
static void verify_collective(int c, long long bytes) {
    const char* name = collectives[c].name;
    double *give = (double*)out, *got = (double*)in;
    turn = 0;
    memset(in, 0, (size_t)(bytes * (collectives[c].kind & TO_EACH ? ranks : 1)));
    if (collectives[c].kind & SUMS) {
        for (long long i = 0; i < bytes / 8; i++)
            give[i] = (double)(rank + 1 + i % 1021);
#ifdef PLANT_CORRUPTION
        if (bytes == PLANT_CORRUPTION && rank == 1) give[0] += 1.0;
#endif
        collectives[c].run(bytes);
        double all = 0.5 * ranks * (ranks + 1);
        for (long long i = 0; i < bytes / 8 && (rank == 0 || c == ALLREDUCE); i++)
            if (got[i] != all + (double)ranks * (double)(i % 1021)) stop(WRONG, "a sum is wrong", name, bytes);
        return;
    }
    for (int to = 0; to < (c == ALLTOALL ? ranks : 1); to++)
        fill(out + to * bytes, rank, to, bytes);
    collectives[c].run(bytes);
    if (c == BCAST && rank) expect(in, 0, 0, bytes, name);
    for (int from = 0; collectives[c].kind & TO_EACH && from < ranks; from++)
        expect(in + from * bytes, from, c == ALLTOALL ? rank : 0, bytes, name);
}

// ---- blocks ---------------------------------------------------------------------------------------------------------

typedef struct {
    int set, test; // set -1: a collective operation
    Pair pair;
} Case;

static void once(Case c, long long bytes) {
    if (c.set < 0)
        collectives[c.test].run(bytes);
    else if (c.pair.other >= 0)
        pair_tests[c.test].run(c.pair, bytes);
}

// Seconds of one of `calls` calls on the slowest rank; `calls` is the same on all ranks.
static double block(Case c, long long bytes, long long calls) {
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = now();
    for (long long k = 0; k < calls; k++)
        once(c, bytes);
    return slowest(now() - begin) / (double)calls;
}

static void measure(Case c, const char* name, int kind) {
    long long calls[MOST_SIZES] = {0};
    int wanted[MOST_SIZES] = {0}, used = 0;
    for (; used < n_sizes; used++) {
        long long bytes = sizes[used];
        if (kind & NO_BYTES && used > 0) break;
        if (c.set < 0 && !(kind & NO_BYTES) && (bytes == 0 || (kind & SUMS && bytes % 8)))
            continue; // nothing to send, or no whole number of doubles
        if (c.set >= 0 && c.pair.other >= 0)
            verify_pair(c.pair, bytes);
        else if (c.set < 0 && !(kind & NO_BYTES))
            verify_collective(c.test, bytes);
        // warm, and long enough for the clock; the fastest so far tells how long a call is, not one that was disturbed
        double seconds = block(c, bytes, 1), again = block(c, bytes, 1);
        seconds = again < seconds ? again : seconds;
        long long n = 1;
        while (seconds * (double)n < block_seconds && n < MOST_CALLS) {
            long long enough = (long long)(1.2 * block_seconds / (seconds > 1e-9 ? seconds : 1e-9)) + 1;
            n = enough < 8 * n ? enough : 8 * n;
            again = block(c, bytes, n);
            seconds = again < seconds ? again : seconds;
        }
        if (c.set >= 0 && c.pair.other >= 0) verify_arrived(c.pair, c.test, bytes);
        calls[used] = n;
        double fit = case_seconds / (seconds * (double)n);
        wanted[used] = fit >= blocks ? blocks : fit > 3.0 ? (int)fit : 3;
        // a larger one would take the measurement beyond all patience
        if (seconds > case_seconds && used + 1 < n_sizes) {
            if (rank == 0) printf("subsalt-net left %d %s %lld\n", c.set, name, sizes[used + 1]), lines++;
            used++;
            break;
        }
    }
    for (int b = 0; b < blocks; b++)
        for (int k = 0; k < used; k++) {
            int s = b % 2 ? used - 1 - k : k;
            if (b >= wanted[s]) continue;
            double seconds = block(c, sizes[s], calls[s]);
            if (rank == 0)
                printf("subsalt-net block %d %s %lld %lld %.9e\n", c.set, name, kind & NO_BYTES ? 0 : sizes[s],
                       calls[s], seconds),
                    lines++;
        }
    fflush(stdout);
}

// ---- what is asked for ----------------------------------------------------------------------------------------------

#ifdef __linux__
// The processors this rank may use, and the sockets they lie on, as lists: "0-1 0", or "- -".
static void processors(char* text, size_t room) {
    cpu_set_t set;
    size_t at = 0;
    CPU_ZERO(&set);
    snprintf(text, room, "- -");
    if (sched_getaffinity(0, sizeof set, &set)) return; // more processors than the set holds
    for (int c = 0; c < CPU_SETSIZE && at < room / 2; c++) {
        if (!CPU_ISSET(c, &set)) continue;
        int last = c;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set))
            last++;
        at += (size_t)snprintf(text + at, room - at, "%s%d-%d", at ? "," : "", c, last);
        c = last;
    }
    size_t begin = at += (size_t)snprintf(text + at, room - at, " ");
    for (int c = 0, before = -1; c < CPU_SETSIZE && at < room - 32; c++) {
        char file[128];
        snprintf(file, sizeof file, "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", c);
        FILE* from = CPU_ISSET(c, &set) ? fopen(file, "r") : NULL;
        int package;
        if (from && fscanf(from, "%d", &package) == 1 && package != before)
            at += (size_t)snprintf(text + at, room - at, "%s%d", at > begin ? "," : "", before = package);
        if (from) fclose(from);
    }
    if (at == begin) snprintf(text + at, room - at, "-");
}
#else
static void processors(char* text, size_t room) {
    snprintf(text, room, "- -");
}
#endif

// Tell which MPI this is and where each rank runs: host, processors of the host, those of the rank, their sockets.
static void facts(void) {
    char mine[WORD] = {0}, where[WORD - 300], host[256] = {0}, version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, level;
    gethostname(host, sizeof host - 1);
    processors(where, sizeof where);
    snprintf(mine, sizeof mine, "%s %ld %s", host, sysconf(_SC_NPROCESSORS_ONLN), where);
    char* all = rank == 0 ? calloc((size_t)ranks, WORD) : NULL;
    MPI_Gather(mine, WORD, MPI_CHAR, all, WORD, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank) return;
    MPI_Query_thread(&level);
    MPI_Get_library_version(version, &length);
    version[strcspn(version, "\n\r")] = 0;
    printf("subsalt-net mpi %s\n", version);
    printf("subsalt-net level %s\n", level == MPI_THREAD_MULTIPLE ? "multiple" : "single");
    for (int r = 0; r < ranks; r++)
        printf("subsalt-net rank %d %s\n", r, all + (size_t)r * WORD);
    lines += 2 + ranks;
    free(all);
}

static int names(const char* list, const char* name) {
    size_t length = strlen(name);
    for (const char* at = list; (at = strstr(at, name)); at += length)
        if ((at == list || at[-1] == ',') && (at[length] == 0 || at[length] == ',')) return 1;
    return 0;
}

static const char* setting(int argc, char** argv, const char* name) {
    size_t length = strlen(name);
    for (int i = 1; i < argc; i++)
        if (!strncmp(argv[i], name, length) && argv[i][length] == '=') return argv[i] + length + 1;
    return "";
}

static Pair pair_in(const char* list) {
    Pair p = {-1, 0};
    int a, b, read;
    while (sscanf(list, "%d-%d%n", &a, &b, &read) == 2) {
        if (a < 0 || b < 0 || a >= ranks || b >= ranks || a == b) stop(IMPOSSIBLE, "no such pair", list, 0);
        if (a == rank || b == rank) p = (Pair){a == rank ? b : a, a == rank};
        list += read;
        list += *list == ',';
    }
    return p;
}

static double number(int argc, char** argv, const char* name, double otherwise) {
    const char* text = setting(argc, argv, name);
    return *text ? atof(text) : otherwise;
}

static void read_sizes(const char* list) {
    for (int read; n_sizes < MOST_SIZES && sscanf(list, "%lld%n", &sizes[n_sizes], &read) == 1; n_sizes++)
        list += read + (list[read] == ',');
}

// Room for a window, or for a message to and from every rank; touched here, so that nobody pays for it later.
static void make_room(int is_collective) {
    long long largest = 8;
    for (int s = 0; s < n_sizes; s++)
        largest = sizes[s] > largest ? sizes[s] : largest;
    int each = is_collective ? ranks : 1;
    size_t room_in = (size_t)largest * (size_t)(each > WINDOW ? each : WINDOW), room_out = (size_t)(largest * each);
    in = malloc(room_in), out = malloc(room_out);
    if (!in || !out) stop(IMPOSSIBLE, "no memory for messages", "buffers", (long long)(room_in + room_out));
    memset(in, 0, room_in), memset(out, 0, room_out);
}

int main(int argc, char** argv) {
    int given, many = strcmp(setting(argc, argv, "threads"), "single");
    MPI_Init_thread(&argc, &argv, many ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    facts();
    const char *tests = setting(argc, argv, "tests"), *operations = setting(argc, argv, "collectives");
    blocks = (int)number(argc, argv, "blocks", 15);
    block_seconds = 1e-6 * number(argc, argv, "microseconds", 2000);
    case_seconds = number(argc, argv, "seconds", 1);
    read_sizes(setting(argc, argv, "sizes"));
    make_room(*operations != 0);
    for (int i = 1, set = 0; i < argc; i++) {
        if (strncmp(argv[i], "pairs=", 6)) continue;
        for (int t = 0; t < PAIR_TESTS; t++)
            if (names(tests, pair_tests[t].name)) measure((Case){set, t, pair_in(argv[i] + 6)}, pair_tests[t].name, 0);
        set++;
    }
    for (int c = 0; c < COLLECTIVES; c++)
        if (names(operations, collectives[c].name))
            measure((Case){-1, c, {-1, 0}}, collectives[c].name, collectives[c].kind);
    if (rank == 0) printf("subsalt-net end %lld\n", lines);
    free(in), free(out);
    MPI_Finalize();
    return 0;
}
