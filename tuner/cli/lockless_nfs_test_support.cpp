// A preloaded library that makes every file appear to be on NFS, with locks that behave as
// SMEMTUNE_TEST_LOCKS says: `refused`, or `shared` by all that request them.

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/vfs.h>

// NOLINTNEXTLINE(cert-dcl50-cpp): as the C library declares it.
extern "C" int fcntl(int fd, int cmd, ...) {
  va_list arguments;
  va_start(arguments, cmd);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  if (cmd == F_SETLK) {
    const char* const locks = std::getenv("SMEMTUNE_TEST_LOCKS");
    if (locks != nullptr && std::strcmp(locks, "shared") == 0) return 0;
    errno = ENOLCK;
    return -1;
  }
  using Fcntl = int (*)(int, int, ...);
  return reinterpret_cast<Fcntl>(dlsym(RTLD_NEXT, "fcntl"))(fd, cmd, argument);
}

extern "C" int statfs(const char* file, struct statfs* buf) {
  using Statfs = int (*)(const char*, struct statfs*);
  const int result = reinterpret_cast<Statfs>(dlsym(RTLD_NEXT, "statfs"))(file, buf);
  buf->f_type = 0x6969;
  return result;
}
