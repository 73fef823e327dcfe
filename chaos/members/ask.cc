#include "chaos/members/ask.h"

#include "protocol/error_codes.h"

#include <algorithm>
#include <utility>

namespace gcoord::chaos {
namespace {

constexpr std::uint32_t kTriesMax = 4;

}  // namespace

void Asks::begin(Question question, OnAnswer on_answer) {
  under_way_[++begun_] = {.question = std::move(question),
                          .hint = {},
                          .on_answer = std::move(on_answer),
                          .request_id = 0,
                          .due_us = now_us_,
                          .tries = 0};
}

void Asks::pass(std::uint64_t now_us) {
  now_us_ = now_us;
  std::erase_if(under_way_, [now_us](const auto& each) {
    const Ask& ask = each.second;
    return ask.question.only != NodeId{} && ask.tries >= kTriesMax && now_us >= ask.due_us;
  });
  for (auto& [number, ask] : under_way_) {
    if (now_us < ask.due_us) {
      continue;
    }
    NodeId to =
        ask.question.only != NodeId{} ? ask.question.only : std::exchange(ask.hint, NodeId{});
    to = to == NodeId{} ? environment_.any_node() : to;
    protocol::RequestSlot slot;
    slot.kind = ask.question.kind;
    slot.request_id = ask.request_id = ++requests_;
    ask.due_us = now_us + environment_.patience_us;
    ++ask.tries;
    environment_.send(to, slot, ask.question.payload);
  }
}

void Asks::take_reply(const protocol::ReplySlot& slot, std::span<const std::byte> payload) {
  const auto found = std::ranges::find_if(
      under_way_, [&slot](const auto& each) { return each.second.request_id == slot.request_id; });
  if (found == under_way_.end()) {
    return;
  }
  Ask& ask = found->second;
  const auto code = static_cast<protocol::ErrorCode>(slot.detail);
  const bool elsewhere = slot.code != StatusCode::Ok && code == protocol::ErrorCode::NotLeader;
  if (elsewhere || (slot.code != StatusCode::Ok && protocol::is_passing(code))) {
    ask.hint = elsewhere ? NodeId{slot.leader} : NodeId{};
    ask.due_us = now_us_ + random_.below(static_cast<std::uint32_t>(environment_.patience_us / 4));
    return;
  }
  const OnAnswer on_answer = std::move(ask.on_answer);
  under_way_.erase(found);
  on_answer(slot, payload);
}

}  // namespace gcoord::chaos
