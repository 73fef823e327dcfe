#include "chaos/groups/group_judge.h"

#include <algorithm>

namespace gcoord::chaos {

std::string GroupJudge::take_view(const std::string& group,
                                  const SeenGroupView& before,
                                  const SeenGroupView& view) {
  const std::string name = "M8: epoch " + std::to_string(view.epoch) + " of group " + group;
  const auto [known, first] = views_.try_emplace({group, view.epoch}, view.members);
  if (!first && known->second != view.members) {
    return name + " has other members for one client than for another";
  }
  if (before.epoch == 0 || view == before) {
    return {};
  }
  if (view.epoch != before.epoch + 1) {
    return name + " comes after epoch " + std::to_string(before.epoch) + " without a gap";
  }
  return view.members == before.members ? name + " is the view before once more" : std::string{};
}

std::string GroupJudge::take_release(const std::string& name,
                                     std::uint64_t session,
                                     std::pair<std::uint64_t, std::uint32_t> generation_and_size) {
  const auto [generation, size] = generation_and_size;
  std::set<std::uint64_t>& waiting = waiting_[name];
  const bool first = released_.insert({name, generation}).second;
  const std::size_t arrived = waiting.size();
  waiting.erase(session);
  if (!first || arrived >= size) {
    return {};
  }
  return "80: the barrier " + name + " for " + std::to_string(size) + " was released when " +
         std::to_string(arrived) + " had sent their arrivals";
}

std::string GroupJudge::take_round(const std::string& name, const SeenRound& round) {
  const std::string text = "M9: round " + std::to_string(round.round) + " of rendezvous " + name;
  const auto [known, first] = rounds_.try_emplace({name, round.round}, round.members);
  if (known->second != round.members) {
    return text + " has other members for one of them than for another";
  }
  std::set<std::uint64_t> sessions;
  for (const protocol::RendezvousMemberRow& member : round.members) {
    sessions.insert(member.session.value);
  }
  const std::size_t count = round.members.size();
  if (sessions.size() != count || count < round.members_min || count > round.members_max) {
    return text + " has " + std::to_string(count) + " members, or one of them twice";
  }
  if (round.rank >= count || round.members[round.rank].session.value != round.session) {
    return text + " has another session at the rank that was answered";
  }
  std::map<std::uint64_t, std::uint64_t>& in = in_[name];
  for (const auto& [session, earlier] : in) {
    if (first && earlier < round.round) {
      return text + " was complete while session " + std::to_string(session) + " was in round " +
             std::to_string(earlier);
    }
  }
  std::uint64_t& own = in[round.session];
  own = std::max(own, round.round);
  return {};
}

}  // namespace gcoord::chaos
