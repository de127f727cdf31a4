/* Where a call was made: program+offset for compiled code, file:line for Python.
 *
 * Every call of mpi4py comes from the same few addresses, so a Python process is asked for the line it is at. That
 * needs the interpreter's lock, which mpi4py gives back before it calls MPI. Python is looked up at run time: most
 * programs have none.
 */
#include "private.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char* texts[ROOM];
static int used;
/* paths of the programs and libraries that calls came from */
enum { OBJECTS = 64 };
static char* objects[OBJECTS];
static int object_count;
/* addresses that were asked for; of compiled code the answer never changes */
static struct {
    const void* address;
    const char* text;
} known[ROOM];

/* Returns one pointer for equal texts. The caller holds the lock. */
static const char* intern(const char* text) {
    for (int i = 0; i < used; i++)
        if (!strcmp(texts[i], text)) return texts[i];
    if (used == ROOM - 1) text = "more sites";
    if (used == ROOM) return texts[ROOM - 1];
    texts[used] = strdup(text);
    if (!texts[used]) abort();
    return texts[used++];
}

/* The caller holds the lock. */
static void remember_object(const char* path) {
    for (int i = 0; i < object_count; i++)
        if (!strcmp(objects[i], path)) return;
    if (object_count < OBJECTS) objects[object_count++] = strdup(path);
}

const char* core_object(int index) {
    return index < object_count ? objects[index] : NULL;
}

static const char* of_code(const void* caller) {
    size_t at = ((uintptr_t)caller >> 2) % ROOM;
    /* an address is written last, so that a reader without the lock finds the text that belongs to it */
    if (__atomic_load_n(&known[at].address, __ATOMIC_ACQUIRE) == caller) return known[at].text;
    Dl_info info;
    struct link_map* map = NULL;
    char text[1024];
    int is_known = dladdr1(caller, &info, (void**)&map, RTLD_DL_LINKMAP) && info.dli_fname && map;
    if (is_known) {
        const char* name = strrchr(info.dli_fname, '/');
        /* as the file counts, so that addr2line understands it */
        snprintf(text, sizeof text, "%s+0x%lx", name ? name + 1 : info.dli_fname,
                 (unsigned long)((uintptr_t)caller - (uintptr_t)map->l_addr));
    } else
        snprintf(text, sizeof text, "0x%lx", (unsigned long)(uintptr_t)caller);
    pthread_mutex_lock(&lock);
    const char* found = intern(text);
    if (is_known) remember_object(info.dli_fname);
    if (!known[at].address) {
        known[at].text = found;
        __atomic_store_n(&known[at].address, caller, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* -- Python ------------------------------------------------------------------------------------------------------ */

static struct {
    int (*is_up)(void);
    int (*is_ending)(void);
    int (*ensure)(void);
    void (*release)(int);
    void* (*frame)(void);
    int (*line)(void*);
    void* (*code)(void*);
    void* (*attribute)(void*, const char*);
    const char* (*utf8)(void*);
    void (*drop)(void*);
    void (*clear)(void);
} py;
static pthread_once_t looked = PTHREAD_ONCE_INIT;

#define LOOK(member, name) *(void**)&py.member = dlsym(RTLD_DEFAULT, name)

static void look(void) {
    LOOK(ensure, "PyGILState_Ensure");
    LOOK(release, "PyGILState_Release");
    LOOK(frame, "PyEval_GetFrame");
    LOOK(line, "PyFrame_GetLineNumber");
    LOOK(code, "PyFrame_GetCode");
    LOOK(attribute, "PyObject_GetAttrString");
    LOOK(utf8, "PyUnicode_AsUTF8");
    LOOK(drop, "Py_DecRef");
    LOOK(clear, "PyErr_Clear");
    LOOK(is_ending, "Py_IsFinalizing");
    if (!py.is_ending) LOOK(is_ending, "_Py_IsFinalizing");
    if (py.ensure && py.release && py.frame && py.line && py.code && py.attribute && py.utf8 && py.drop && py.clear)
        LOOK(is_up, "Py_IsInitialized");
}

static const char* of_python(void) {
    const char* found = NULL;
    int state = py.ensure();
    void* frame = py.frame();
    if (frame) {
        void* code = py.code(frame);
        void* file = code ? py.attribute(code, "co_filename") : NULL;
        const char* path = file ? py.utf8(file) : NULL;
        if (path) {
            char text[1024];
            snprintf(text, sizeof text, "%s:%d", path, py.line(frame));
            pthread_mutex_lock(&lock);
            found = intern(text);
            pthread_mutex_unlock(&lock);
        } else
            py.clear();
        if (file) py.drop(file);
        if (code) py.drop(code);
    }
    py.release(state);
    return found;
}

const char* core_site(const void* caller) {
    pthread_once(&looked, look);
    if (py.is_up && py.is_up() && !(py.is_ending && py.is_ending())) {
        const char* found = of_python();
        if (found) return found;
    }
    return of_code(caller);
}
