// The outcome of a command of the cluster view. In memory only; plain data.
#pragma once

#include <cstdint>

namespace gcoord::membership {

enum class ViewCode : std::uint8_t {
  Applied,
  Malformed,       // No command that this release knows.
  Stale,           // The view has another epoch.
  NodeUnknown,     // The view does not have the node.
  NodeRemoved,     // The node has left.
  NameInvalid,     // No name, or the default name of another node.
  NameTaken,       // Another node has it.
  LabelInvalid,    // A label is none, or there are too many.
  StateWrong,      // The node's state does not allow it.
  RoleWrong,       // Its role does not.
  WeightInvalid,   // No weight for the role.
  AddressTaken,    // Another node has it.
  AddressInvalid,  // None, or none for other nodes.
  DirectoryTaken,  // Another node joined with it.
  ReplaceInvalid,  // It leaves already, or another one takes its place.
  TokenUnknown,    // Not the token of the invitation.
  TokenSpent,      // Another directory came with it.
  TokenLate,       // After its deadline.
  LastVoter,       // No voter would be left.
  TooManyVoters,   // More than kVotersMax.
  TooManyNodes,    // More than kPresentMax, no room for one more, or no id for it is left.
};

}  // namespace gcoord::membership
