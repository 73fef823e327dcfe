#include "consensus/scenario/names.h"

#include <fmt/format.h>

#include <array>

namespace gcoord::consensus::scenario {
namespace {

constexpr std::array<std::string_view, 4> kRoleNames = {
    "follower", "pre-candidate", "candidate", "leader"};
constexpr std::array<std::string_view, 10> kCauseNames = {"none",
                                                          "timeout",
                                                          "higher-term",
                                                          "elected",
                                                          "check-quorum",
                                                          "transfer",
                                                          "removed",
                                                          "leader-known",
                                                          "resigned",
                                                          "vote-lost"};
constexpr std::array<std::string_view, 13> kMessageNames = {"None",
                                                            "PreVote",
                                                            "PreVoteReply",
                                                            "Vote",
                                                            "VoteReply",
                                                            "Append",
                                                            "AppendReply",
                                                            "Snapshot",
                                                            "TimeoutNow",
                                                            "StepDown",
                                                            "LeaderQuery",
                                                            "LeaderAnswer",
                                                            "Readmit"};
constexpr std::array<std::string_view, 6> kProposalNames = {
    "none", "accepted", "not-leader", "transferring", "overloaded", "refused"};
constexpr std::array<std::string_view, 3> kReadNames = {"none", "ready", "lost"};
constexpr std::array<std::string_view, 3> kProgressNames = {"probe", "replicate", "snapshot"};
constexpr std::array<std::string_view, 3> kLivenessNames = {"none", "returned", "lost"};

template <typename Enum, std::size_t kCount>
std::string_view pick(const std::array<std::string_view, kCount>& names, Enum value) {
  const auto place = static_cast<std::size_t>(value);
  return place < kCount ? names[place] : "unknown";
}

std::string half_text(const Configuration& configuration, SlotMask half) {
  std::string text;
  for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
    if (!has_slot(half, slot)) {
      continue;
    }
    text += fmt::format("{}{}", text.empty() ? "" : ",", configuration.node[slot].value);
    if (configuration.weight[slot] > 1) {
      text += fmt::format("*{}", configuration.weight[slot]);
    }
  }
  return text;
}

// " name=value" unless the value is 0.
std::string field(std::string_view name, std::uint64_t value) {
  return value == 0 ? std::string() : fmt::format(" {}={}", name, value);
}

std::string append_text(const Message& message) {
  std::string text = fmt::format(" previous={}/{}", message.index.value, message.log_term.value);
  if (message.count != 0) {
    const bool configuration = (message.flags & kFlagConfiguration) != 0;
    text += fmt::format(" entries={}/{}{}",
                        message.count,
                        message.entry_term,
                        configuration ? " configuration" : "");
  }
  return text + field("commit", message.commit.value) + field("read", message.context) +
         ((message.flags & kFlagNotice) != 0 ? " notice" : "");
}

std::string append_reply_text(const Message& message) {
  if ((message.flags & kFlagReject) == 0) {
    return fmt::format(" match={}", message.index.value) + field("commit", message.commit.value) +
           field("read", message.context) +
           ((message.flags & kFlagForgetful) != 0 ? " forgetful" : "");
  }
  if (message.index.value == 0) {
    return " outdated";  // Nothing is refused but the sender's term.
  }
  return fmt::format(
      " rejects={} hint={}/{}", message.index.value, message.entry_term, message.log_term.value);
}

std::string_view verdict_text(const Message& message) {
  return (message.flags & kFlagReject) != 0 ? " rejected" : " granted";
}

}  // namespace

std::string_view name_of(Role role) {
  return pick(kRoleNames, role);
}

std::string_view name_of(Cause cause) {
  return pick(kCauseNames, cause);
}

std::string_view name_of(MessageKind kind) {
  return pick(kMessageNames, kind);
}

std::string_view name_of(ProposalVerdict verdict) {
  return pick(kProposalNames, verdict);
}

std::string_view name_of(ReadVerdict verdict) {
  return pick(kReadNames, verdict);
}

std::string_view name_of(ProgressState state) {
  return pick(kProgressNames, state);
}

std::string_view name_of(LivenessChange change) {
  return pick(kLivenessNames, change);
}

std::optional<MessageKind> message_kind_named(std::string_view name) {
  for (std::size_t k = 1; k < kMessageNames.size(); ++k) {
    if (kMessageNames[k] == name) {
      return static_cast<MessageKind>(k);
    }
  }
  return std::nullopt;
}

std::string_view role_name(const Hot& hot, const Configuration& configuration) {
  const bool learner =
      hot.self_slot != kSlotNone && has_slot(configuration.learners, hot.self_slot);
  return hot.role == Role::Follower && learner ? "learner" : name_of(hot.role);
}

std::string text_of(const TermEntry& entry) {
  switch (entry.entry.kind) {
    case EntryKind::Noop:
      return fmt::format("{}/noop", entry.term.value);
    case EntryKind::Configuration:
      return fmt::format("{}/{}", entry.term.value, text_of(decode_configuration(entry.entry)));
    case EntryKind::Command:
      break;
  }
  return fmt::format("{}/{}", entry.term.value, entry.entry.bytes);
}

std::string text_of(const Configuration& configuration) {
  std::string text = half_text(configuration, configuration.voters);
  if (configuration.joint()) {
    text += " outgoing " + half_text(configuration, configuration.voters_outgoing);
  }
  if (configuration.learners != 0) {
    text += " learners " + half_text(configuration, configuration.learners);
  }
  if (configuration.learners_next != 0) {
    text += " learners-next " + half_text(configuration, configuration.learners_next);
  }
  return "{" + text + "}";
}

std::string text_of(const Message& message) {
  std::string text = fmt::format("{}>{} {} term={}",
                                 message.from.value,
                                 message.to.value,
                                 name_of(message.kind),
                                 message.term.value);
  switch (message.kind) {
    case MessageKind::PreVote:
    case MessageKind::Vote:
      text += fmt::format(" last={}/{}", message.index.value, message.log_term.value);
      return text + ((message.flags & kFlagTransfer) != 0 ? " transfer" : "");
    case MessageKind::PreVoteReply:
    case MessageKind::VoteReply:
      return text.append(verdict_text(message));
    case MessageKind::Append:
      return text + append_text(message);
    case MessageKind::AppendReply:
      return text + append_reply_text(message);
    case MessageKind::Snapshot:
      return text + fmt::format(" covers={}/{}", message.index.value, message.log_term.value);
    case MessageKind::LeaderAnswer:
      text += field("asked", message.context);
      return text + ((message.flags & kFlagLeads) != 0 ? " leads" : " leads-not");
    case MessageKind::Readmit:
      return text + fmt::format(" life={} from={}", message.context, message.index.value);
    case MessageKind::StepDown:
    case MessageKind::LeaderQuery:
      return text + field("of", message.context);
    default:
      return text;
  }
}

}  // namespace gcoord::consensus::scenario
