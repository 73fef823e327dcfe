#include "chaos/members/member_operator.h"

#include "chaos/members/survivors.h"
#include "protocol/error_codes.h"
#include "protocol/hello.h"
#include "server/interfaces/cluster_members.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gcoord::chaos {

using protocol::MemberAction;
using protocol::MemberActionOrder;

namespace {

// Orders under way at once.
constexpr std::size_t kOrdersMax = 3;

// At the end, in pauses: nodes go by themselves first wherever they can.
constexpr std::uint64_t kVouchPauses = 30;

}  // namespace

MemberOperator::MemberOperator(Environment environment, std::uint64_t seed, std::uint64_t pause_us)
    : environment_(std::move(environment)),
      random_(seed, 13),
      asks_(environment_.asks, seed),
      pause_us_(pause_us),
      size_(random_.between(4, 7)) {}

// An order that is under way may make it a machine without which nothing goes on.
bool MemberOperator::may_lose(NodeId node) const {
  constexpr std::size_t kVotersMin = 3;
  const protocol::ClusterView& view = environment_.view();
  const protocol::Member* const member = protocol::find_member(view, node);
  const bool votes = member != nullptr && member->state == protocol::MemberState::Active &&
                     member->role == protocol::MemberRole::Voter;
  const bool one_is_lost = std::ranges::any_of(view.nodes, [this](const protocol::Member& each) {
    return each.state != protocol::MemberState::Removed && has_lost(each.id);
  });
  const bool may =
      votes && !one_is_lost && asks_.count() == 0 && server::voters_of(view).size() >= kVotersMin;
  std::set<NodeId> without = lost_;
  without.insert(node);
  return may && std::ranges::all_of(coming_views(view), [&](const protocol::ClusterView& each) {
           return has_majority(each, without);
         });
}

OperatorFacts MemberOperator::facts() const {
  const bool waited = ending_ && now_us_ >= ending_since_us_ + kVouchPauses * pause_us_;
  return {environment_.view(),
          running_,
          lost_,
          waiting_,
          size_,
          waited && environment_.is_unprovable(lost_)};
}

void MemberOperator::pass(std::uint64_t now_us) {
  now_us_ = now_us;
  if (const std::uint64_t epoch = environment_.view().epoch; epoch != waiting_epoch_) {
    waiting_epoch_ = epoch;
    waiting_.clear();
  }
  next_us_ = next_us_ == 0 ? now_us + pause_us_ : next_us_;
  if (environment_.view().epoch != 0 && now_us >= next_us_ && asks_.count() < kOrdersMax) {
    const std::uint64_t pause_us = ending_ ? pause_us_ / 4 : pause_us_ * 2;
    next_us_ = now_us + random_.below(static_cast<std::uint32_t>(pause_us));
    auto next = ending_ ? last_order(facts()) : next_order(facts(), random_);
    if (next && may_order(*next)) {
      order(*std::move(next));
    }
  }
  for (auto each = invited_.begin(); each != invited_.end();) {
    if (now_us >= each->second.due_us && !ending_) {
      join(each->first, each->second.token);
      each = invited_.erase(each);
    } else {
      ++each;
    }
  }
  asks_.pass(now_us);
}

// What is left after an order is counted by the view, so those that may make it too few come one
// after the other.
bool MemberOperator::may_order(const MemberActionOrder& order) const {
  const bool one_is_lost = std::ranges::any_of(
      lost_, [this](NodeId node) { return !server::has_left(environment_.view(), node); });
  const bool waits = one_is_lost && !order.force && voting_ != 0 && changes_votes(order.action);
  return !waits && !(removing_ && order.action == MemberAction::Remove);
}

void MemberOperator::order(MemberActionOrder order) {
  order.number = random_.word() | 1u;
  order.who = "operator";
  const std::string text = fmt::format(
      "{} {}{}",
      protocol::member_action_name(order.action),
      order.node.value,
      order.replaces == NodeId{} ? std::string{} : fmt::format(" for {}", order.replaces.value));
  environment_.tell(text);
  removing_ = removing_ || order.action == MemberAction::Remove;
  voting_ += changes_votes(order.action) ? 1 : 0;
  const NodeId only = order.action == MemberAction::MoveLeaders ? order.node : NodeId{};
  asks_.begin({protocol::RequestKind::MemberChange, protocol::encode_member_action(order), only},
              [this, order, text](const protocol::ReplySlot& slot, auto payload) {
                const auto answer = protocol::decode_member_action_answer(payload);
                removing_ = removing_ && order.action != MemberAction::Remove;
                voting_ -= changes_votes(order.action) ? 1 : 0;
                const bool done = slot.code == StatusCode::Ok && answer.ok();
                environment_.tell(done ? fmt::format("{}: view {}", text, answer.value().view.epoch)
                                       : fmt::format("{}: refused with {}", text, slot.detail));
                if (done) {
                  environment_.count();
                }
                if (done && order.action == MemberAction::Add) {
                  on_added(answer.value());
                }
                on_refused(order, static_cast<protocol::ErrorCode>(slot.detail));
              });
}

void MemberOperator::on_refused(const MemberActionOrder& order, protocol::ErrorCode why) {
  if (order.action == MemberAction::Promote && why == protocol::ErrorCode::QuorumWouldBeLost) {
    waiting_.insert(order.node);
  }
}

// One in eight never comes, and the token of an answer that was lost is nobody's.
void MemberOperator::on_added(const protocol::MemberActionAnswer& answer) {
  const bool comes = random_.below(8) != 0;
  if (answer.token && comes) {
    invited_[answer.node] = {*answer.token,
                             now_us_ + random_.below(static_cast<std::uint32_t>(pause_us_))};
  }
}

void MemberOperator::join(NodeId node, const protocol::JoinToken& token) {
  protocol::JoinRequest request;
  request.token = token;
  request.directory = random_.word() | 1u;
  request.peer_address = fmt::format("simulated:{}", node.value);
  request.client_address = fmt::format("client:{}", node.value);
  request.features = protocol::kFeatures;
  asks_.begin(
      {protocol::RequestKind::MemberJoin, protocol::encode_join_request(request), {}},
      [this, node](const protocol::ReplySlot& slot, auto payload) {
        const auto answer = protocol::decode_join_answer(payload);
        const bool done = slot.code == StatusCode::Ok && answer.ok();
        environment_.tell(done ? fmt::format("node {} joins", node.value)
                               : fmt::format("node {} may not join: {}", node.value, slot.detail));
        if (done) {
          running_.insert(node);
          environment_.start(node, answer.value().view);
        }
      });
}

}  // namespace gcoord::chaos
