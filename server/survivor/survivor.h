// Data directory of a stopped node, read as far as it goes: its checkpoints and every entry behind
// them, whether that is known to be decided or not.
//
// For the day on which a cluster has lost its majority for good (server/force/force.h): what an
// entry of the last node's log is worth can be asked of nobody any more, and whoever got an
// acknowledgement may have got it for one of them. So all count. What other nodes alone had is
// lost.
//
// The directory is read. What a start would repair is repaired (the torn end of a log), and nothing
// else is written: its node may be started again afterwards as if nobody had looked. Memory as for
// the node itself. One thread; the caller has the directory's lock.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "ledger/directory/identity_file.h"
#include "protocol/members/cluster_view.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::server {

struct SurvivorFacts {
  ledger::NodeIdentity identity;
  bool resident = false;  // It was written with --turn resident.
  std::uint64_t directory = 0;
  Incarnation incarnation;
  protocol::ClusterView view;  // With every entry; epoch 0: the cluster had none yet.
  std::vector<NodeId> others;  // Nodes of the cluster that have not left, but this one; ascending.

  // Of all shards together. Of two survivors of one cluster the newer has more entry_terms or, with
  // as many, more entries: so a log counts before one that an old leader made longer, alone.
  std::uint64_t shards_used = 0;
  std::uint64_t entry_terms = 0;  // Terms of the newest entries.
  std::uint64_t entries = 0;      // Indices of the newest entries.
  std::uint64_t decided = 0;      // Of these, known to be decided.
  std::uint64_t checkpoints = 0;  // Of these, in checkpoints.
  Term term_newest;
  std::uint64_t newest_ms = 0;  // What the newest entry behind a checkpoint says; 0: unknown.
};

class Survivor {
 public:
  // `kept`: the view that the node went by; it counts where the log has an older one, as in memory
  // mode. Failures: ForceUnfit for a directory that no cluster can be made of, with the reason;
  // those of the ledger for damage.
  static Result<std::unique_ptr<Survivor>> open(const std::string& directory,
                                                const protocol::ClusterView& kept = {});
  ~Survivor();
  Survivor(const Survivor&) = delete;
  Survivor& operator=(const Survivor&) = delete;

  const SurvivorFacts& facts() const;

  // Writes everything as a snapshot (ledger/snapshot/format.h), durably. Failures: those of the
  // file, and history's where it lacks a tree.
  Status save(const std::string& file, std::uint64_t time_ms);

 private:
  struct Impl;

  explicit Survivor(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace gcoord::server
