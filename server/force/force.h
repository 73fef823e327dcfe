// Makes a new cluster of one node's data directory, when the other nodes of the old cluster are
// lost for good (docs/adr/0115).
//
//   open      locks the directory, ends what an earlier one that died had begun, reads all of it
//   describe  what the operator has to know before it is done
//   make      the new directory beside the old one, then one in place of the other
//
// The new cluster is what a restore of a snapshot makes (server/restore/restore.h): another cluster
// id, terms, fencing tokens and incarnations above all of the old one's, one entry in every log.
// This node is its only member, the others are tombstones. The secret in the directory comes along.
// Until the very exchange the old
// directory is as it was, but for a torn end of its log that any start would cut away; afterwards
// it is kept beside the new one. Whenever the process dies, the directory is one or the other, and
// the next open() puts away what is left over. One thread.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "ledger/directory/data_directory.h"
#include "ledger/directory/former_file.h"
#include "server/force/swap.h"
#include "server/restore/restore.h"
#include "server/start/kept_members.h"
#include "server/survivor/survivor.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace gcoord::server {

// What is durable then.
enum class ForceStep : std::uint8_t {
  Saved,      // The snapshot of the old directory.
  Restored,   // The new directory, but for what comes next.
  Described,  // Its members and the cluster that it follows.
  Ready,      // It has its name for the exchange.
  Exchanged,  // It is the directory.
  Kept,       // The old one has its name.
};

struct ForceOrder {
  // The old cluster's id, as the operator typed it.
  std::string confirmation;
  std::uint64_t time_ms = 0;  // Unix milliseconds.
  // For tests: after each step.
  std::function<void(ForceStep)> on_step;
};

struct Forced {
  ClusterId cluster;
  ClusterId former;
  bool resident = false;  // The old cluster was of the resident turn.
  std::string kept;       // The old directory.
  protocol::ClusterView view;
  Restored restored;
};

class ForceNewCluster {
 public:
  enum class Purpose : std::uint8_t {
    Inspect,  // Nothing is put away.
    Make,
  };

  // `directory`: behind links. Failures: kDirectoryLocked while a node has it, those of
  // Survivor::open and DirectorySwap::settle.
  static Result<std::unique_ptr<ForceNewCluster>> open(const std::string& directory,
                                                       Purpose purpose);

  const SurvivorFacts& facts() const { return facts_; }

  // Where the old directory is kept, if all is done already: the directory is that of the new
  // cluster, and its node has not been started since.
  const std::optional<std::string>& finished() const { return finished_; }

  // The cluster whose place the directory's one took; none: it was founded or restored.
  const std::optional<ledger::FormerCluster>& former() const { return former_; }

  // Once, and not after finished(). Failures: ForceOtherCluster; ForceBlocked; those of
  // restore_snapshot, of the snapshot's file and of the disk. The directory is the old one then.
  Result<Forced> make(const ForceOrder& order);

 private:
  explicit ForceNewCluster(const std::string& directory)
      : directory_(directory), swap_(directory) {}

  Status read(Purpose purpose);
  Result<Restored> restore(const ForceOrder& order);
  Status describe(const ForceOrder& order, const Restored& restored) const;
  Status check_kept() const;

  std::string directory_;
  DirectorySwap swap_;
  std::unique_ptr<ledger::DirectoryLock> lock_;
  std::unique_ptr<Survivor> survivor_;
  SurvivorFacts facts_;
  KeptMembers kept_;
  std::optional<std::string> finished_;
  std::optional<ledger::FormerCluster> former_;
};

}  // namespace gcoord::server
