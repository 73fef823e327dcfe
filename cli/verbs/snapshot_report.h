// Summary of a snapshot's contents for gcoordctl, counted while the file is read. One thread.
#pragma once

#include "cli/terminal/output.h"
#include "ledger/snapshot/file.h"
#include "locks/cpu/move_survey.h"
#include "server/restore/states.h"

#include <cstdint>
#include <vector>

namespace gcoord::cli {

class SnapshotReport final : public ledger::SnapshotStates {
 public:
  // Whether to remember every shard, for table().
  enum class Rows : std::uint8_t { Count, Keep };

  explicit SnapshotReport(Rows rows = Rows::Count) : rows_(rows) {}

  Status on_header(const ledger::SnapshotHeader& header) override;
  Status on_state(const ledger::SnapshotState& whole) override;

  // Once the whole file was right; first of all.
  void conclude();

  // Holds of moved locks that are in no shard, because the node was behind with one of them.
  std::uint64_t moves_lost() const { return moves_.lost(); }

  Json json(const ledger::SnapshotFacts& facts) const;
  Table table() const;

 private:
  struct Row {
    ledger::SnapshotShard shard;
    server::StateSummary summary;
    std::string root;  // Of its Merkle tree, in hex; empty: none.
  };

  Rows rows_;
  ledger::SnapshotHeader header_;
  std::vector<Row> kept_;
  server::StateSummary total_;
  locks::MoveSurvey moves_{0};
  std::uint64_t applied_ = 0;
  std::uint64_t view_epoch_ = 0;  // Of the cluster view; 0: there is none.
};

// The failure of a check as the user sees it: cause and fix by its number, and what was found.
Status explained(const Status& status);

}  // namespace gcoord::cli
