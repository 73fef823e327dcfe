// Histories of clients: one JSON line per operation, for checkers
// (docs/reference/machine_interfaces.md).
//
//   {"process","op","key","args","call","return","outcome","token"}
//
// Times are nanoseconds as strings, on a clock that all operations of one file share; outcome is
// ok, fail (it certainly did not happen) or unknown. Callable from any thread.
#pragma once

#include "common/status.h"
#include "gcoord/status.h"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>

namespace gcoord::cli {

struct HistoryEntry {
  std::uint32_t process = 0;
  const char* op = "";
  std::string key;
  std::string args;  // JSON of an object, or empty.
  std::uint64_t call_ns = 0;
  std::uint64_t return_ns = 0;
  const char* outcome = "";
  std::uint64_t token = 0;
};

class History {
 public:
  static Result<std::unique_ptr<History>> open(const std::string& path);
  ~History();
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  void write(const HistoryEntry& entry);

 private:
  explicit History(std::FILE* file) : file_(file) {}

  std::mutex mutex_;
  std::FILE* file_ = nullptr;
};

// "ok", "fail" or "unknown" for what a client was told.
const char* outcome_of(const client::Status& status);

}  // namespace gcoord::cli
