// The cluster view, asked for and changed (protocol/members/view_messages.h,
// change_messages.h). Thread-safe; callbacks run on the client's thread.
#pragma once

#include "client/core/calls.h"
#include "gcoord/members.h"

#include <cstdint>
#include <vector>

namespace gcoord::client {

void view(Core& core, const ViewOptions& options, Callback<Result<MembershipView>> callback);

void update_member(Core& core,
                   const MemberUpdate& update,
                   Callback<Result<MembershipView>> callback);

void add_member(Core& core,
                const MemberAddition& addition,
                Callback<Result<ChangedMember>> callback);

void change_member(Core& core,
                   const MemberChange& change,
                   Callback<Result<ChangedMember>> callback);

// Of one node.
struct AlarmCall {
  std::uint32_t node_id = 0;
  AlarmChange change;
};

void alarms(Core& core,
            const AlarmCall& call,
            Callback<Result<std::vector<ClusterAlarm>>> callback);

void member_progress(Core& core, Callback<Result<MemberProgress>> callback);

}  // namespace gcoord::client
