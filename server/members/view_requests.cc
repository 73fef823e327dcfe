#include "server/members/view_requests.h"

#include "common/assert.h"
#include "common/text/printable.h"
#include "protocol/error_codes.h"
#include "server/interfaces/replies.h"
#include "server/members/change_rules.h"

#include <algorithm>
#include <string>
#include <utility>

namespace gcoord::server {

namespace {

using membership::ViewCode;
using membership::ViewCommand;
using membership::ViewCommandKind;
using protocol::ErrorCode;
using protocol::RequestKind;

constexpr std::uint64_t kNever = ~std::uint64_t{0};

Status error_of(ViewCode code, const protocol::MemberChange& change, std::uint64_t epoch) {
  const std::string node = "node " + std::to_string(change.node.value);
  switch (code) {
    case ViewCode::Applied:
      return {};
    case ViewCode::Malformed:
      return protocol::make_error(ErrorCode::PayloadMalformed, "member_update");
    case ViewCode::Stale:
      return protocol::make_error(ErrorCode::ViewStale,
                                  "the view is " + std::to_string(epoch) + ", the change is for " +
                                      std::to_string(change.expected));
    case ViewCode::NodeUnknown:
      return protocol::make_error(ErrorCode::MemberUnknown, node);
    case ViewCode::NodeRemoved:
      return protocol::make_error(ErrorCode::MemberRemoved, node);
    case ViewCode::NameInvalid:
      return protocol::make_error(ErrorCode::MemberNameInvalid, shown(change.name.value_or("")));
    case ViewCode::NameTaken:
      return protocol::make_error(ErrorCode::MemberNameTaken, change.name.value_or(""));
    case ViewCode::LabelInvalid:
      return protocol::make_error(ErrorCode::MemberLabelInvalid, node);
    default:  // Of other kinds of commands.
      break;
  }
  return protocol::make_error(ErrorCode::PayloadMalformed, "member_update");
}

ViewCommand command_of(const protocol::MemberChange& change) {
  return {.kind = ViewCommandKind::Update,
          .expected = change.expected,
          .settings = {},
          .nodes = {},
          .change = change,
          .step = {}};
}

}  // namespace

void ViewRequests::refuse(const Asker& asker, const Status& status) {
  refuse_asker(environment_.replies, asker, status);
}

void ViewRequests::on_request(protocol::ConnectionId connection,
                              const protocol::RequestSlot& request,
                              std::span<const std::byte> payload) {
  const Asker asker{connection, request};
  const bool changes = request.kind == RequestKind::MemberUpdate;
  if (!admit_asker(environment_.replies, asker)) {
    return;
  }
  if (changes) {
    return update(asker, payload);
  }
  GCOORD_ASSERT(request.kind == RequestKind::ViewGet);
  get(asker, payload);
}

void ViewRequests::get(const Asker& asker, std::span<const std::byte> payload) {
  const auto query = protocol::decode_view_query(payload);
  if (!query.ok()) {
    return refuse(asker, query.status());
  }
  if (answer_now(asker, query.value())) {
    return;
  }
  if (waits_.size() >= kWaitsMax) {
    return refuse(asker, protocol::make_error(ErrorCode::Overloaded));
  }
  environment_.replies.park(asker.connection);
  waits_.push_back({asker, query.value(), now_ms_ + query.value().wait_ms});
}

bool ViewRequests::answer_now(const Asker& asker, const protocol::ViewQuery& query) {
  const membership::ViewCpu& state = environment_.machine.views();
  const std::uint64_t newest = state.view().epoch;
  const bool next = query.mode == protocol::ViewQuery::Mode::Next;
  if (next && query.after < newest) {
    const auto view = state.at(query.after + 1);
    if (view) {
      answer(asker, *view, query.members);
    } else {
      refuse(asker,
             protocol::make_error(ErrorCode::ViewForgotten,
                                  "the oldest view kept is " + std::to_string(state.oldest())));
    }
    return true;
  }
  if (query.wait_ms > 0 && (next || newest == 0)) {
    return false;
  }
  if (newest == 0) {
    refuse(asker, protocol::make_error(ErrorCode::ViewAbsent));
  } else {
    answer(asker, state.view(), query.members);
  }
  return true;
}

void ViewRequests::answer(const Asker& asker, const membership::ClusterView& view, bool members) {
  protocol::ReplySlot reply = protocol::reply_to(asker.request);
  reply.extra = view.epoch;
  protocol::ViewAnswer said{.view = members ? view : protocol::plain_view(view),
                            .newest = environment_.machine.views().view().epoch,
                            .sights = {}};
  if (followers_ != nullptr) {
    said.settled = followers_->settled();
    said.earlier_voters = followers_->earlier_voters();
  }
  if (verdicts_) {
    said.verdicts = verdicts_();
  }
  said.sights = sights(said.verdicts);
  environment_.replies.reply(asker.connection, reply, protocol::encode_view_answer(said));
}

std::vector<protocol::MemberSight> ViewRequests::sights(
    const std::vector<protocol::MemberVerdict>& verdicts) const {
  const NodeView node = environment_.log.view();
  std::vector<protocol::MemberSight> sights;
  sights.push_back({.node = environment_.self,
                    .alive = true,
                    .phi_milli = 0,
                    .heard_ms = 0,
                    .epoch = environment_.machine.views().view().epoch});
  for (const NodePeerView& peer : node.peers) {
    protocol::MemberSight sight{.node = peer.link.id,
                                .alive = peer.live,
                                .phi_milli = peer.phi_milli,
                                .heard_ms = std::nullopt,
                                .epoch = environment_.epoch_of(peer.link.id)};
    const auto held = std::ranges::find(verdicts, peer.link.id, &protocol::MemberVerdict::node);
    if (!sight.phi_milli.has_value() && held != verdicts.end()) {
      sight.phi_milli = held->phi_milli;
    }
    if (peer.heard.value != 0 && node.tick >= peer.heard) {
      const std::uint64_t ms = (node.tick.value - peer.heard.value) * environment_.tick_ms;
      sight.heard_ms = static_cast<std::uint32_t>(std::min<std::uint64_t>(ms, 0xffff'ffff));
    }
    sights.push_back(sight);
  }
  return sights;
}

void ViewRequests::update(const Asker& asker, std::span<const std::byte> payload) {
  auto order = protocol::decode_member_order(payload);
  if (!order.ok()) {
    return refuse(asker, order.status());
  }
  if (!is_printable(order.value().change.who)) {
    return refuse(asker, protocol::make_error(ErrorCode::SlotInvalid));
  }
  note_author(environment_.replies.principal(asker.connection), order.value().change.who);
  const ShardView shard = environment_.log.view(kViewShard);
  if (shard.role != consensus::Role::Leader) {
    return environment_.replies.reply(
        asker.connection, not_leader_reply(asker.request, shard.leader), {});
  }
  Change change{asker, std::move(order.value().change)};
  const membership::ViewCpu& state = environment_.machine.views();
  if (state.is_empty()) {
    return refuse(asker, protocol::make_error(ErrorCode::ViewAbsent));
  }
  if (const Status status = check_name(change.change.name.value_or("")); !status.ok()) {
    return refuse(asker, status);
  }
  membership::ClusterView preview;
  const ViewCode code = state.preview(command_of(change.change), preview);
  if (code != ViewCode::Applied) {
    return answer_change(change, code);
  }
  if (order.value().dry_run) {
    return answer(asker, preview);
  }
  if (followers_ != nullptr && followers_->is_full()) {
    return refuse(asker, protocol::make_error(ErrorCode::ViewsNotLeft));
  }
  propose(std::move(change));
}

void ViewRequests::propose(Change change) {
  if (changes_.size() >= kChangesMax) {
    return refuse(change.asker, protocol::make_error(ErrorCode::Overloaded));
  }
  const std::uint64_t cookie = cookies_.next();
  const std::vector<std::byte> record =
      view_record(membership::encode_view_command(command_of(change.change)),
                  environment_.replies.origin(change.asker.connection),
                  environment_.wall_ms());
  changes_.emplace(cookie, std::move(change));
  environment_.log.propose(kViewShard, record, cookie);
}

// The same change by the same asker, taken before: its first answer was lost.
void ViewRequests::answer_change(const Change& change, ViewCode code) {
  const membership::ViewCpu& state = environment_.machine.views();
  const bool made = code == ViewCode::Stale && state.has_made(change.change);
  if (code != ViewCode::Applied && !made) {
    return refuse(change.asker, error_of(code, change.change, state.view().epoch));
  }
  const auto view = state.at(change.change.expected + 1);
  answer(change.asker, view ? *view : state.view());
}

void ViewRequests::on_decided(std::uint64_t cookie, ViewCode code) {
  if (auto change = changes_.extract(cookie); !change.empty()) {
    answer_change(change.mapped(), code);
  }
}

void ViewRequests::on_lost(std::uint64_t cookie, const Status& status, NodeId leader_hint) {
  if (auto change = changes_.extract(cookie); !change.empty()) {
    environment_.replies.reply(change.mapped().asker.connection,
                               engine_refusal(change.mapped().asker.request, status, leader_hint),
                               {});
  }
}

void ViewRequests::advance(std::uint64_t now_ms) {
  now_ms_ = now_ms;
  std::erase_if(waits_, [&](Wait& wait) {
    const std::uint64_t newest = environment_.machine.views().view().epoch;
    const bool next = wait.query.mode == protocol::ViewQuery::Mode::Next;
    const bool come = newest > (next ? wait.query.after : 0);
    if (!come && now_ms < wait.deadline_ms) {
      return false;
    }
    environment_.replies.unpark(wait.asker.connection);
    wait.query.wait_ms = 0;
    return answer_now(wait.asker, wait.query);
  });
}

std::uint64_t ViewRequests::until_next_deadline_ms() const {
  std::uint64_t wait = kNever;
  for (const Wait& each : waits_) {
    wait = std::min(wait, each.deadline_ms - std::min(each.deadline_ms, now_ms_));
  }
  return wait;
}

}  // namespace gcoord::server
