// Readmission of a device's rows after their node has lost its promises
// (consensus/step/readmission.h, docs/adr/0015), for services whose entries hold a configuration
// (kReadmits).
//
// All that there is to re-admission is in the row, so the row's own turn does it, and no host takes
// part: a step of a row that leads and misses a member proposes what readmission_plan.h says; the
// entry that holds the configuration travels, is decided and applied like any other; and the first
// step after it was applied is told so. A configuration is the last entry that a turn applies to a
// row, so a step hears of each. Called by the one thread that has the row. Host and device.
#pragma once

#include "common/device/aligned_copy.h"
#include "common/hd.h"
#include "consensus/step/readmission_plan.h"
#include "server/device_turn/drain_outbox.h"

#include <cstdint>

namespace gcoord::server {

// Makes one of other nodes none at all, which the step drops and counts.
template <typename Service>
GCOORD_HD void disbelieve_others(consensus::Configuration& configuration) {
  if (!is_of_cluster(configuration, kVotersOf<Service>)) {
    configuration.voters = 0;
  }
}

// The configuration of a snapshot among the messages.
template <typename Service>
GCOORD_HD void take_snapshot(const RowTurn<Service>& r,
                             consensus::InboxHead& head,
                             consensus::Configuration& configuration) {
  const std::uint32_t snapshot = r.desk.snapshot[r.place];
  if (snapshot != 0) {
    head.configuration_input = consensus::ConfigurationInput::Installed;
    configuration = load_aligned<consensus::Configuration>(r.slot_of(snapshot - 1) + 1);
    disbelieve_others<Service>(configuration);
  }
}

// The configuration that the last turn of the row applied. An entry that says it is one where the
// log knows of none is not believed.
template <typename Service>
GCOORD_HD void take_applied(const RowTurn<Service>& r,
                            consensus::ShardRef shard,
                            consensus::InboxHead& head,
                            consensus::Configuration& configuration) {
  std::uint8_t& flags = r.node.flags[r.row];
  if ((flags & kTurnConfigured) == 0) {
    return;
  }
  flags = static_cast<std::uint8_t>(flags & ~kTurnConfigured);
  const LogIndex index = r.node.applied[r.row];
  if (index > shard.log().floor && index <= shard.log().configuration_pending) {
    head.configuration_input = consensus::ConfigurationInput::Applied;
    head.configuration_index = index;
    configuration = Service::configuration_of(r.entry(index));
    disbelieve_others<Service>(configuration);
  }
}

// What a leader that misses a member proposes now, if its log page has room for it.
GCOORD_HD inline void plan_proposal(consensus::ShardRef shard,
                                    const consensus::StepInput& input,
                                    std::uint32_t room,
                                    consensus::InboxHead& head,
                                    consensus::Configuration& configuration) {
  const bool asks = shard.hot().role == consensus::Role::Leader && lives_can_end(input) &&
                    room != 0 && consensus::wants_readmission(shard);
  if (!asks) {
    return;
  }
  const consensus::ReadmissionPlan plan = consensus::plan_readmission(shard, input);
  if (plan.step != consensus::ReadmissionStep::None) {
    head.configuration_input = consensus::ConfigurationInput::Proposed;
    configuration = plan.configuration;
    head.proposal_count = head.proposal_count < room ? head.proposal_count : room - 1;
  }
}

// The configuration of the inbox, of which there is one at most: what was applied, else what came
// with a snapshot, else what to propose. A snapshot beside another one is dropped and sent again.
template <typename Service>
GCOORD_HD void take_configuration(const RowTurn<Service>& r,
                                  consensus::ShardRef shard,
                                  const consensus::StepInput& input,
                                  std::uint32_t room,
                                  consensus::InboxHead& head,
                                  consensus::Configuration& configuration) {
  if constexpr (Service::kReadmits) {
    take_applied(r, shard, head, configuration);
  }
  if (head.configuration_input == consensus::ConfigurationInput::None) {
    take_snapshot(r, head, configuration);
  }
  if constexpr (Service::kReadmits) {
    if (head.configuration_input == consensus::ConfigurationInput::None) {
      plan_proposal(shard, input, room, head, configuration);
    }
  }
}

// The entry of what was proposed, if the step took it.
template <typename Service>
GCOORD_HD void store_proposed(const RowTurn<Service>& r,
                              const consensus::OutboxHead& out,
                              const consensus::Configuration& proposed) {
  if constexpr (Service::kReadmits) {
    if (out.configuration == consensus::ProposalVerdict::Accepted) {
      r.store(out.configuration_index, Service::configuration_entry(proposed), 0);
    }
  }
}

// Whether a row that leads and misses a member heard something in this step that may call for a
// proposal in the next one.
GCOORD_HD inline bool may_propose_next(consensus::ShardRef shard,
                                       const consensus::InboxHead& in,
                                       LogIndex applied_before) {
  const bool heard = in.message_count != 0 || in.woken != 0 ||
                     in.configuration_input == consensus::ConfigurationInput::Applied ||
                     shard.log().applied != applied_before;
  return heard && shard.hot().role == consensus::Role::Leader &&
         consensus::wants_readmission(shard);
}

}  // namespace gcoord::server
