// Stands between a program and the system's functions for files, memory and processes, by LD_PRELOAD, and fails one of
// their calls: number MANYFOLD_FAULT_AT, or that and all after it of the same kind with MANYFOLD_FAULT_STAYS=1. Without
// either it counts. MANYFOLD_FAULT_KINDS: a letter for each kind that takes part: f files, m memory, p processes and
// threads; l, which counts locks of mutexes, never fails. Memory takes part in pieces of MANYFOLD_FAULT_MEMORY bytes or
// more. At the end the number of calls is written to the file MANYFOLD_FAULT_COUNT.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
}

namespace {

/// Small pieces of memory are asked for a hundred thousand times; what fails is what grows with the run.
std::size_t least_memory = 32768;

std::atomic<long> calls = 0;
long fault_at = 0;
bool fault_stays = false;
bool takes_part[128] = {};

__attribute__((constructor)) void begin() {
  if (const char* at = std::getenv("MANYFOLD_FAULT_AT")) fault_at = std::atol(at);
  fault_stays = std::getenv("MANYFOLD_FAULT_STAYS") != nullptr;
  if (const char* least = std::getenv("MANYFOLD_FAULT_MEMORY"))
    least_memory = static_cast<std::size_t>(std::atol(least));
  const char* kinds = std::getenv("MANYFOLD_FAULT_KINDS");
  for (const char* kind = kinds != nullptr ? kinds : "fmp"; *kind != '\0'; ++kind) {
    takes_part[static_cast<unsigned char>(*kind)] = true;
  }
  // The children of this process are left alone.
  unsetenv("LD_PRELOAD");
}

__attribute__((destructor)) void end() {
  const char* path = std::getenv("MANYFOLD_FAULT_COUNT");
  if (path == nullptr) return;
  std::memset(takes_part, 0, sizeof takes_part);
  if (std::FILE* file = std::fopen(path, "w")) {
    std::fprintf(file, "%ld\n", calls.load());
    std::fclose(file);
  }
}

/// Does this call fail?
bool fails(char kind) {
  if (!takes_part[static_cast<unsigned char>(kind)]) return false;
  const long number = ++calls;
  return fault_at > 0 && (number == fault_at || (fault_stays && number > fault_at));
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

int failed(int reason) {
  errno = reason;
  return -1;
}

mode_t mode_of(int flags, std::va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? static_cast<mode_t>(va_arg(arguments, int)) : 0;
}

}  // namespace

extern "C" {

#define OPEN(NAME)                                                     \
  int NAME(const char* path, int flags, ...) {                         \
    std::va_list arguments;                                            \
    va_start(arguments, flags);                                        \
    const mode_t mode = mode_of(flags, arguments);                     \
    va_end(arguments);                                                 \
    if (fails('f')) return failed(EMFILE);                             \
    return next<int(const char*, int, ...)>(#NAME)(path, flags, mode); \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(NAME)                                                                \
  int NAME(int folder, const char* path, int flags, ...) {                          \
    std::va_list arguments;                                                         \
    va_start(arguments, flags);                                                     \
    const mode_t mode = mode_of(flags, arguments);                                  \
    va_end(arguments);                                                              \
    if (fails('f')) return failed(EMFILE);                                          \
    return next<int(int, const char*, int, ...)>(#NAME)(folder, path, flags, mode); \
  }
OPENAT(openat)
OPENAT(openat64)

#define FOPEN(NAME)                                                       \
  std::FILE* NAME(const char* path, const char* mode) {                   \
    if (fails('f')) {                                                     \
      errno = EMFILE;                                                     \
      return nullptr;                                                     \
    }                                                                     \
    return next<std::FILE*(const char*, const char*)>(#NAME)(path, mode); \
  }
FOPEN(fopen)
FOPEN(fopen64)

ssize_t read(int file, void* memory, std::size_t size) {
  if (fails('f')) return failed(EIO);
  return next<ssize_t(int, void*, std::size_t)>("read")(file, memory, size);
}
// What a run says of a fault is no part of it.
ssize_t write(int file, const void* memory, std::size_t size) {
  if (file != STDERR_FILENO && fails('f')) return failed(ENOSPC);
  return next<ssize_t(int, const void*, std::size_t)>("write")(file, memory, size);
}
ssize_t writev(int file, const iovec* pieces, int count) {
  if (file != STDERR_FILENO && fails('f')) return failed(ENOSPC);
  return next<ssize_t(int, const iovec*, int)>("writev")(file, pieces, count);
}
#define PREAD(NAME)                                                                          \
  ssize_t NAME(int file, void* memory, std::size_t size, off_t offset) {                     \
    if (fails('f')) return failed(EIO);                                                      \
    return next<ssize_t(int, void*, std::size_t, off_t)>(#NAME)(file, memory, size, offset); \
  }
PREAD(pread)
PREAD(pread64)
#define PWRITE(NAME)                                                                               \
  ssize_t NAME(int file, const void* memory, std::size_t size, off_t offset) {                     \
    if (fails('f')) return failed(ENOSPC);                                                         \
    return next<ssize_t(int, const void*, std::size_t, off_t)>(#NAME)(file, memory, size, offset); \
  }
PWRITE(pwrite)
PWRITE(pwrite64)
#define FTRUNCATE(NAME)                              \
  int NAME(int file, off_t size) noexcept {          \
    if (fails('f')) return failed(ENOSPC);           \
    return next<int(int, off_t)>(#NAME)(file, size); \
  }
FTRUNCATE(ftruncate)
FTRUNCATE(ftruncate64)
#define SYNC(NAME)                      \
  int NAME(int file) {                  \
    if (fails('f')) return failed(EIO); \
    return next<int(int)>(#NAME)(file); \
  }
SYNC(fsync)
SYNC(fdatasync)
int close(int file) {
  // The descriptor is gone in any case, as on Linux.
  const bool fault = fails('f');
  const int result = next<int(int)>("close")(file);
  return fault ? failed(EIO) : result;
}
int rename(const char* from, const char* to) noexcept {
  if (fails('f')) return failed(EIO);
  return next<int(const char*, const char*)>("rename")(from, to);
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  if (fails('f')) return failed(EIO);
  return next<int(int, const char*, int, const char*, unsigned)>("renameat2")(from_folder, from, to_folder, to, flags);
}
int link(const char* from, const char* to) noexcept {
  if (fails('f')) return failed(EIO);
  return next<int(const char*, const char*)>("link")(from, to);
}
int unlink(const char* path) noexcept {
  if (fails('f')) return failed(EIO);
  return next<int(const char*)>("unlink")(path);
}
int mkdir(const char* path, mode_t mode) noexcept {
  if (fails('f')) return failed(ENOSPC);
  return next<int(const char*, mode_t)>("mkdir")(path, mode);
}
int flock(int file, int operation) noexcept {
  if (fails('f')) return failed(ENOLCK);
  return next<int(int, int)>("flock")(file, operation);
}

void* malloc(std::size_t size) noexcept {
  if (size >= least_memory && fails('m')) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  if (count * size >= least_memory && fails('m')) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) noexcept {
  if (size >= least_memory && fails('m')) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_realloc(memory, size);
}

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static const auto lock = next<int(pthread_mutex_t*)>("pthread_mutex_lock");
  if (takes_part['l']) ++calls;
  return lock(mutex);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*),
                   void* argument) noexcept {
  if (fails('p')) return EAGAIN;
  return next<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create")(thread, attributes,
                                                                                                 routine, argument);
}
pid_t fork() noexcept {
  if (fails('p')) return failed(EAGAIN);
  return next<pid_t()>("fork")();
}
int posix_spawn(pid_t* child, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const arguments[], char* const environment[]) {
  if (fails('p')) return EAGAIN;
  using Spawn = int(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const[],
                    char* const[]);
  return next<Spawn>("posix_spawn")(child, path, actions, attributes, arguments, environment);
}
int posix_spawnp(pid_t* child, const char* path, const posix_spawn_file_actions_t* actions,
                 const posix_spawnattr_t* attributes, char* const arguments[], char* const environment[]) {
  if (fails('p')) return EAGAIN;
  using Spawn = int(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const[],
                    char* const[]);
  return next<Spawn>("posix_spawnp")(child, path, actions, attributes, arguments, environment);
}
void* dlopen(const char* path, int flags) noexcept {
  if (path != nullptr && fails('p')) return nullptr;
  return next<void*(const char*, int)>("dlopen")(path, flags);
}

}  // extern "C"
