// Keys of sessions between programs: in files that only their owner reads, and in the open
// descriptor that `lock run` hands on to its command.
//
// No key is ever in an argument or a variable. GCOORD_SESSION_KEY_FD names the descriptor, whose
// memory has the key from its beginning; a program that reads it leaves its position alone. One
// thread.
#pragma once

#include "common/status.h"

#include <string>
#include <string_view>

namespace gcoord::cli {

inline constexpr const char* kSessionKeyVariable = "GCOORD_SESSION_KEY_FD";

// The key of the file, or without one that of the variable's descriptor; empty where there is
// neither. GC6544 for what cannot be used.
Result<std::string> read_session_key(const std::string& path);

// Whether there is either of them, usable or not.
bool names_session_key(const std::string& path);

// Puts the key in the file, mode 0600. Without a path or a key nothing happens.
Status write_session_key(const std::string& path, std::string_view key);

// Memory for a key under a descriptor that programs inherit which are started from now on, whether
// or not the key is there yet.
class SessionKeyDescriptor {
 public:
  SessionKeyDescriptor();
  ~SessionKeyDescriptor();
  SessionKeyDescriptor(const SessionKeyDescriptor&) = delete;
  SessionKeyDescriptor& operator=(const SessionKeyDescriptor&) = delete;

  // Once. False: the system gives no such memory, or there is no key.
  bool put(std::string_view key) const;

  // For the variable.
  std::string number() const { return std::to_string(fd_); }

 private:
  int fd_;
};

}  // namespace gcoord::cli
