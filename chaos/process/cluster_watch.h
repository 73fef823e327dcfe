// Questions about a whole cluster that its nodes answer together: who leads, do replicas agree.
//
// Asked through the client library, one node at a time, so an answer is a moment per node, not a
// moment of the cluster. Blocking, each call by a deadline. One thread.
#pragma once

#include "common/json/value.h"
#include "common/status.h"
#include "gcoord/client.h"

#include <chrono>
#include <cstdint>
#include <vector>

namespace gcoord::chaos {

// A status of the client library as one of common/.
Status from_client(const client::Status& status);

// The report of the node about itself; server/node/reports.h names the fields.
Result<Json> node_status(client::Client& client, std::uint32_t node_id);

// How many shards each of the nodes leads, in the order of node_ids.
Result<std::vector<std::uint32_t>> leader_counts(client::Client& client,
                                                 const std::vector<std::uint32_t>& node_ids);

struct AllLedOptions {
  std::vector<std::uint32_t> node_ids;       // The nodes that live.
  std::vector<std::uint32_t> may_be_silent;  // Of them: who does not answer leads nothing.
  std::uint32_t shards = 0;
  std::chrono::milliseconds timeout{30'000};
  std::chrono::milliseconds poll_interval{5};
};

// Waits until these nodes lead all shards, and returns how long that took from `since` on.
Result<std::chrono::milliseconds> wait_all_led(client::Client& client,
                                               std::chrono::steady_clock::time_point since,
                                               const AllLedOptions& options);

// Waits until the nodes vote in every shard, those of `rejoined` as successors of what they lost;
// how long that took from `since` on. Of the nodes' status: memory.voting and memory.rejoining.
Result<std::chrono::milliseconds> wait_full_strength(client::Client& client,
                                                     std::chrono::steady_clock::time_point since,
                                                     const std::vector<std::uint32_t>& rejoined,
                                                     const AllLedOptions& options);

struct ReplicaAgreement {
  std::uint32_t shards_compared = 0;
  std::uint32_t shards_different = 0;  // Equal applied index, unequal state hash: never right.
  std::uint32_t shards_behind = 0;     // A replica had not applied what another had, to the end.
  std::uint32_t first_different = 0;   // Meaningful when one is counted above.

  bool agree() const { return shards_different == 0 && shards_behind == 0; }
};

// Compares the state hashes of all replicas of every shard, at equal applied indices; asks again
// until all agree or the timeout. The cluster should be quiet.
Result<ReplicaAgreement> compare_replicas(client::Client& client, const AllLedOptions& options);

}  // namespace gcoord::chaos
