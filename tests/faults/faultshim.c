/* Counts the file operations of a process below some folders, over all its threads, and strikes at the k-th: of all, or
   of those that do one thing to one file, "rename /folder/image.sgy", which no thread beside it and no clock shifts.

   Preloaded (LD_PRELOAD) it sees what Python, SQLite and the threads of the native store ask of the C library. Set by the
   environment (FAULT_AT, FAULT_NAMED, FAULT_MODE, FAULT_ARG, FAULT_UNDER, FAULT_LOG, FAULT_RANK), or by `fault_arm` in a
   forked child. In names and in the log a word of eight hexadecimal digits or more, drawn by chance, is a *. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { COUNT, KILL, TORN, ONCE, FOREVER, SHORT };  /* SHORT: at most `arg` bytes per call, and EINTR now and then */

static atomic_long calls, struck, begun;
static long at;
static char named[PATH_MAX + 32];
static int mode = -1, arg, log_fd = -1;
static char under[8][PATH_MAX];
static int n_under;

#define REAL(name) \
  static __typeof__(&name) real; \
  if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

int fault_arm(long when, int how, int what, const char* folders, const char* log, const char* name) {
  at = when, mode = how, arg = what, n_under = 0;
  snprintf(named, sizeof named, "%s", name);
  atomic_store(&calls, 0);
  atomic_store(&struck, 0);
  atomic_store(&begun, 0);
  char all[8 * PATH_MAX], *rest = all, *one;
  snprintf(all, sizeof all, "%s", folders);
  while (n_under < 8 && (one = strsep(&rest, ":")))
    if (*one) snprintf(under[n_under++], PATH_MAX, "%s", one);
  if (log_fd >= 0) syscall(SYS_close, log_fd);
  log_fd = *log ? (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
  return n_under;
}

long fault_calls(void) { return atomic_load(&calls); }

__attribute__((constructor)) static void begin(void) {
  const char *when = getenv("FAULT_AT"), *rank = getenv("FAULT_RANK"), *mine = getenv("PMI_RANK");
  const char *how = getenv("FAULT_MODE"), *what = getenv("FAULT_ARG"), *where = getenv("FAULT_UNDER");
  const char *log = getenv("FAULT_LOG"), *name = getenv("FAULT_NAMED");
  if (!when || !where || (rank && mine && strcmp(rank, mine))) return;
  fault_arm(atol(when), how ? atoi(how) : COUNT, what ? atoi(what) : 0, where, log ? log : "", name ? name : "");
}

static int watched(const char* path) {
  for (int i = 0; i < n_under; i++) {
    const size_t n = strlen(under[i]);
    if (!strncmp(path, under[i], n) && (path[n] == '/' || !path[n])) return 1;
  }
  return 0;
}

static const char* of_fd(int fd, char* into) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = syscall(SYS_readlinkat, AT_FDCWD, link, into, PATH_MAX - 1);
  into[n > 0 ? n : 0] = 0;
  return into;
}

static const char* of_path(int dir, const char* path, char* into) {
  char base[PATH_MAX];
  if (*path == '/') return path;
  if (dir == AT_FDCWD) {
    if (syscall(SYS_getcwd, base, sizeof base) < 0) *base = 0;
  } else {
    of_fd(dir, base);
  }
  snprintf(into, PATH_MAX, "%.2000s/%.2000s", base, path);
  return into;
}

/* Writes "OPERATION PATH" with words drawn by chance in the last part of the path as *. */
static void name_of(const char* operation, const char* path, char* into) {
  char* out = into + sprintf(into, "%s ", operation);
  const char* last = strrchr(path, '/');
  for (const char* in = path; *in;) {
    size_t n = 0;
    if (in > last && !isalnum(in[-1]))
      while (isxdigit(in[n])) n++;
    if (n >= 8 && !isalnum(in[n])) {
      *out++ = '*', in += n;
    } else {
      *out++ = *in++;
    }
  }
  *out = 0;
}

/* Counts an operation. Returns 0 to let it pass, an errno to fail it with, -1 to do half of it and die. */
static int asked(const char* name, const char* path, int bytes) {
  if (mode < 0 || mode == SHORT || !watched(path)) return 0;
  char said[PATH_MAX + 32];
  name_of(name, path, said);
  const int meant = !*named || !strcmp(named, said);
  const long k = meant ? atomic_fetch_add(&calls, 1) + 1 : 0;
  if (meant && k == at) atomic_store(&begun, 1);
  const int due = mode != COUNT && ((meant && k == at) || (mode == FOREVER && atomic_load(&begun)));
  /* clearing up must work, as it does on a real full disk */
  const int free_of_it = (mode == ONCE || mode == FOREVER) && !strncmp(name, "unlink", 6);
  if (log_fd >= 0 && (mode == COUNT || (due && !free_of_it && !atomic_exchange(&struck, 1)))) {
    char line[PATH_MAX + 64];
    const int n = snprintf(line, sizeof line, "%ld %s\n", k, said);
    syscall(SYS_write, log_fd, line, n);
  }
  if (!due || free_of_it) return 0;
  if (mode == TORN && bytes) return -1;
  if (mode == KILL || mode == TORN) {
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;) pause();
  }
  return arg;
}

static void die(void) {
  syscall(SYS_kill, getpid(), SIGKILL);
  for (;;) pause();
}

/* For short transfers: how many bytes of n may go, 0 for EINTR. */
static size_t some(int fd, size_t n) {
  char path[PATH_MAX];
  if (mode != SHORT || !watched(of_fd(fd, path))) return n;
  const long k = atomic_fetch_add(&calls, 1) + 1;
  if (k % 7 == 0) return 0;
  return n > (size_t)arg ? (size_t)arg : n;
}

#define STRIKE(name, path, bytes, half) \
  do { \
    const int error_ = asked(name, path, bytes); \
    if (error_ < 0) { (void)!(half); die(); } \
    if (error_ > 0) { errno = error_; return -1; } \
  } while (0)


ssize_t write(int fd, const void* data, size_t n) {
  REAL(write);
  char path[PATH_MAX];
  if (mode < 0) return real(fd, data, n);
  STRIKE("write", of_fd(fd, path), 1, real(fd, data, n / 2));
  const size_t m = some(fd, n);
  if (!m && n) { errno = EINTR; return -1; }
  return real(fd, data, m);
}

#define POSITIONED_WRITE(name, off) \
  ssize_t name(int fd, const void* data, size_t n, off offset) { \
    REAL(name); \
    char path[PATH_MAX]; \
    if (mode < 0) return real(fd, data, n, offset); \
    STRIKE(#name, of_fd(fd, path), 1, real(fd, data, n / 2, offset)); \
    const size_t m = some(fd, n); \
    if (!m && n) { errno = EINTR; return -1; } \
    return real(fd, data, m, offset); \
  }
POSITIONED_WRITE(pwrite, off_t)
POSITIONED_WRITE(pwrite64, off64_t)

#define POSITIONED_READ(name, off) \
  ssize_t name(int fd, void* data, size_t n, off offset) { \
    REAL(name); \
    if (mode != SHORT) return real(fd, data, n, offset); \
    const size_t m = some(fd, n); \
    if (!m && n) { errno = EINTR; return -1; } \
    return real(fd, data, m, offset); \
  }
POSITIONED_READ(pread, off_t)
POSITIONED_READ(pread64, off64_t)

#define VECTORS(name, off) \
  ssize_t name(int fd, const struct iovec* parts, int count, off offset) { \
    REAL(name); \
    if (mode != SHORT || count < 1) return real(fd, parts, count, offset); \
    struct iovec one = parts[0]; \
    const size_t m = some(fd, one.iov_len); \
    if (!m && one.iov_len) { errno = EINTR; return -1; } \
    if (m == one.iov_len) return real(fd, parts, count, offset); \
    one.iov_len = m; \
    return real(fd, &one, 1, offset); \
  }
VECTORS(preadv, off_t)
VECTORS(preadv64, off64_t)

int fsync(int fd) {
  REAL(fsync);
  char path[PATH_MAX];
  if (mode >= 0) STRIKE("fsync", of_fd(fd, path), 0, 0);
  return real(fd);
}

int fdatasync(int fd) {
  REAL(fdatasync);
  char path[PATH_MAX];
  if (mode >= 0) STRIKE("fdatasync", of_fd(fd, path), 0, 0);
  return real(fd);
}

int ftruncate(int fd, off_t n) {
  REAL(ftruncate);
  char path[PATH_MAX];
  if (mode >= 0) STRIKE("ftruncate", of_fd(fd, path), 0, 0);
  return real(fd, n);
}

int ftruncate64(int fd, off64_t n) {
  REAL(ftruncate64);
  char path[PATH_MAX];
  if (mode >= 0) STRIKE("ftruncate", of_fd(fd, path), 0, 0);
  return real(fd, n);
}

int rename(const char* from, const char* to) {
  REAL(rename);
  char path[PATH_MAX];
  if (mode >= 0) STRIKE("rename", of_path(AT_FDCWD, to, path), 0, 0);
  return real(from, to);
}

int renameat(int a, const char* from, int b, const char* to) {
  REAL(renameat);
  char path[PATH_MAX];
  if (mode >= 0) STRIKE("rename", of_path(b, to, path), 0, 0);
  return real(a, from, b, to);
}

int unlink(const char* name) {
  REAL(unlink);
  char path[PATH_MAX];
  if (mode >= 0) STRIKE("unlink", of_path(AT_FDCWD, name, path), 0, 0);
  return real(name);
}

int unlinkat(int dir, const char* name, int flags) {
  REAL(unlinkat);
  char path[PATH_MAX];
  if (mode >= 0) STRIKE("unlink", of_path(dir, name, path), 0, 0);
  return real(dir, name, flags);
}

int mkdir(const char* name, mode_t bits) {
  REAL(mkdir);
  char path[PATH_MAX];
  if (mode >= 0) STRIKE("mkdir", of_path(AT_FDCWD, name, path), 0, 0);
  return real(name, bits);
}

int mkdirat(int dir, const char* name, mode_t bits) {
  REAL(mkdirat);
  char path[PATH_MAX];
  if (mode >= 0) STRIKE("mkdir", of_path(dir, name, path), 0, 0);
  return real(dir, name, bits);
}

#define OPEN(name) \
  int name(const char* file, int flags, ...) { \
    REAL(name); \
    va_list more; \
    va_start(more, flags); \
    const mode_t bits = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; \
    va_end(more); \
    char path[PATH_MAX]; \
    if (mode >= 0 && flags & O_CREAT) STRIKE("create", of_path(AT_FDCWD, file, path), 0, 0); \
    return real(file, flags, bits); \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(name) \
  int name(int dir, const char* file, int flags, ...) { \
    REAL(name); \
    va_list more; \
    va_start(more, flags); \
    const mode_t bits = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; \
    va_end(more); \
    char path[PATH_MAX]; \
    if (mode >= 0 && flags & O_CREAT) STRIKE("create", of_path(dir, file, path), 0, 0); \
    return real(dir, file, flags, bits); \
  }
OPENAT(openat)
OPENAT(openat64)
