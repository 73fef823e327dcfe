#include "consensus/device/device_stepper.h"
#include "consensus/device/stand_in_device.h"
#include "consensus/step/recover.h"
#include "consensus/step/step_row.h"
#include "consensus/step/stepper.h"
#include "tests/consensus/random_values.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

namespace gcoord::consensus {
namespace {

constexpr std::uint32_t kRows = 4;

Configuration three_voters() {
  Configuration configuration;
  configuration.voters = 0b111;
  for (std::uint32_t slot = 0; slot < 3; ++slot) {
    configuration.node[slot] = NodeId{slot + 1};
    configuration.weight[slot] = 1;
  }
  return configuration;
}

std::unique_ptr<Stepper> fresh_stepper(
    std::unique_ptr<Stepper> stepper = make_cpu_stepper(kRows, kReplicaSlots)) {
  for (std::uint32_t row = 0; row < kRows; ++row) {
    RecoveredShard recovered;
    recovered.configuration = three_voters();
    recover(ShardRef(stepper->columns(), row), recovered, NodeId{1});
  }
  return stepper;
}

// Any message that could reach node 1, most of them out of place.
Message any_message(std::uint32_t row) {
  // Mostly small numbers, which can mean something; sometimes one at the edge of what is plausible.
  const auto small = [] {
    return any_from(0, 20) == 0 ? kPlausibleMax - 1 + any_from<std::uint64_t>(0, 1)
                                : any_from<std::uint64_t>(0, 3);
  };
  Message message;
  message.shard = ShardId{row};
  message.kind = static_cast<MessageKind>(any_from(0, 12));
  message.flags = static_cast<std::uint8_t>(any_from(0, 63));
  message.from = NodeId{any_from(0u, 4u)};
  message.to = NodeId{1};
  message.count = static_cast<std::uint16_t>(any_from(0, 2));
  message.term = Term{small()};
  message.index = LogIndex{small()};
  message.log_term = Term{small()};
  message.commit = LogIndex{small()};
  message.entry_term = small();
  message.context = small();
  return message;
}

Inbox any_inbox(std::uint32_t row) {
  Inbox in;
  in.message_count = any_from(0u, kInboxMessages);
  for (std::uint32_t k = 0; k < in.message_count; ++k) {
    in.message[k] = any_message(row);
  }
  in.proposal_count = any_from(0u, 2u);
  in.campaign = static_cast<std::uint8_t>(any_from(0, 1));
  in.woken = static_cast<std::uint8_t>(any_from(0, 1));
  return in;
}

// Two peers that are alive, in the middle of a run.
std::vector<PeerLiveness> live_peers(Tick now) {
  std::vector<PeerLiveness> peers(2);
  for (std::uint32_t k = 0; k < peers.size(); ++k) {
    peers[k].node = NodeId{k + 2};
    peers[k].incarnation = Incarnation{1};
    peers[k].session = 1;
    peers[k].credit = any_from(0u, 2u);
    peers[k].heard = now;
    peers[k].acked_send = now;
    peers[k].peer_tick = now;
    peers[k].live = 1;
  }
  return peers;
}

StepInput input_at(Tick now, const std::vector<PeerLiveness>& peers) {
  StepInput input;
  input.tick = now;
  input.seed = 7;
  input.self = NodeId{1};
  input.peer = peers.data();
  input.peer_count = static_cast<std::uint32_t>(peers.size());
  return input;
}

// Takes the acknowledgement that the outbox asks for into the next inbox, so that rows get ahead.
void acknowledge(const Outbox& out, Inbox& next) {
  if (out.storage.present != 0) {
    next.storage_ack = {out.storage.term, out.storage.vote, 1};
  }
  if (out.apply.first.value != 0) {
    next.applied = out.apply.last;
  }
}

bool same_messages(const Outbox& a, const Outbox& b) {
  return a.message_count == b.message_count &&
         std::memcmp(a.message, b.message, a.message_count * sizeof(Message)) == 0;
}

// Steps `one` through turns of any inboxes, all rows in one call, which acknowledge what it asked
// for in the turn before. After each turn `compare` is given what went in and what came out.
template <typename Compare>
void step_any_turns(Stepper& one, const Compare& compare) {
  std::vector<std::uint32_t> rows(kRows);
  std::iota(rows.begin(), rows.end(), 0u);
  std::vector<Inbox> in(kRows);
  std::vector<Outbox> out(kRows);
  const int steps = any_from(1, 24);
  for (int k = 0; k < steps; ++k) {
    const Tick now{static_cast<std::uint64_t>(k) * 20 + 1};
    const std::vector<PeerLiveness> peers = live_peers(now);
    const StepInput input = input_at(now, peers);
    for (std::uint32_t row = 0; row < kRows; ++row) {
      in[row] = any_inbox(row);
      acknowledge(out[row], in[row]);
    }
    RC_ASSERT(one.step(rows, in, out, input).ok());
    compare(rows, in, out, input);
  }
}

// The same inputs, all rows in one call here and one call per row there, give the same columns and
// the same messages. Forged messages assert nothing.
RC_GTEST_PROP(Step, GivesEqualColumnsForEqualInputs, ()) {
  const auto together = fresh_stepper();
  const auto apart = fresh_stepper();
  std::vector<Outbox> out_apart(kRows);
  step_any_turns(*together, [&](auto& rows, auto& in, auto& out_together, const StepInput& input) {
    for (std::uint32_t row = kRows; row-- > 0;) {
      const Status stepped = apart->step(
          std::span(&rows[row], 1), std::span(&in[row], 1), std::span(&out_apart[row], 1), input);
      RC_ASSERT(stepped.ok());
      RC_ASSERT(row_digest(together->columns(), row) == row_digest(apart->columns(), row));
      RC_ASSERT(same_messages(out_together[row], out_apart[row]));
    }
  });
}

bool same_verdicts(const Outbox& a, const Outbox& b) {
  return a.again == b.again && a.cause == b.cause && a.proposal == b.proposal &&
         a.dropped == b.dropped && a.accepted.first == b.accepted.first &&
         a.accepted.count == b.accepted.count && a.own_entry.count == b.own_entry.count &&
         a.storage.present == b.storage.present && a.storage.first == b.storage.first &&
         a.storage.last == b.storage.last && a.storage.commit == b.storage.commit &&
         a.apply.first == b.apply.first && a.apply.last == b.apply.last;
}

// The same on the CPU and by way of a device: staged, packed, stepped elsewhere, taken back.
RC_GTEST_PROP(Step, GivesTheSameByWayOfADevice, ()) {
  const auto here = fresh_stepper();
  const auto there =
      fresh_stepper(make_device_stepper(std::make_unique<StandInDevice>(),
                                        {.row_count = kRows, .slot_count = kReplicaSlots})
                        .value());
  std::vector<Outbox> out_there(kRows);
  step_any_turns(*here, [&](auto& rows, auto& in, auto& out_here, const StepInput& input) {
    RC_ASSERT(there->step(rows, in, out_there, input).ok());
    for (std::uint32_t row = 0; row < kRows; ++row) {
      RC_ASSERT(row_digest(here->columns(), row) == row_digest(there->columns(), row));
      RC_ASSERT(same_messages(out_here[row], out_there[row]));
      RC_ASSERT(same_verdicts(out_here[row], out_there[row]));
    }
  });
}

}  // namespace
}  // namespace gcoord::consensus
