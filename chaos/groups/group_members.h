// All clients of a simulated world that are part of groups, with the judge of what they see.
//
// They are numbered in the world's wire behind its other clients. One thread.
#pragma once

#include "chaos/groups/member.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gcoord::chaos {

class GroupMembers {
 public:
  using Send = std::function<void(std::uint32_t member,
                                  NodeId to,
                                  const protocol::RequestSlot&,
                                  std::span<const std::byte> payload)>;

  // One more, numbered by how many there are; `report` is called with what is broken.
  void add(MemberOptions options,
           const Send& send,
           const std::function<void(const std::string&)>& report) {
    options.number = static_cast<std::uint32_t>(members_.size());
    members_.push_back(std::make_unique<Member>(
        options,
        MemberEnvironment{
            .send = [send, number = options.number](
                        NodeId to,
                        const protocol::RequestSlot& slot,
                        std::span<const std::byte> payload) { send(number, to, slot, payload); },
            .report = report,
            .judge = judge_}));
  }

  // Of a number that `add` gave.
  Member& operator[](std::uint32_t number) { return *members_[number]; }

  void pass(std::uint64_t now_us) {
    for (const auto& member : members_) {
      member->pass(now_us);
    }
  }

  void begin_end() {
    for (const auto& member : members_) {
      member->begin_end();
    }
  }

  bool ended() const {
    return std::ranges::all_of(members_, [](const auto& member) { return member->ended(); });
  }

  // Requests that were answered with a success.
  std::uint64_t done() const {
    std::uint64_t sum = 0;
    for (const auto& member : members_) {
      sum += member->done();
    }
    return sum;
  }

 private:
  GroupJudge judge_;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace gcoord::chaos
