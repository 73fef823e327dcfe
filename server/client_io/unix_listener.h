// A listening Unix socket at a path, for clients of this machine.
//
// The file has its rights from its first moment on. A file that a killed node left is replaced; a
// socket that somebody serves is not, nor anything else that is there. The file goes with the
// object, unless another one has its path by then. One thread.
#pragma once

#include "common/status.h"

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace gcoord::server {

class UnixListener {
 public:
  UnixListener() = default;
  ~UnixListener();
  UnixListener(UnixListener&& other) noexcept;
  UnixListener& operator=(UnixListener&& other) noexcept;

  // `mode`: 0600 for this user alone, up to 0666. GC3140: there can be none at this path. GC3141:
  // somebody serves it.
  static Result<UnixListener> open(const std::string& path, std::uint32_t mode);

  // Gives the listening descriptor away; the file stays this object's.
  int release_descriptor();

 private:
  void close();

  int fd_ = -1;
  std::string path_;  // Empty: none.
  dev_t device_ = 0;  // Of the file, and the next.
  ino_t inode_ = 0;
};

}  // namespace gcoord::server
