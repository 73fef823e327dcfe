// Classic mistakes, planted at the seams of a simulated node or client to see whether the judges
// find them (docs/adr/0023). Each breaks a promise as its namesake in the product would; no line of
// the product knows of them.
//
// Never renumber: `chaos replay --mutant` names them by their words. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gcoord::chaos {

enum class Mutant : std::uint8_t {
  None,
  // Of the step, planted around it.
  AcknowledgedBeforeDurable,
  VoteForgottenAtRestart,
  TermForgottenAtRestart,
  AppendAcknowledgedUnseen,
  PriorTermByCounting,
  QuorumOneShort,
  SecondVoteInATerm,
  VoteForShorterLog,
  LogMismatchAccepted,
  CommitBeyondMatch,
  DeposedLeaderObeyed,
  CommitFallsBack,
  // Of the service and its state.
  EntrySkipped,
  DuplicateNotSeen,
  SnapshotInstalledEmpty,
  CheckpointOfThePast,
  SessionsExpireEarly,
  // Of the way between clients and the log.
  ReadWithoutQuorum,
  ReleaseAcknowledgedAtOnce,
  // Of the disk.
  SyncDoesNothing,
  FailedSyncForgiven,
  DirectoryNotSynced,
  IdentityNotSynced,
  CheckpointCoversMore,
  CheckpointLosesAValue,
  // Of the client.
  ClientLeaseFromReceipt,
  ClientOutlivesItsLease,
  ClientRenumbersRetries,
  // Of the ledger.
  HistoryRewritten,
  // Of the step again: what only a leader that is cut off at a bad moment shows.
  LeaseKeptInTransfer,
  ReadConfirmationsKept,
  VotesRightAfterRestart,
  // Of inputs that are settled without a step (consensus/step/settle.h); the step is right.
  SettledBeforeDurable,
  SettledReplyCountsAll,
  // Of the lanes of a turn but the first: a node of one turn thread has none.
  LaneAcknowledgedEarly,
  LaneClockStands,
  HeartbeatBeforeLanesMet,
  LaneCallsLost,
  // Of configurations: only where members change, as in gcoord-sim --members.
  ChangeBeforeOwnTerm,
  ConfigurationUsedAtAppend,
  RemovedVoteCounted,
  JointDecidedByOneHalf,
  LearnerAcknowledgementCounted,
  WitnessCampaigns,
  // Of the cluster view, and of who goes by it: only in worlds with an operator.
  ViewAppliedTwice,
  EpochReused,
  JoinerVotesEarly,
  // Of groups; planted at the service, the same on all nodes.
  BarrierReleasedEarly,
  GroupViewAppliedTwice,
  GroupEpochReused,
};

inline constexpr std::size_t kMutantCount = 51;

// Whether only nodes of several turn threads can make the mistake.
constexpr bool of_lanes(Mutant mutant) {
  return mutant >= Mutant::LaneAcknowledgedEarly && mutant <= Mutant::LaneCallsLost;
}

// Whether only shards whose members change can show the mistake.
constexpr bool of_members(Mutant mutant) {
  return mutant >= Mutant::ChangeBeforeOwnTerm && mutant <= Mutant::WitnessCampaigns;
}

// Whether only worlds with an operator can show the mistake.
constexpr bool of_operators(Mutant mutant) {
  return mutant >= Mutant::ViewAppliedTwice && mutant <= Mutant::JoinerVotesEarly;
}

// Whether only worlds with members of groups show it.
constexpr bool of_groups(Mutant mutant) {
  return mutant >= Mutant::BarrierReleasedEarly && mutant <= Mutant::GroupEpochReused;
}

// "acknowledged_before_durable".
const char* mutant_name(Mutant mutant);

// None that is called so: no value.
std::optional<Mutant> find_mutant(std::string_view name);

// One sentence.
const char* mutant_story(Mutant mutant);

}  // namespace gcoord::chaos
