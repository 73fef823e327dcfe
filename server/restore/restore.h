// Makes a data directory of a snapshot, for one node of a new cluster.
//
// Every node of the new cluster restores from the same file with the same options but its own id
// and directory; then gcoordd starts on each. What they begin with:
//   - each shard's state as saved, with its log's floor one index on: the restore itself has that
//     place in every log, so that no replica can come by the shard without the restore's doing;
//   - a term above any that the old cluster had: epochs of locks go on rising;
//   - tokens above any that were granted before the save, and `token_bump` more, for those that
//     were granted between the save and the loss;
//   - locks that were moved in one shard each, whatever the states say that hold them twice or lack
//     them, since each is of another moment (locks/cpu/move_survey.h);
//   - sessions with their locks, whose TTLs run anew once a leader is there; or none of them;
//   - a cluster id of its own, so that nothing of the old cluster is heard;
//   - incarnations above all that the old cluster had: ids of sessions are made of them.
//
// For the resident turn the same values are written in the form of its store
// (server/resident/stored/state.h): as a resident node would have left them behind.
//
// The directory gets its identity last, so one that was not finished is refused by gcoordd and by
// another restore. docs/adr/0035 has the reasons. One thread.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "ledger/snapshot/file.h"
#include "membership/view/table.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::server {

// Twelve days of a million grants per second in one shard; a shard can be restored eight million
// times before its tokens run out.
inline constexpr std::uint64_t kTokenBump = std::uint64_t{1} << 40;

// Half a year of an election per second.
inline constexpr std::uint64_t kTermBump = std::uint64_t{1} << 24;

// Which turn starts from the directory. A file is of neither.
enum class RestoreTurn : std::uint8_t { Host, Resident };

struct RestoreOptions {
  std::string file;
  std::string data_directory;  // Empty, or made here; its parent exists.
  NodeId node;
  std::vector<NodeId> nodes;  // Of the new cluster, this one too.
  // 0: follows from the file's hash, these options and cluster_token, so that nodes restored from
  // different files or with different options refuse each other.
  ClusterId cluster;
  std::string cluster_token;  // Tells two clusters that are restored alike from each other.
  std::uint64_t token_bump = kTokenBump;
  bool drop_sessions = false;
  RestoreTurn turn = RestoreTurn::Host;  // Resident: 3, 5 or 7 nodes, durable.
  std::uint64_t random_id = 0;           // Of the directory; not 0.
};

struct Restored {
  ledger::SnapshotHeader header;  // Of the snapshot.
  ledger::SnapshotFacts facts;
  ClusterId cluster;
  membership::ClusterView view;  // Of the new cluster; epoch 0: there is none yet.
  std::uint64_t sessions = 0;    // Kept.
  std::uint64_t locks = 0;
  // Names of locks that were between shards when it was saved, and brought to one; and of these the
  // ones whose hold was in no shard.
  std::uint64_t moves_settled = 0;
  std::uint64_t moves_lost = 0;
};

// Failures: those of ledger::read_snapshot, kRestoreNotEmpty, kRestoreRefused with what to correct,
// kEngineOptions for nodes that cannot be, the directory's, the disk's and the store's. What was
// written is removed then.
Result<Restored> restore_snapshot(const RestoreOptions& options);

}  // namespace gcoord::server
