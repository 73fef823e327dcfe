// Histories as files: a writer for a client that is under load, a reader that trusts nothing.
//
// A writer may be used from any thread; a file has one writer. Reading is blocking.
#pragma once

#include "chaos/check/line_file.h"
#include "chaos/check/operation.h"
#include "common/status.h"

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace gcoord::chaos {

class HistoryWriter {
 public:
  static Result<std::unique_ptr<HistoryWriter>> open(const std::filesystem::path& file);

  // Flushes; whether every operation reached the file.
  bool close();
  ~HistoryWriter();
  HistoryWriter(const HistoryWriter&) = delete;
  HistoryWriter& operator=(const HistoryWriter&) = delete;

  void write(const Operation& operation);

 private:
  explicit HistoryWriter(std::FILE* file) : file_(file) {}

  std::mutex mutex_;
  std::FILE* file_ = nullptr;
  bool failed_ = false;
};

struct History : LineFaults {
  std::vector<Operation> operations;
};

// Appends a file's operations. Fails only when the file cannot be read.
Status read_history(const std::filesystem::path& file, History& history);

}  // namespace gcoord::chaos
