#include "server/access/recovery.h"

#include "common/bytes.h"
#include "consensus/step/quorum.h"
#include "security/roles/command.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {

namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::uint64_t kNever = ~std::uint64_t{0};

bool votes(const consensus::Configuration& configuration, NodeId node) {
  const std::uint8_t slot = consensus::slot_of(configuration, node);
  return slot != consensus::kSlotNone && consensus::has_slot(configuration.voters_either(), slot);
}

}  // namespace

std::vector<std::byte> encode_recovery_vote(std::uint64_t number) {
  std::vector<std::byte> message = {kRecoveryKind};
  ByteWriter writer{message};
  writer.integer(kVersion);
  writer.integer(number);
  return message;
}

std::optional<std::uint64_t> decode_recovery_vote(std::span<const std::byte> message) {
  ByteReader reader{message};
  const auto kind = reader.integer<std::uint8_t>();
  const auto version = reader.integer<std::uint8_t>();
  const auto number = reader.integer<std::uint64_t>();
  const bool sound =
      reader.complete() && std::byte{kind} == kRecoveryKind && version == kVersion && number != 0;
  return sound ? std::optional(number) : std::nullopt;
}

bool AccessRecovery::hear(NodeId from, std::span<const std::byte> message) {
  const auto number = decode_recovery_vote(message);
  if (!number) {
    return false;
  }
  if (votes(environment_.log.view(kAccessShard).configuration, from)) {
    votes_[from] = {*number, now_ms_};
    next_ms_ = now_ms_;
  }
  return true;
}

// The last recovery had this node's marker.
void AccessRecovery::spend() {
  const auto& recovered = environment_.machine.table().recovered;
  const bool spent = std::ranges::any_of(recovered, [&](const security::RecoveryMark& mark) {
    return mark.node == environment_.self && mark.number == *marker_.number;
  });
  if (spent) {
    marker_.remove();
    marker_.number.reset();
  }
}

void AccessRecovery::say() {
  const std::vector<std::byte> message = encode_recovery_vote(*marker_.number);
  for (const NodePeerView& peer : environment_.log.view().peers) {
    environment_.log.send_peer_message(peer.link.id, message);
  }
}

// The markers that count; none while they are no quorum, or are spent.
std::vector<security::RecoveryMark> AccessRecovery::quorum() const {
  const ShardView shard = environment_.log.view(kAccessShard);
  if (shard.role != consensus::Role::Leader) {
    return {};
  }
  const auto& recovered = environment_.machine.table().recovered;
  consensus::SlotMask granted = 0;
  std::vector<security::RecoveryMark> marks;
  const auto count = [&](NodeId node, std::uint64_t number) {
    const std::uint8_t slot = consensus::slot_of(shard.configuration, node);
    const security::RecoveryMark mark{node, number};
    if (slot != consensus::kSlotNone && votes(shard.configuration, node) &&
        std::ranges::find(recovered, mark) == recovered.end()) {
      granted = static_cast<consensus::SlotMask>(granted | consensus::slot_bit(slot));
      marks.push_back(mark);
    }
  };
  if (marker_.number) {
    count(environment_.self, *marker_.number);
  }
  for (const auto& [node, vote] : votes_) {
    if (node != environment_.self && vote.heard_ms + kVoteMs > now_ms_) {
      count(node, vote.number);
    }
  }
  return consensus::is_quorum(shard.configuration, granted) ? marks
                                                            : std::vector<security::RecoveryMark>{};
}

void AccessRecovery::propose(std::vector<security::RecoveryMark> marks) {
  const security::AccessTable& table = environment_.machine.table();
  const bool takes = environment_.log.abilities().takes_records;
  if (!takes || (table.epoch == 0 && !environment_.all_have())) {
    return;
  }
  security::AccessCommand command;
  command.kind = security::AccessKind::Recover;
  command.expected = table.epoch;
  command.who = "gcoordd --auth-recover";
  command.marks = std::move(marks);
  proposed_ = cookies_.next();
  const std::vector<std::byte> record = access_record(security::encode_access_command(command),
                                                      protocol::RecordOrigin::System,
                                                      environment_.wall_ms());
  environment_.log.propose(kAccessShard, record, proposed_);
}

void AccessRecovery::advance(std::uint64_t now_ms) {
  now_ms_ = now_ms;
  if (now_ms < next_ms_ || (!marker_.number && votes_.empty())) {
    return;
  }
  next_ms_ = now_ms + kSayEveryMs;
  if (marker_.number) {
    spend();
  }
  if (marker_.number) {
    say();
  }
  std::erase_if(votes_, [&](const auto& each) { return each.second.heard_ms + kVoteMs <= now_ms; });
  if (proposed_ == 0) {
    if (auto marks = quorum(); !marks.empty()) {
      propose(std::move(marks));
    }
  }
}

std::uint64_t AccessRecovery::until_next_deadline_ms() const {
  const bool idle = !marker_.number && votes_.empty();
  return idle ? kNever : next_ms_ - std::min(next_ms_, now_ms_);
}

}  // namespace gcoord::server
