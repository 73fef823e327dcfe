// Mistakes about configurations, planted around the step of a row and around the plan that moves
// its members (mutant.h: of_members). One thread.
#pragma once

#include "chaos/mutants/mutant.h"
#include "consensus/step/inbox.h"
#include "consensus/step/members_plan.h"
#include "consensus/step/outbox.h"
#include "consensus/step/shard_table.h"

#include <cstdint>
#include <map>
#include <set>

namespace gcoord::chaos {

class MembersMistakes {
 public:
  explicit MembersMistakes(Mutant mutant) : mutant_(mutant) {}

  // What the step is given of a row, and what it left.
  void before(const consensus::ShardRef& row, consensus::Inbox& in);
  void after(const consensus::ShardRef& row, const consensus::Inbox& in, consensus::Outbox& out);

 private:
  void count_removed(const consensus::ShardRef& row, consensus::Inbox& in) const;
  void ask_removed(const consensus::ShardRef& row, consensus::Outbox& out);

  Mutant mutant_;
  std::map<std::uint32_t, std::set<std::uint32_t>> voters_;  // By shard: all that ever voted here.
};

struct MembersQuestion {
  const consensus::StepInput& input;
  const consensus::MembersTarget& target;
};

// plan_members, by a node that makes the mistake: two of them do not wait for what is under way.
consensus::MembersPlan mistaken_plan(Mutant mutant,
                                     const consensus::ShardRef& row,
                                     const MembersQuestion& asked);

}  // namespace gcoord::chaos
