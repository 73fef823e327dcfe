#include "consensus/scenario/trace.h"

#include "consensus/scenario/names.h"
#include "consensus/scenario/replica.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace gcoord::consensus::scenario {
namespace {

constexpr std::array<std::string_view, 8> kTopicNames = {
    "commits", "applied", "leaders", "proposals", "messages", "deliveries", "storage", "liveness"};

std::string range_text(LogIndex first, LogIndex last) {
  return first == last ? fmt::format("{}", first.value)
                       : fmt::format("{}..{}", first.value, last.value);
}

}  // namespace

std::optional<Topic> topic_named(std::string_view name) {
  for (std::size_t k = 0; k < kTopicNames.size(); ++k) {
    if (kTopicNames[k] == name) {
      return static_cast<Topic>(k);
    }
  }
  return std::nullopt;
}

void Trace::set_topic(Topic topic, bool on) {
  const std::uint32_t bit = 1u << static_cast<std::uint32_t>(topic);
  topics_ = on ? topics_ | bit : topics_ & ~bit;
}

std::vector<std::string> Trace::take() {
  return std::exchange(lines_, {});
}

std::uint64_t Trace::take_sent_count() {
  return std::exchange(sent_count_, 0);
}

std::string Trace::place(NodeId node, ShardId shard) const {
  return shard_count_ == 1 ? fmt::format("{}", node.value)
                           : fmt::format("{}.{}", node.value, shard.value);
}

void Trace::role_line(const StepReport& report, const std::string& at) {
  const Hot& before = report.before;
  const Hot& after = report.replica.row().hot();
  const Configuration& configuration = report.replica.row().configuration();
  if (before.role != after.role || before.term != after.term) {
    const std::string cause = report.out.cause == Cause::None
                                  ? std::string()
                                  : fmt::format(" ({})", name_of(report.out.cause));
    lines_.push_back(fmt::format("{}: {} term={} -> {} term={}{}",
                                 at,
                                 role_name(before, configuration),
                                 before.term.value,
                                 role_name(after, configuration),
                                 after.term.value,
                                 cause));
  }
  const bool follows = after.leader != before.leader || after.term != before.term;
  if (on(Topic::Leaders) && follows && after.role == Role::Follower) {
    const std::string whom =
        after.leader.value == 0 ? "nobody" : fmt::format("{}", after.leader.value);
    lines_.push_back(fmt::format("{}: follows {} term={}", at, whom, after.term.value));
  }
}

void Trace::verdict_lines(const StepReport& report, const std::string& at) {
  const Outbox& out = report.out;
  if (out.dropped != 0) {
    lines_.push_back(fmt::format("{}: dropped {}", at, out.dropped));
  }
  if (out.proposal > ProposalVerdict::Accepted) {
    lines_.push_back(fmt::format("{}: proposal {}", at, name_of(out.proposal)));
  } else if (out.accepted.count < report.in.proposal_count) {
    lines_.push_back(
        fmt::format("{}: accepted {} of {}", at, out.accepted.count, report.in.proposal_count));
  } else if (out.accepted.count != 0 && on(Topic::Proposals)) {
    const LogIndex first = out.accepted.first;
    lines_.push_back(
        fmt::format("{}: accepted {}", at, range_text(first, first + (out.accepted.count - 1))));
  }
  if (out.configuration > ProposalVerdict::Accepted) {
    lines_.push_back(fmt::format("{}: configuration {}", at, name_of(out.configuration)));
  }
  if (out.read == ReadVerdict::Ready) {
    lines_.push_back(
        fmt::format("{}: read {} ready index={}", at, out.read_sequence, out.read_index.value));
  } else if (out.read == ReadVerdict::Lost) {
    lines_.push_back(fmt::format("{}: read {} lost", at, out.read_sequence));
  }
}

void Trace::log_lines(const StepReport& report, const std::string& at) {
  const Log& before = report.log_before;
  const Log& after = report.replica.row().log();
  if (report.out.snapshot_installed != 0) {
    lines_.push_back(fmt::format("{}: snapshot installed index={}", at, after.floor.value));
  }
  if (after.last < before.last && report.out.snapshot_installed == 0) {
    lines_.push_back(fmt::format("{}: truncated to {}", at, after.last.value));
  }
  if (after.commit != before.commit && on(Topic::Commits)) {
    lines_.push_back(fmt::format("{}: commit {}", at, after.commit.value));
  }
  if (after.applied != before.applied && on(Topic::Applied)) {
    lines_.push_back(fmt::format("{}: applied {}", at, after.applied.value));
  }
  const Configuration& configuration = report.replica.row().configuration();
  if (report.in.configuration_input == ConfigurationInput::Applied) {
    lines_.push_back(fmt::format("{}: configuration {}", at, text_of(configuration)));
  }
}

void Trace::on_step(const StepReport& report) {
  const std::string at = place(report.node, report.replica.row().shard());
  if (on(Topic::Deliveries)) {
    for (std::uint32_t k = 0; k < report.in.message_count; ++k) {
      lines_.push_back(fmt::format("{}< {}", at, text_of(report.in.message[k])));
    }
  }
  role_line(report, at);
  log_lines(report, at);
  verdict_lines(report, at);
}

void Trace::on_send(const Packet& packet, SendFate fate, const Replica& sender) {
  static_cast<void>(sender);
  ++sent_count_;
  if (!on(Topic::Messages)) {
    return;
  }
  const std::string shard =
      shard_count_ == 1 ? std::string() : fmt::format(" shard={}", packet.message.shard.value);
  const std::string_view end = fate == SendFate::Passed ? ""
                               : fate == SendFate::Held ? " (held)"
                                                        : " (lost)";
  lines_.push_back(text_of(packet.message) + shard + std::string(end));
}

void Trace::on_liveness(NodeId node, const PeerLiveness& peer, LivenessChange change) {
  if (on(Topic::Liveness)) {
    lines_.push_back(fmt::format(
        "{}: node {} {} session={}", node.value, peer.node.value, name_of(change), peer.session));
  }
}

void Trace::on_persist(NodeId node, ShardId shard, const StorageRequest& request) {
  if (!on(Topic::Storage)) {
    return;
  }
  const std::string entries =
      request.first > request.last
          ? std::string()
          : fmt::format(" entries={}", range_text(request.first, request.last));
  lines_.push_back(fmt::format("{}: persist term={} vote={}{}{}",
                               place(node, shard),
                               request.term.value,
                               request.vote.value,
                               request.snapshot != 0 ? " snapshot" : "",
                               entries));
}

void Trace::on_durable(NodeId node, ShardId shard, const StorageAck& ack) {
  if (on(Topic::Storage)) {
    lines_.push_back(fmt::format(
        "{}: durable term={} vote={}", place(node, shard), ack.term.value, ack.vote.value));
  }
}

void Trace::on_unroutable(NodeId node) {
  lines_.push_back(fmt::format("{}: dropped 1 (not packed as a message can be)", node.value));
}

}  // namespace gcoord::consensus::scenario
