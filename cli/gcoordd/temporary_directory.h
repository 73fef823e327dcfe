// The data directory of `gcoordd dev` without --data-dir.
//
// It goes away with its object. That of a process that was killed goes with the next one that is
// made: an object keeps a file beside the data that says whose it is, and a lock on it, which the
// system gives up however a process ends. A directory without such a file is nobody's to remove,
// whatever its name. One thread.
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
  std::string root_;  // Of the data and the file beside it.
  std::string path_;
  int held_ = -1;
};

}  // namespace gcoord
