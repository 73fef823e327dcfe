#include "server/turn_lines/role_changes.h"

#include <array>
#include <string_view>
#include <utility>

namespace gcoord::server {

namespace {

using consensus::Cause;
using consensus::Role;

std::string_view cause_text(Cause cause) {
  constexpr std::array<std::string_view, 10> kTexts = {"",
                                                       ", election timeout",
                                                       ", higher term",
                                                       ", elected",
                                                       ", no majority heard",
                                                       ", transfer",
                                                       ", removed",
                                                       ", leader known",
                                                       ", resigned",
                                                       ", vote lost"};
  const auto number = static_cast<std::size_t>(cause);
  return number < kTexts.size() ? kTexts[number] : "";
}

std::string text_of(const RoleState& state) {
  const std::string term = " in term " + std::to_string(state.term.value);
  switch (state.role) {
    case Role::Leader:
      return "leader" + term;
    case Role::Candidate:
      return "candidate" + term;
    case Role::PreCandidate:
      return "pre-candidate" + term;
    case Role::Follower:
      break;
  }
  return (state.leader == NodeId{} ? std::string("follower of nobody")
                                   : "follower of node " + std::to_string(state.leader.value)) +
         term;
}

bool campaigns(const RoleState& state) {
  return state.role == Role::PreCandidate || state.role == Role::Candidate;
}

bool leads(const RoleState& state) {
  return state.role == Role::Leader;
}

}  // namespace

void RoleChanges::add(const RoleChange& change) {
  const auto& [shard, before, now, cause] = change;
  const bool other_term = before.term != now.term;
  const bool ended = leads(before) && (!leads(now) || other_term);
  const bool won = leads(now) && (!leads(before) || other_term);
  ++counts_.changed;
  // A node alone wins in the step in which it begins.
  counts_.begun += !campaigns(before) && (campaigns(now) || won) ? 1 : 0;
  counts_.won += won ? 1 : 0;
  counts_.lost += campaigns(before) && now.role == Role::Follower ? 1 : 0;
  counts_.ended += ended ? 1 : 0;
  const bool other = now.leader != NodeId{} && now.leader != self_;
  counts_.followed += other && (before.leader != now.leader || other_term) ? 1 : 0;
  counts_.unled += now.leader == NodeId{} && before.leader != NodeId{} ? 1 : 0;
  if (counts_.changed <= kExamplesMax) {
    examples_ += (examples_.empty() ? "shard " : "; shard ") + std::to_string(shard.value) + " " +
                 text_of(before) + " -> " + text_of(now) + std::string(cause_text(cause));
  }
}

void RoleChanges::write() {
  const Counts counts = std::exchange(counts_, Counts{});
  const std::string examples = std::exchange(examples_, {});
  log_debug(LogComponent::Consensus,
            "roles of {} shards change: {} elections begun, {} won, {} lost, {} leaderships ended, "
            "{} shards follow another node, {} lose their leader; {}{}",
            counts.changed,
            counts.begun,
            counts.won,
            counts.lost,
            counts.ended,
            counts.followed,
            counts.unled,
            counts.changed > kExamplesMax ? "the first: " : "",
            examples);
}

}  // namespace gcoord::server
