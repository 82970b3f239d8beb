/* What a disk does to the server, put between it and the C library (LD_PRELOAD):
 *   while the file named by MOTE_FAULT_SYNC exists, fsync and fdatasync fail with EIO;
 *   while the file named by MOTE_FAULT_HOLD exists, nothing is written into files of the log: writers wait;
 *   while the file named by MOTE_FAULT_HOLD_ARCHIVE exists, nothing into files of the archive. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int told(const char *variable) {
    const char *path = getenv(variable);
    return path != NULL && access(path, F_OK) == 0;
}

static int failing(void) {
    if (!told("MOTE_FAULT_SYNC")) return 0;
    errno = EIO;
    return 1;
}

static int is_in(int fd, const char *directory) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strstr(path, directory) != NULL;
}

int fdatasync(int fd) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    return failing() ? -1 : real(fd);
}

int fsync(int fd) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    return failing() ? -1 : real(fd);
}

ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t at) {
    static ssize_t (*real)(int, const void *, size_t, off64_t);
    if (!real) real = (ssize_t (*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64");
    while (told("MOTE_FAULT_HOLD") && is_in(fd, "/log/")) usleep(500);
    while (told("MOTE_FAULT_HOLD_ARCHIVE") && is_in(fd, "/archive/")) usleep(500);
    return real(fd, data, bytes, at);
}
