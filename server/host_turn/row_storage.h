// The logs of rows, in memory and in the turn's record of the log of record, as their steps ask.
//
// Entries come from a message, from the row itself, or with a snapshot; what a step wants durable
// goes into the record of the turn, whose acknowledgement is input of a later step. One thread.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "consensus/step/message.h"
#include "consensus/step/outbox.h"
#include "server/interfaces/state_machine.h"
#include "server/replicas/checkpoint_marks.h"
#include "server/replicas/metrics.h"
#include "server/replicas/replica_rows.h"
#include "server/replicas/turn_record.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

namespace gcoord::server {

// An Append, and the bytes of its entries, which agree with it (well_formed_entries).
struct SentEntries {
  const consensus::Message& message;
  std::span<const std::byte> extent;
};

class RowStorage {
 public:
  // All outlive it.
  struct Environment {
    ReplicaRows& rows;
    StateMachine& service;
    ReplicaMetrics& metrics;
    TurnState& turn;
    TurnRecord& record;
    CheckpointMarks& marks;
  };

  explicit RowStorage(const Environment& environment) : env_(environment) {}

  // Replaces the row's entries and the service's state by a snapshot (shard_codec.h; decodes).
  Status install_snapshot(std::uint32_t row, std::span<const std::byte> bytes);

  // Whether a snapshot was installed that is not in the log of record yet.
  bool owes_snapshot() const { return !owed_.empty(); }

  // Keeps the entries of the Append to the row from index `first` on.
  void store_entries(std::uint32_t row, const SentEntries& sent, LogIndex first);

  // Keeps the configuration that the row proposed, if the step accepted it.
  void store_proposed(std::uint32_t row,
                      const consensus::Outbox& out,
                      const consensus::Configuration* proposed);

  // Keeps the entry that the step wrote by itself.
  void store_own_entry(std::uint32_t row, const consensus::Appended& own);

  // Puts what the step wants durable into the record of the turn.
  void persist(std::uint32_t row, const consensus::StorageRequest& request);

 private:
  void persist_snapshot(std::uint32_t row);

  Environment env_;
  std::set<std::uint32_t> owed_;           // Rows of installed snapshots to be persisted.
  std::vector<std::byte> snapshot_bytes_;  // Kept warm.
};

}  // namespace gcoord::server
