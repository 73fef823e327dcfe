// Entries of a scenario's log, with readable bytes, and the service that applies them.
//
// The service of a scenario is the list of the commands that were applied, so two replicas agree
// exactly if their lists do. Host only; tests and gcoord-step.
#pragma once

#include "common/ids.h"
#include "consensus/step/configuration.h"
#include "consensus/step/outbox.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::consensus::scenario {

struct Entry {
  EntryKind kind = EntryKind::Command;
  std::string bytes;

  friend bool operator==(const Entry& a, const Entry& b) {
    return a.kind == b.kind && a.bytes == b.bytes;
  }
};

// An entry as a log page would hold it: with the term that the row gives its index.
struct TermEntry {
  Term term;
  Entry entry;
};

// A configuration as an entry's bytes, and back. decode asserts on a length that encode never
// makes: bytes of a scenario do not come from outside.
Entry encode_configuration(const Configuration& configuration);
Configuration decode_configuration(const Entry& entry);

struct AppliedCommand {
  LogIndex index;
  std::string command;
};

// The list of applied commands up to `applied`; no-ops and configurations leave no trace in it.
struct ServiceState {
  LogIndex applied;
  std::vector<AppliedCommand> commands;

  // Takes over the next entry.
  void apply(const Entry& entry);

  // The state as it was after `index` <= applied.
  ServiceState at(LogIndex index) const;

  // Equal exactly for equal lists, up to collisions of a 64-bit mix.
  std::uint64_t digest() const;
};

// A service state with what a replica needs to continue a log behind it.
struct Snapshot {
  ServiceState state;
  Term term;  // Of the entry at state.applied.
  Configuration configuration;
};

}  // namespace gcoord::consensus::scenario
