// Preloaded into a program: lets system calls on some files fail, and shifts the wall clock, as a mapped file says.
// FAULT_CONTROL names that file: eight numbers of 64 bits, see bench/suites/chaos/faults.py.
// FAULT_FILES is what the path of a file must contain for its calls to fail; shared memory of SQLite is left alone.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { WRITE, READ, SYNC, TRUNCATE, SHORT, ERROR, CLOCK, SIZE };

static volatile int64_t none[SIZE];
static volatile int64_t *control = none;
static const char *files;

__attribute__((constructor)) static void map_control(void) {
    const char *path = getenv("FAULT_CONTROL");
    files = getenv("FAULT_FILES");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *mapped = mmap(NULL, sizeof none, PROT_READ, MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED) control = mapped;
    close(file);
}

static int fails(int call, int file) {
    static __thread unsigned state;
    if (!control[call] || !files) return 0;
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    if (!strstr(path, files) || strstr(path, "-shm")) return 0;
    if (!state) state = (unsigned)getpid() ^ (unsigned)(uintptr_t)&state;
    return rand_r(&state) % 1000 < control[call];
}

#define REAL(name) __typeof__(name) *real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
#define FAIL(call) do { if (fails(call, file)) { errno = (int)control[ERROR]; return -1; } } while (0)
#define WRITES(name, offset_t) \
    ssize_t name(int file, const void *from, size_t n, offset_t at) { \
        REAL(name); FAIL(WRITE); \
        return real(file, from, n > 1 && fails(SHORT, file) ? n / 2 : n, at); \
    }
#define READS(name, offset_t) \
    ssize_t name(int file, void *into, size_t n, offset_t at) { REAL(name); FAIL(READ); return real(file, into, n, at); }
#define SYNCS(name) int name(int file) { REAL(name); FAIL(SYNC); return real(file); }
#define TRUNCATES(name, offset_t) int name(int file, offset_t n) { REAL(name); FAIL(TRUNCATE); return real(file, n); }

WRITES(pwrite, off_t)
WRITES(pwrite64, off64_t)
READS(pread, off_t)
READS(pread64, off64_t)
SYNCS(fsync)
SYNCS(fdatasync)
TRUNCATES(ftruncate, off_t)
TRUNCATES(ftruncate64, off64_t)

int clock_gettime(clockid_t clock, struct timespec *now) {
    REAL(clock_gettime);
    int result = real(clock, now);
    if (!result && clock == CLOCK_REALTIME) now->tv_sec += control[CLOCK];
    return result;
}
