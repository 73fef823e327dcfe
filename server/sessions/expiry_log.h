// Ends that were agreed to, on their way through the log: one entry for many of a shard.
//
// An entry that ends many (locks/commands/ends.h) saves what every entry costs, its messages, its
// place on the disk and its leaf, and lets whoever applies it ask for memory ahead. It is proposed
// only when all nodes apply it. What is under way counts by what it costs, entries and ends, so
// that others wait equally long for either. One thread.
#pragma once

#include "common/host/metrics.h"
#include "common/ids.h"
#include "locks/commands/ends.h"
#include "locks/cpu/lock_cpu.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

namespace gcoord::server {

// What is under way, in microseconds of a core on each node
// (docs/internals/performance_services.md): an end that is applied, and an entry around it.
inline constexpr std::size_t kEndCost = 1;
inline constexpr std::size_t kEndEntryCost = 4;

// What a list gives back, sessions, holds and kept replies together: three for each of the longest
// list, as a lease has. A large session must not stall the rest (S4 of docs/reference/services.md),
// and what watches are told of one entry mostly fits one frame: what they come to hold until it is
// applied is not known yet (watch_delivery.cc). Who has more goes alone, as many commands.
inline constexpr std::size_t kListedWeightMax = 3 * std::size_t{locks::kEndsMax};

class ExpiryLog {
 public:
  // Proposes the end of these registrations of one shard, one or more; on_decided() or on_refused()
  // follows, with the number.
  using Propose = std::function<void(
      ShardId shard, std::span<const sessions::ExpiryProposal> ends, std::uint64_t number)>;

  struct Environment {
    Propose propose;
    std::function<std::uint32_t()> ends_max;  // Of one entry that all nodes apply; 1: no lists.
  };

  ExpiryLog(locks::LockCpu& locks, MetricsRegistry& metrics, Environment doors);

  // The session clock has it marked as proposed. It is not in the log before flush().
  void add(const sessions::ExpiryProposal& agreed) { agreed_.push_back(agreed); }

  // Proposes what was added, in lists by shard.
  void flush();

  // What was proposed under this number, which is not under way any more.
  std::vector<sessions::ExpiryProposal> take(std::uint64_t number);

  // Of what is under way.
  std::size_t cost() const { return cost_; }

  std::uint64_t proposed_count() const { return ends_->value(); }

 private:
  // How many of them go into the next entry.
  std::size_t list_length(std::span<const sessions::ExpiryProposal> left,
                          std::uint32_t ends_max) const;
  std::size_t weight(const sessions::ExpiryProposal& end) const;

  locks::LockCpu& locks_;
  Environment environment_;
  Counter* ends_ = nullptr;
  Counter* entries_ = nullptr;
  std::vector<sessions::ExpiryProposal> agreed_;
  std::unordered_map<std::uint64_t, std::vector<sessions::ExpiryProposal>> under_way_;
  std::uint64_t number_last_ = 0;
  std::size_t cost_ = 0;
};

}  // namespace gcoord::server
