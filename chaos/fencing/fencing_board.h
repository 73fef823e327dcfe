// Shared counters of a fencing run: the client processes publish their counts and the current lock
// holder to the process that stops them. A mapped file; any thread of any of them.
#pragma once

#include "common/status.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>

namespace gcoord::chaos {

class FencingBoard {
 public:
  static constexpr std::uint32_t kLanesMax = 4096;

  struct Page {
    std::atomic<std::uint64_t> grants;
    std::atomic<std::uint64_t> contended;  // Of them: with somebody else in line.
    std::atomic<std::uint64_t> writes;     // Tried, by who believed to hold the lock.
    std::atomic<std::uint64_t>
        stale_writes;  // Of them: under a token that was no longer the highest.
    std::atomic<std::uint64_t> stale_accepted;  // Of them: not refused.
    std::atomic<std::uint64_t> errors;
    std::atomic<bool> ended;  // Nobody takes another lock.
    std::atomic<bool> holds[kLanesMax];
    std::atomic<std::uint32_t> waiting[kLanesMax];  // By name.
  };

  // Makes the file if there is none.
  static Result<std::unique_ptr<FencingBoard>> open(const std::filesystem::path& file);
  ~FencingBoard();
  FencingBoard(const FencingBoard&) = delete;
  FencingBoard& operator=(const FencingBoard&) = delete;

  Page& page() { return *page_; }

 private:
  explicit FencingBoard(Page* page) : page_(page) {}

  Page* page_;
};

}  // namespace gcoord::chaos
