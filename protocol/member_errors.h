// Rows of the error table for changes of which nodes a cluster has (error_codes.h); plain data.
#pragma once

#include "protocol/error_codes.h"

namespace gcoord::protocol {

// One entry is one row of a table, whatever its length.
// clang-format off
inline constexpr ErrorEntry kMemberErrors[] = {
    {ErrorCode::MemberStateWrong, "MemberStateWrong", StatusCode::FailedPrecondition, ExitCode::Negative,
     "the state of the node does not allow the change",
     "Look at the state in gcoordctl member list: joining nodes are promoted, active ones drained, draining ones undrained"},
    {ErrorCode::MemberRoleWrong, "MemberRoleWrong", StatusCode::InvalidArgument, ExitCode::Usage,
     "the role of the node does not allow the change",
     "Voters have weights and observers have none; witnesses cannot be added yet"},
    {ErrorCode::MemberWeightInvalid, "MemberWeightInvalid", StatusCode::InvalidArgument, ExitCode::Usage,
     "a voter has 1 to 255 votes",
     "Give a weight of 1 to 255"},
    {ErrorCode::MemberAddressTaken, "MemberAddressTaken", StatusCode::AlreadyExists, ExitCode::Conflict,
     "another node of the cluster has this address",
     "Give the new node an address of its own, or remove the other node first"},
    {ErrorCode::MemberAddressInvalid, "MemberAddressInvalid", StatusCode::InvalidArgument, ExitCode::Usage,
     "the new node has said no address that other nodes can reach it at",
     "Start it with --listen-peer and --listen-client addresses that the other nodes reach"},
    {ErrorCode::MemberDirectoryTaken, "MemberDirectoryTaken", StatusCode::AlreadyExists, ExitCode::Conflict,
     "another node of the cluster has this data directory",
     "Start the new node with a data directory of its own, never a copy"},
    {ErrorCode::MemberReplaceInvalid, "MemberReplaceInvalid", StatusCode::FailedPrecondition, ExitCode::Negative,
     "the node to replace leaves already, or another node takes its place",
     "Look at gcoordctl member list, and remove what is not wanted"},
    {ErrorCode::LastVoter, "LastVoter", StatusCode::FailedPrecondition, ExitCode::Negative,
     "it is the last voter of the cluster",
     "Add another voter first"},
    {ErrorCode::MemberLags, "MemberLags", StatusCode::FailedPrecondition, ExitCode::Unavailable,
     "the node does not have the logs of all shards yet",
     "Wait until it has caught up (gcoordctl member list), or give --force"},
    {ErrorCode::QuorumWouldBeLost, "QuorumWouldBeLost", StatusCode::FailedPrecondition, ExitCode::Negative,
     "after the change fewer voters would be alive than a majority needs",
     "Start the nodes that are down, or add others first; --force changes it all the same"},
    {ErrorCode::VotersExhausted, "VotersExhausted", StatusCode::ResourceExhausted, ExitCode::Negative,
     "a cluster has at most 7 voters",
     "Remove a voter, or add the node with --observer"},
    {ErrorCode::MembersExhausted, "MembersExhausted", StatusCode::ResourceExhausted, ExitCode::Negative,
     "a cluster has at most 8 nodes beside those that leave or are replaced",
     "Remove a node first"},
    {ErrorCode::MemberFeatureMissing, "MemberFeatureMissing", StatusCode::FailedPrecondition, ExitCode::Unavailable,
     "not all nodes are known to have a release whose members can change",
     "Upgrade the node that is named, and start it if it is down"},
    {ErrorCode::JoinTokenInvalid, "JoinTokenInvalid", StatusCode::InvalidArgument, ExitCode::Usage,
     "this is no token",
     "Give the 32 hexadecimal digits that gcoordctl member add printed"},
    {ErrorCode::JoinTokenUnknown, "JoinTokenUnknown", StatusCode::NotFound, ExitCode::Negative,
     "the cluster has no invitation with this token",
     "Take the token that gcoordctl member add printed for this cluster; if that node was removed, add another"},
    {ErrorCode::JoinTokenSpent, "JoinTokenSpent", StatusCode::AlreadyExists, ExitCode::Conflict,
     "another data directory has joined with this token",
     "Add another node; it gets a token of its own"},
    {ErrorCode::JoinTokenLate, "JoinTokenLate", StatusCode::DeadlineExceeded, ExitCode::Negative,
     "the token has run out",
     "Remove the node that was never there, and add another"},
    {ErrorCode::JoinFeaturesMissing, "JoinFeaturesMissing", StatusCode::FailedPrecondition, ExitCode::Usage,
     "the new node is of a release that lacks what the cluster uses",
     "Start the release on it that the other nodes run"},
};
// clang-format on

}  // namespace gcoord::protocol
