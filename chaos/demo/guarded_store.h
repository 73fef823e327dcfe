// A store that locks guard, as a user of fencing tokens would build one: for each place it admits
// only writes whose token is not below the highest it has seen.
//
// It lies in a file that several client processes map, so that a process that was stopped past its
// lease finds there what others wrote meanwhile. Any thread of any of them.
#pragma once

#include "common/status.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>

namespace gcoord::chaos {

class GuardedStore {
 public:
  static constexpr std::uint32_t kPlaces = 1u << 16;

  // Makes the file if there is none.
  static Result<std::unique_ptr<GuardedStore>> open(const std::filesystem::path& file);
  ~GuardedStore();
  GuardedStore(const GuardedStore&) = delete;
  GuardedStore& operator=(const GuardedStore&) = delete;

  // Whether the write was admitted; one atomic step.
  bool write(std::uint32_t place, std::uint64_t token);

 private:
  explicit GuardedStore(std::atomic<std::uint64_t>* tokens) : tokens_(tokens) {}

  std::atomic<std::uint64_t>* tokens_;  // The highest seen, by place.
};

}  // namespace gcoord::chaos
