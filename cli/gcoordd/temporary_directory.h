// The data directory of `gcoordd dev` without --data-dir.
//
// It goes away with its object. That of a process that was killed goes with the next one that is
// made: who has a directory holds a lock on it, which the system gives up however a process ends.
// One thread.
#pragma once

#include <string>

namespace gcoord {

class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();

  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  // Empty when none could be made.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int held_ = -1;
};

}  // namespace gcoord
