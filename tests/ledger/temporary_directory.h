// A directory of the file system that goes away with the test.
#pragma once

#include "common/assert.h"

#include <cstdlib>
#include <filesystem>
#include <string>

namespace gcoord::ledger {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = std::filesystem::temp_directory_path() / "gcoord-test-XXXXXX";
    GCOORD_ASSERT(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }

  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::string path(const std::string& name = "") const {
    return name.empty() ? path_ : path_ + "/" + name;
  }

 private:
  std::string path_;
};

}  // namespace gcoord::ledger
