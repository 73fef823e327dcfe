// The owner of one row: keeps its payloads, its storage and its service, feeds its inbox and
// carries out its outbox in the order of outbox.h.
//
// Storage and application are acknowledged in the next step, or on command where the scenario wants
// to stand in between. Wishes wait for the next step too. Host only; one thread.
#pragma once

#include "consensus/scenario/entry.h"
#include "consensus/scenario/fake_storage.h"
#include "consensus/scenario/link_network.h"
#include "consensus/scenario/observer.h"
#include "consensus/scenario/payload_log.h"
#include "consensus/step/inbox.h"
#include "consensus/step/members_plan.h"
#include "consensus/step/outbox.h"
#include "consensus/step/shard_table.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::consensus::scenario {

// Who acknowledges storage and application: the environment at once, or the scenario by hand.
enum class Acknowledging : std::uint8_t { Automatic, Manual };

// What a scenario asks a row for.
struct Wishes {
  bool campaign = false;
  bool woken = false;
  std::vector<std::string> proposals;
  std::optional<Configuration> configuration;
  NodeId transfer_to;
  NodeId snapshot_failed;
  LogIndex compact_to;
  std::uint64_t read_sequence = 0;
  ReadProof read_proof = ReadProof::LeaseOrRound;
};

class Replica {
 public:
  // Recovers the row from `storage`, which outlives the replica, and asks for a first step. Without
  // its promises if it is `forgetful`: then storage holds nothing but checkpoints.
  Replica(NodeId self, ShardRef row, FakeStorage& storage, bool forgetful = false);

  NodeId self() const { return self_; }

  ShardRef row() const { return row_; }

  const PayloadLog& payloads() const { return payloads_; }

  const ServiceState& service() const { return service_; }

  const FakeStorage& storage() const { return storage_; }

  // What the row was asked for and did not get in its last step.
  Wishes& wishes() { return wishes_; }

  TermEntry entry_at(LogIndex index) const;

  // The configuration that was in force after `index` was applied.
  Configuration configuration_at(LogIndex index) const;

  void set_storage_acknowledging(Acknowledging by) { storage_by_ = by; }

  void set_apply_acknowledging(Acknowledging by);

  // Manual storage: makes the request under way durable now and acknowledges it in the next step.
  // False if none is under way.
  bool acknowledge_storage(Observer& observer);

  // Manual application: applies what is asked for. False if nothing is.
  bool acknowledge_apply();

  // Writes a checkpoint at `index`, at most what is applied, and forgets what it covers.
  void checkpoint(LogIndex index);

  // A message of the step with what travels beside it: entries, or the service's present state.
  Packet pack(const Message& message) const;

  void arrive(Packet packet) { arrived_.push_back(std::move(packet)); }

  // What the row does for the members that its node wants, if it leads: a configuration to propose
  // or a transfer becomes a wish (members_plan.h).
  void move_members(const StepInput& input, const MembersTarget& target);

  // Whether the row wants a step at `now`.
  bool due(Tick now) const;

  // Moves what waits into the inbox, messages_max messages at most.
  void fill(Inbox& in, std::uint32_t messages_max, Observer& observer);

  // Carries out what the step asked for; messages go to `send`.
  void drain_outbox(const Outbox& out,
                    Tick now,
                    Observer& observer,
                    const std::function<void(const Packet&)>& send);

 private:
  void recover_row(bool forgetful);
  void fill_messages(Inbox& in, std::uint32_t messages_max);
  void fill_applied(Inbox& in);
  void fill_wishes(Inbox& in);
  void install(const Snapshot& snapshot);
  void store_payloads(const Outbox& out);
  void store_append(const Packet& packet, LogIndex first);
  void store_own(const Outbox& out);
  void persist(const StorageRequest& request, Observer& observer);
  void apply(const ApplyRequest& request);

  NodeId self_;
  ShardRef row_;
  FakeStorage& storage_;
  PayloadLog payloads_;
  ServiceState service_;
  std::vector<std::pair<LogIndex, Configuration>> configurations_;  // Applied ones, by index.
  std::optional<Snapshot> installed_;  // The newest one that storage was not asked for yet.
  Wishes wishes_;
  std::deque<Packet> arrived_;
  std::vector<Packet> folded_;  // The messages of the step under way, by place in the inbox.
  std::vector<std::string> proposed_;
  std::optional<Configuration> configuration_proposed_;
  std::optional<StorageAck> storage_ack_;
  std::optional<ApplyRequest> apply_asked_;
  LogIndex applied_ack_;
  std::optional<std::pair<LogIndex, Configuration>> configuration_ack_;
  Acknowledging storage_by_ = Acknowledging::Automatic;
  Acknowledging apply_by_ = Acknowledging::Automatic;
  Tick stalled_until_ = kTickNever;
  bool again_ = true;  // A recovered row sets its timer in a first step.
};

}  // namespace gcoord::consensus::scenario
