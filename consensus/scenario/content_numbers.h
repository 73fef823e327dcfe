// Numbers for contents: equal numbers exactly for equal bytes, without collisions.
//
// An observer of a run gives them to RaftHistory in place of digests. Numbers begin at 1; 0 stands
// for no content. Keeps a copy of all bytes that it has seen. Host only; one thread.
#pragma once

#include "consensus/scenario/raft_history.h"

#include <string>
#include <unordered_map>

namespace gcoord::consensus::scenario {

inline constexpr ContentId kNoContent = 0;

class ContentNumbers {
 public:
  ContentId of(const std::string& bytes) {
    return numbers_.try_emplace(bytes, numbers_.size() + 1).first->second;
  }

 private:
  std::unordered_map<std::string, ContentId> numbers_;
};

}  // namespace gcoord::consensus::scenario
