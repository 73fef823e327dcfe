// The cluster over time, as its nodes and a watch tell it: the model that top's views draw.
//
// add() takes one sample of all nodes; levels, rates and 60 samples of history come of it. Nodes
// that do not answer stay, with why and since when; those that left the cluster go. Names that were
// hot within the history stay, too. No input and output, no clock: times are milliseconds of the
// caller's. One thread.
#pragma once

#include "cli/top/samples/changes.h"
#include "cli/top/samples/history.h"
#include "cli/top/samples/hot_names.h"
#include "cli/top/samples/reading.h"
#include "gcoord/leases.h"
#include "gcoord/types.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::cli::top {

// The hottest ones; the coldest of them go when there are more.
inline constexpr std::size_t kNamesFollowedMax = 100;

// All nodes at one moment, and the changes of names since the sample before.
struct Sample {
  std::uint64_t at_ms = 0;
  std::vector<NodeReading> nodes;
  HotNames::Sample names;
  std::string names_error;  // Why no changes are told; empty while they are.
};

struct NodeRow {
  std::uint32_t node = 0;
  std::string endpoint;
  std::string error;  // Why it does not answer; empty while it does.
  std::string metrics_error;
  std::optional<std::uint64_t> answered_ms;  // Last; nothing: never.
  std::vector<History> history;              // In the order of all_series().

  bool answers() const { return error.empty(); }

  std::optional<double> latest(std::size_t series) const { return history[series].latest(); }
};

struct NameRow {
  std::string name;
  std::uint32_t shard = 0;
  History grants;  // For each second, both.
  History waits;

  double changes() const { return grants.latest().value_or(0) + waits.latest().value_or(0); }
};

// Of the cluster: changes from the watch, the rest from the nodes that answer.
struct Totals {
  History grants;
  History expiries;
  History requests;
  History entries;
};

// The answer to a get of one lock.
struct LockReading {
  std::string name;
  std::string error;                            // Why there is none; empty when there is one.
  std::optional<client::LockDescription> lock;  // Nothing: neither held nor waited for.
  // Who is behind its sessions, as far as that is known and may be seen.
  std::vector<client::SessionOrigin> origins;
};

class Model {
 public:
  void add(Sample sample);

  // The page of a name has its lock and its changes; learned between samples.
  void learn(LockReading lock) { lock_ = std::move(lock); }

  void learn(std::vector<Change> changes) { changes_ = std::move(changes); }

  // The node that leads each shard, by shard; 0: not known.
  void learn_leaders(std::vector<std::uint32_t> leaders) { leaders_ = std::move(leaders); }

  std::uint64_t at_ms() const { return at_ms_; }

  // Between the last two samples; 0 before the second.
  double seconds() const { return seconds_; }

  std::size_t samples() const { return samples_; }

  const std::vector<NodeRow>& nodes() const { return nodes_; }  // By rising node id.

  const std::vector<NameRow>& names() const { return names_; }  // The hottest first.

  const Totals& totals() const { return totals_; }

  const std::string& names_error() const { return names_error_; }

  const LockReading& lock() const { return lock_; }

  const std::vector<Change>& changes() const { return changes_; }

  // nullptr when there is none.
  const NodeRow* node(std::uint32_t id) const;
  const NameRow* name(std::string_view text) const;

  // The node that leads the shard; 0: not known.
  std::uint32_t leader_of(std::uint32_t shard) const;

  std::size_t answering() const;

 private:
  void add_node(NodeReading reading);
  void add_names(const HotNames::Sample& heat);
  void add_totals(const HotNames::Sample& heat);

  std::uint64_t at_ms_ = 0;
  double seconds_ = 0;
  std::size_t samples_ = 0;
  std::vector<NodeRow> nodes_;
  std::vector<NodeReading> readings_;  // The last of each node that answered.
  std::vector<NameRow> names_;
  std::string names_error_;
  Totals totals_;
  LockReading lock_;
  std::vector<Change> changes_;
  std::vector<std::uint32_t> leaders_;
};

}  // namespace gcoord::cli::top
