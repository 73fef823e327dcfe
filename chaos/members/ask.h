// Requests of the operator of a simulated world: each is sent again until it is answered, to the
// node that is said to lead.
//
// One thread.
#pragma once

#include "chaos/random/sim_random.h"
#include "common/ids.h"
#include "protocol/request.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

namespace gcoord::chaos {

class Asks {
 public:
  struct Environment {
    std::function<void(NodeId to, const protocol::RequestSlot&, std::span<const std::byte> payload)>
        send;
    std::function<NodeId()> any_node;  // Whom to ask where nobody is known to lead.
    std::uint64_t patience_us = 0;     // For an answer.
  };

  // Called once, unless drop_all() comes before.
  using OnAnswer =
      std::function<void(const protocol::ReplySlot&, std::span<const std::byte> payload)>;

  Asks(Environment environment, std::uint64_t seed)
      : environment_(std::move(environment)), random_(seed, 12) {}

  struct Question {
    protocol::RequestKind kind{};
    std::vector<std::byte> payload;
    // Nobody else is asked, and that some times only: it may not be there any more. 0: whoever
    // leads is asked, until there is an answer.
    NodeId only;
  };

  void begin(Question question, OnAnswer on_answer);

  void take_reply(const protocol::ReplySlot& slot, std::span<const std::byte> payload);

  // Sends what is due.
  void pass(std::uint64_t now_us);

  std::size_t count() const { return under_way_.size(); }

 private:
  struct Ask {
    Question question;
    NodeId hint;
    OnAnswer on_answer;
    std::uint64_t request_id = 0;  // Of the newest try.
    std::uint64_t due_us = 0;
    std::uint32_t tries = 0;
  };

  Environment environment_;
  SimRandom random_;
  std::map<std::uint64_t, Ask> under_way_;  // In order of their beginning.
  std::uint64_t begun_ = 0;
  std::uint64_t requests_ = 0;
  std::uint64_t now_us_ = 0;
};

}  // namespace gcoord::chaos
