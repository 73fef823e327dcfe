// Judge of groups, barriers and rendezvous: what clients are told must be one history.
//
// Views: under an epoch everybody sees the same members; without a gap each view is the next epoch,
// and differs from the one before. Barriers: nobody is released before so many sessions have sent
// their arrival. Rendezvous: a round has the same members for all, between the minimum and the
// maximum of them, each session once and at its own rank; and none is complete while a session that
// certainly lives is in an earlier one. One thread.
#pragma once

#include "protocol/rendezvous/messages.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::chaos {

// A view of a group as one client sees it: members by rank, each with id, session and payload.
struct SeenGroupView {
  std::uint64_t epoch = 0;
  std::vector<std::string> members{};

  friend bool operator==(const SeenGroupView& a, const SeenGroupView& b) = default;
};

// A round as one member was answered.
struct SeenRound {
  std::uint64_t session = 0;
  std::uint64_t round = 0;
  std::uint64_t rank = 0;
  std::uint32_t members_min = 0;
  std::uint32_t members_max = 0;
  std::vector<protocol::RendezvousMemberRow> members{};
};

// Each function that a promise is judged by returns what is broken, or nothing.
class GroupJudge {
 public:
  // `before` is what this client saw last; its epoch is 0 when there may be views between.
  std::string take_view(const std::string& group,
                        const SeenGroupView& before,
                        const SeenGroupView& view);

  // The session sends an arrival; and is known not to wait any more.
  void arrives(const std::string& name, std::uint64_t session) { waiting_[name].insert(session); }

  void withdrawn(const std::string& name, std::uint64_t session) { waiting_[name].erase(session); }

  // An arrival was answered: the barrier of so many was released.
  std::string take_release(const std::string& name,
                           std::uint64_t session,
                           std::pair<std::uint64_t, std::uint32_t> generation_and_size);

  // The session is no more in the round that it was in, or is not known to live.
  void out(const std::string& name, std::uint64_t session) { in_[name].erase(session); }

  std::string take_round(const std::string& name, const SeenRound& round);

 private:
  std::map<std::pair<std::string, std::uint64_t>, std::vector<std::string>> views_;
  std::map<std::string, std::set<std::uint64_t>> waiting_;    // Sessions by barrier.
  std::set<std::pair<std::string, std::uint64_t>> released_;  // Generations.
  std::map<std::pair<std::string, std::uint64_t>, std::vector<protocol::RendezvousMemberRow>>
      rounds_;
  std::map<std::string, std::map<std::uint64_t, std::uint64_t>> in_;  // Rounds by session.
};

}  // namespace gcoord::chaos
