/* Names of communicators on which all members agree without a message.
 *
 * world/2.4 is the third that was made from world by calls in which all its ranks take part (numbered from 0), the one
 * whose rank 0 is rank 4 of the world: calls of that kind come in one order everywhere, and a split makes several
 * communicators, of which no two have the same rank 0. A group that makes one by itself (MPI_Comm_create_group) is
 * named by its tag instead of the number.
 */
#include "private.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096, SLOTS = 4 * MOST };

struct named {
    char* name;
    int size;
    int made; /* collective calls that made communicators from it */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct named comms[MOST] = {{"", 0, 0}};
static int count = 1;
/* handle -> index; the handle of a slot that was used and is free again is SLOT_FREED */
static struct {
    uintptr_t handle;
    int index, state;
} slots[SLOTS];
enum { SLOT_NEVER, SLOT_USED, SLOT_FREED };

unsigned core_comm_generation = 1;

static uintptr_t key(MPI_Comm comm) {
    return (uintptr_t)comm;
}

static size_t first_slot(uintptr_t handle) {
    return (size_t)(((uint64_t)handle * 0x9e3779b97f4a7c15ULL) >> 40) % SLOTS;
}

/* Returns the slot of a handle, -1 when it has none. The caller holds the lock. */
static int find(uintptr_t handle) {
    size_t at = first_slot(handle);
    for (int n = 0; n < SLOTS && slots[at].state != SLOT_NEVER; n++, at = (at + 1) % SLOTS)
        if (slots[at].state == SLOT_USED && slots[at].handle == handle) return (int)at;
    return -1;
}

/* The caller holds the lock. */
static int add(MPI_Comm comm, const char* name) {
    int index;
    for (index = 1; index < count; index++)
        if (!strcmp(comms[index].name, name)) break;
    if (index == count) {
        if (count == MOST - 1) name = "more";
        if (count == MOST) return MOST - 1;
        comms[index].name = strdup(name);
        PMPI_Comm_size(comm, &comms[index].size);
        count++;
    }
    size_t at = first_slot(key(comm));
    for (int n = 0; n < SLOTS; n++, at = (at + 1) % SLOTS)
        if (slots[at].state != SLOT_USED) {
            slots[at].handle = key(comm), slots[at].index = index, slots[at].state = SLOT_USED;
            break;
        }
    return index;
}

/* The rank in the world of rank 0 of a communicator; -1 without a world. */
static int first_rank(MPI_Comm comm) {
    int up = 0, zero = 0, there = -1;
    PMPI_Initialized(&up);
    if (!up) return -1;
    MPI_Group mine, all;
    PMPI_Comm_group(comm, &mine);
    PMPI_Comm_group(MPI_COMM_WORLD, &all);
    PMPI_Group_translate_ranks(mine, 1, &zero, all, &there);
    PMPI_Group_free(&mine);
    PMPI_Group_free(&all);
    return there == MPI_UNDEFINED ? -1 : there;
}

int core_comm_lookup(MPI_Comm comm) {
    pthread_mutex_lock(&lock);
    int at = find(key(comm)), index = at >= 0 ? slots[at].index : -1;
    if (index < 0) {
        /* made in a way that is not seen: by a Fortran program, a spawn, or a call that has not come to its end */
        char name[64];
        int size = 0;
        PMPI_Comm_size(comm, &size);
        snprintf(name, sizeof name, "other/%d.%d", size, first_rank(comm));
        index = add(comm, name);
    }
    pthread_mutex_unlock(&lock);
    return index;
}

void core_comm_begin(void) {
    int up = 0;
    PMPI_Initialized(&up);
    if (!up) return;
    pthread_mutex_lock(&lock);
    add(MPI_COMM_WORLD, "world");
    add(MPI_COMM_SELF, "self");
    pthread_mutex_unlock(&lock);
}

void core_comm_made(MPI_Comm parent, MPI_Comm made, const char* tag) {
    int from = parent == MPI_COMM_NULL ? 0 : core_comm_lookup(parent);
    int first = made == MPI_COMM_NULL ? -1 : first_rank(made);
    pthread_mutex_lock(&lock);
    /* who is not in it has taken part all the same */
    int number = tag ? 0 : comms[from].made++;
    if (made != MPI_COMM_NULL) {
        char after[160];
        if (tag)
            snprintf(after, sizeof after, "%s%s.%d", from ? "/" : "", tag, first);
        else
            snprintf(after, sizeof after, "/%d.%d", number, first);
        size_t room = strlen(comms[from].name) + strlen(after) + 1;
        char* name = malloc(room);
        if (!name) abort();
        snprintf(name, room, "%s%s", comms[from].name, after);
        /* a handle that was freed in a way that is not seen may be used again */
        int at = find(key(made));
        if (at >= 0) slots[at].state = SLOT_FREED;
        add(made, name);
        free(name);
        __atomic_add_fetch(&core_comm_generation, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
}

void core_comm_freed(MPI_Comm comm) {
    pthread_mutex_lock(&lock);
    int at = find(key(comm));
    if (at >= 0) slots[at].state = SLOT_FREED;
    __atomic_add_fetch(&core_comm_generation, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}

int core_comm_count(void) {
    return count;
}

const char* core_comm_at(int index, int* size) {
    *size = comms[index].size;
    return comms[index].name;
}

const char* core_comm_name(MPI_Comm comm, int* size) {
    *size = 0;
    return comm == MPI_COMM_NULL ? "" : core_comm_at(core_comm_lookup(comm), size);
}
