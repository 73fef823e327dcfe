// Nodes and views as gcoordctl member prints them. Pure; any thread.
#pragma once

#include "common/json/value.h"
#include "gcoord/members.h"

#include <string>

namespace gcoord::cli {

// "voter" and the like, as in the JSON.
std::string role_text(client::MemberRole role);
std::string state_text(client::MemberState state);

// "zone=a,rack=7".
std::string labels_text(const client::MemberDescription& member);

// {"node": 1, "name": ..., "labels": {"zone": "a"}}.
Json member_json(const client::MemberDescription& member);

// {"view": "4", "shards": 64, "led": 64, "settled": 12, "ready": 12}.
Json progress_json(const client::MemberProgress& progress);

// Whether nodes are on their way in or out.
bool is_moving(const client::MembershipView& view);

// {"view": "3", "members": [...]}.
Json view_json(const client::MembershipView& view);

// "view 3: 1 node-1 voter active peer=a:7500 client=a:7400 zone=a, 2 node-2 voter active weight=3".
std::string view_line(const client::MembershipView& view);

}  // namespace gcoord::cli
