// What clients did and were told: one JSON line per operation, as the history door has it.
//
//   {"process":1,"op":"acquire","key":"demo/a","args":{...},"call":"1","return":"2",
//    "outcome":"ok","token":"7"}
//
// Times are nanoseconds of the machine's monotonic clock, so that histories of several processes on
// one machine merge into one. Numbers of 64 bits are strings. A checker reads nothing but this.
// A writer may be used from any thread; a file has one writer.
#pragma once

#include "common/status.h"

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace gcoord::chaos {

enum class Op : std::uint8_t {
  Acquire,
  Release,
  Check,
  Abandon,      // The client stops keeping its session alive; `return` is when its lease ends here.
  SessionLost,  // The client's lease of `session` ran out at `return`, unexpectedly.
};

enum class Outcome : std::uint8_t {
  Ok,
  Fail,     // It certainly did not happen.
  Unknown,  // It may or may not have happened, or may still.
};

// What a check was told, and what it must be told if nothing was lost.
enum class TokenState : std::uint8_t { None, Valid, Past };

// How an acquire went about it.
enum class AcquireKind : std::uint8_t { None, Lock, Try, Wait };

struct Operation {
  std::uint32_t process = 0;
  Op op = Op::Acquire;
  Outcome outcome = Outcome::Ok;
  AcquireKind kind = AcquireKind::None;
  TokenState verdict = TokenState::None;
  TokenState expected = TokenState::None;
  bool already_held = false;  // Acquire: an earlier grant of the same session, told again.
  std::string key;
  std::uint64_t session = 0;
  std::uint64_t token = 0;
  std::uint64_t call_ns = 0;
  std::uint64_t return_ns = 0;
};

std::string to_json_line(const Operation& operation);

// InvalidArgument when the line is not of the form above.
Result<Operation> parse_operation(const std::string& line);

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

// Appends a file's operations; its last line may be cut short when its writer was killed.
Status read_history(const std::filesystem::path& file, std::vector<Operation>& operations);

// Now, as histories count.
std::uint64_t history_now_ns();

}  // namespace gcoord::chaos
