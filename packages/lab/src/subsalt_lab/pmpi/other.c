/* Whether the program uses another MPI than the one that the interposer was made for.
 *
 * Then its calls would end in the wrong library. A process that has both is ended before MPI begins, and the file
 * SUBSALT_PMPI_OUT.other names the library of the program.
 */
#include "private.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns the number of the interface in a name such as libmpi.so.12, 0 for other files. */
static int interface_of(const char* path) {
    static const char* const stems[] = {"libmpi.so.", "libmpich.so.", "libmpi_cray.so.", "libmpi_abi.so."};
    const char* slash = strrchr(path, '/');
    const char* name = slash ? slash + 1 : path;
    for (int i = 0; i < 4; i++)
        if (!strncmp(name, stems[i], strlen(stems[i]))) return atoi(name + strlen(stems[i]));
    return 0;
}

static int look(struct dl_phdr_info* info, size_t size, void* found) {
    (void)size;
    int its = interface_of(info->dlpi_name), ours = interface_of(getenv("SUBSALT_PMPI_LIBRARY"));
    if (its && ours && its != ours) snprintf(found, 4096, "%s", info->dlpi_name);
    return 0;
}

void core_check_library(void) {
    const char* path = getenv("SUBSALT_PMPI_OUT");
    char other[4096] = "", name[4096];
    if (!path || !getenv("SUBSALT_PMPI_LIBRARY")) return;
    dl_iterate_phdr(look, other);
    if (!*other) return;
    fprintf(stderr, "subsalt: this program uses %s, its calls cannot be seen with %s\n", other,
            getenv("SUBSALT_PMPI_LIBRARY"));
    if (snprintf(name, sizeof name, "%s.other", path) < (int)sizeof name) {
        FILE* out = fopen(name, "w");
        if (out) {
            fprintf(out, "\"%s\"\n", other);
            fclose(out);
        }
    }
    _exit(69);
}

__attribute__((constructor)) static void at_load(void) {
    core_check_library();
}
