/* A stand-in for the driver library (with -DRUNTIME for a CUDA runtime, with -DEXTENSION for a library that
   launches): its log says what a test wrote.
   -DOLD leaves the log out, as drivers before branch 575 do. */
#include <stddef.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

#ifdef EXTENSION
void stub_log(const char *line);
EXPORT void extension_launch(const char *line) { stub_log(line); stub_log("Returning 209 (CUDA_ERROR_NO_BINARY_FOR_GPU) from cuLibraryGetKernel"); }
#elif defined(RUNTIME)
static int pending, peeks;
EXPORT int stub_peeks(void) { return peeks; }
EXPORT void stub_pending(int code) { pending = code; }
EXPORT int cudaPeekAtLastError(void) { peeks++; return pending; }
EXPORT int cudaGetLastError(void) { int code = pending; pending = 0; return code; }
#else
static int initialised, contexts;
EXPORT int stub_contexts(void) { return contexts; }
EXPORT int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
EXPORT int cuInit(unsigned flags) { initialised = 1; return 0; }
EXPORT int cuCtxGetCurrent(void **context) {
    *context = contexts ? &contexts : NULL;
    return initialised ? 0 : 3;
}
EXPORT void stub_context(void) { initialised = contexts = 1; }
#ifndef OLD
enum { KEPT = 100, ENTRY = 256 };
typedef void (*callback)(void *data, int level, char *message, size_t length);
static char ring[KEPT][ENTRY];
static unsigned written;
static callback called;
static void *called_with;

EXPORT void stub_log(const char *line) {
    char *entry = ring[written % KEPT];
    strncpy(entry, line, ENTRY - 1);
    written++;
    if (called) called(called_with, 0, entry, strlen(entry));
}
EXPORT int cuLogsCurrent(unsigned *position, unsigned flags) { *position = written; return 0; }
EXPORT int cuLogsDumpToMemory(unsigned *position, char *buffer, size_t *size, unsigned flags) {
    unsigned first = position ? *position : 0;
    size_t used = 0;
    if (written > KEPT && first < written - KEPT) {
        const char *gap = "Log buffer rolled over\n";
        first = written - KEPT;
        strcpy(buffer, gap);
        used = strlen(gap);
    }
    for (; first < written; first++) {
        size_t length = strlen(ring[first % KEPT]);
        if (used + length + 1 >= *size) break;
        memcpy(buffer + used, ring[first % KEPT], length);
        used += length;
        buffer[used++] = '\n';
    }
    buffer[used] = 0;
    *size = used + 1;
    if (position) *position = written;
    return 0;
}
EXPORT int cuLogsRegisterCallback(callback function, void *data, void **handle) {
    called = function; called_with = data; *handle = &called;
    return 0;
}
EXPORT int cuLogsUnregisterCallback(void *handle) { called = NULL; return 0; }
#endif
#endif
