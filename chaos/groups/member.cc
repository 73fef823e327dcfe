#include "chaos/groups/member.h"

#include "common/name_hash.h"
#include "protocol/lock_messages.h"
#include "protocol/rendezvous/messages.h"
#include "protocol/session_messages.h"

#include <algorithm>
#include <utility>

namespace gcoord::chaos {
namespace {

using protocol::ErrorCode;
using protocol::RequestKind;

// Everybody is part of the first, a few of the second, which so is empty at times.
const std::string kCrew = "crew/0";
const std::string kPair = "crew/1";
const std::string kGate = "gate/0";
const std::string kTrain = "train/0";

constexpr std::uint32_t kGateSize = 3;
constexpr std::uint32_t kRoundMin = 2;
constexpr std::uint32_t kRoundMax = 3;
constexpr std::uint32_t kLastCallMs = 300;

bool registers(RequestKind kind) {
  return kind == RequestKind::GroupJoin || kind == RequestKind::GroupBarrier ||
         kind == RequestKind::RendezvousJoin;
}

bool waits_there(RequestKind kind) {
  return kind == RequestKind::GroupBarrier || kind == RequestKind::RendezvousJoin;
}

SeenGroupView seen(const protocol::GroupAnswer& view) {
  SeenGroupView seen{.epoch = view.epoch};
  for (const protocol::GroupChangeRow& row : view.rows) {
    seen.members.push_back(row.id + "/" + std::to_string(row.session.value) + "/" + row.payload);
  }
  return seen;
}

void apply(const protocol::GroupChangeRow& row, protocol::GroupAnswer& view) {
  view.epoch = row.epoch;
  const auto same = [&](const protocol::GroupChangeRow& each) {
    return each.session == row.session;
  };
  if (row.kind == protocol::GroupChangeKind::Joined) {
    view.rows.push_back(row);
  } else if (row.kind == protocol::GroupChangeKind::Left) {
    std::erase_if(view.rows, same);
  } else if (const auto at = std::ranges::find_if(view.rows, same); at != view.rows.end()) {
    at->payload = row.payload;
  }
}

}  // namespace

Member::Member(const MemberOptions& options, MemberEnvironment environment)
    : options_(options),
      env_(std::move(environment)),
      random_(options.seed, 2000 + options.number) {
  leaders_.resize(options.shard_count);
}

void Member::report(const std::string& broken) const {
  if (!broken.empty()) {
    env_.report(broken);
  }
}

void Member::take_reply(NodeId from,
                        const protocol::ReplySlot& slot,
                        std::span<const std::byte> payload) {
  replies_.push_back({from, slot, {payload.begin(), payload.end()}});
}

void Member::pass(std::uint64_t now_us) {
  now_us_ = now_us;
  std::vector<Reply> replies = std::exchange(replies_, {});
  if (now_us < dead_until_us_) {
    return;  // Whatever came is lost with it.
  }
  if (session_.id != 0 && !certain()) {
    end_session();
  }
  for (const Reply& reply : replies) {
    if (!on_keep_alive(reply)) {
      on_reply(reply);
    }
  }
  keep_alive();
  if (request_ && now_us >= request_->deadline_us) {
    complete(nullptr);
  } else if (request_ && now_us >= request_->retry_us) {
    send();
  }
  if (!request_ && now_us >= next_us_) {
    begin();
  }
}

void Member::keep_alive() {
  if (session_.id == 0 || now_us_ < session_.keep_alive_us) {
    return;
  }
  session_.keep_alive_us = now_us_ + std::uint64_t{options_.ttl_ms} * 200;
  const SessionId session{session_.id};
  const std::vector<std::byte> payload = protocol::encode_keep_alive({&session, 1});
  protocol::RequestSlot slot;
  slot.kind = RequestKind::KeepAlive;
  session_.sent.clear();
  for (std::uint32_t node = 1; node <= options_.node_count; ++node) {
    slot.request_id = ++request_last_;
    session_.sent[slot.request_id] = {NodeId{node}, now_us_};
    env_.send(NodeId{node}, slot, payload);
  }
}

bool Member::on_keep_alive(const Reply& reply) {
  const auto sent = session_.sent.find(reply.slot.request_id);
  if (sent == session_.sent.end()) {
    return false;
  }
  const auto entries = protocol::decode_keep_alive_reply(reply.payload);
  if (reply.slot.code != StatusCode::Ok || !entries.ok()) {
    return true;
  }
  session_.acknowledged_us[sent->second.first] = sent->second.second;
  const bool over = std::ranges::any_of(entries.value(), [&](const protocol::KeepAliveEntry& each) {
    return each.session.value == session_.id && each.state == protocol::KeepAliveState::Expired;
  });
  if (over) {
    end_session();
  }
  return true;
}

// Whether a majority has renewed it so lately that it lives by the clock of every node.
bool Member::certain() const {
  std::uint32_t count = 0;
  for (const auto& [node, sent_us] : session_.acknowledged_us) {
    count += now_us_ < sent_us + std::uint64_t{options_.ttl_ms} * 700 ? 1 : 0;
  }
  return count > options_.node_count / 2;
}

void Member::end_session() {
  env_.judge.out(kTrain, session_.id);
  if (request_ && request_->slot.session == session_.id) {
    request_.reset();
  }
  session_ = {};
}

void Member::close_session() {
  protocol::RequestSlot slot;
  slot.kind = RequestKind::CloseSession;
  slot.session = session_.id;
  slot.shard = protocol::kAllShards;
  end_session();
  for (std::uint32_t node = 1; node <= options_.node_count; ++node) {
    slot.request_id = ++request_last_;
    env_.send(NodeId{node}, slot, {});
  }
}

void Member::begin() {
  next_us_ = now_us_ + std::uint64_t{random_.between(1, 500)} * 1000;
  if (session_.id == 0) {
    return ends_ ? void() : begin_request(RequestKind::OpenSession, {});
  }
  if (ends_) {
    return close_session();
  }
  const std::string& group = options_.number < 2 && random_.below(2) == 0 ? kPair : kCrew;
  switch (random_.below(32)) {
    case 0:
      // It dies, and its session some time later.
      dead_until_us_ = now_us_ + std::uint64_t{options_.ttl_ms} * random_.between(100, 2000);
      return end_session();
    case 1:
      return close_session();
    case 2:
    case 3:
    case 4:
    case 5:
      return begin_request(RequestKind::GroupUpdate, group);
    case 6:
    case 7:
    case 8:
      return begin_request(RequestKind::GroupLeave, group);
    case 9:
    case 10:
    case 11:
    case 12:
      return begin_request(RequestKind::GroupBarrier, kGate);
    case 13:
    case 14:
    case 15:
      return begin_request(RequestKind::RendezvousJoin, kTrain);
    case 16:
      return begin_request(RequestKind::RendezvousLeave, kTrain);
    case 17:
    case 18:
    case 19:
    case 20:
    case 21:
    case 22:
      return begin_request(RequestKind::GroupJoin, group);
    default:
      return begin_request(RequestKind::GroupGet, random_.below(2) == 0 ? kPair : kCrew);
  }
}

std::vector<std::byte> Member::payload_of(RequestKind kind, const std::string& name) {
  const auto bytes = [](std::string_view text) {
    const auto view = protocol::bytes_of(text);
    return std::vector<std::byte>(view.begin(), view.end());
  };
  // No two changes say the same, so that no two views of a group are equal.
  const std::string words = std::to_string(options_.number) + "." + std::to_string(++request_last_);
  switch (kind) {
    case RequestKind::GroupJoin:
      return protocol::encode_group_join({name, "m" + std::to_string(options_.number), words});
    case RequestKind::GroupUpdate:
      return protocol::encode_group_update({name, words});
    case RequestKind::GroupBarrier:
      return protocol::encode_group_arrival({kGateSize, name});
    case RequestKind::RendezvousJoin:
      return protocol::encode_rendezvous_join({kRoundMin, kRoundMax, kLastCallMs, name, words});
    case RequestKind::GroupGet: {
      const protocol::GroupAnswer& known = views_[name];
      return protocol::encode_group_query(
          {known.epoch, static_cast<std::uint32_t>(known.rows.size()), name});
    }
    case RequestKind::OpenSession:
      return {};
    default:
      return bytes(name);
  }
}

void Member::begin_request(RequestKind kind, const std::string& name) {
  UnderWay request;
  request.name = name;
  request.slot.kind = kind;
  request.begun_us = now_us_;
  request.deadline_us = now_us_ + timeout_us() * 12;
  request.payload = payload_of(kind, name);
  request.slot.ttl_ms = options_.ttl_ms;
  if (kind != RequestKind::OpenSession) {
    request.slot.shard = shard_of(hash_name(name), options_.shard_count).value;
  }
  if (kind == RequestKind::GroupGet) {
    request.slot.ttl_ms = 0;
  } else if (kind != RequestKind::OpenSession) {
    request.numbered = true;
    request.slot.session = session_.id;
    request.slot.sequence = session_.windows[request.slot.shard].begin();
  }
  if (kind == RequestKind::RendezvousJoin || kind == RequestKind::RendezvousLeave) {
    env_.judge.out(name, session_.id);
  }
  if (kind == RequestKind::GroupBarrier) {
    env_.judge.arrives(name, session_.id);
  }
  request_ = std::move(request);
  send();
}

void Member::send() {
  UnderWay& request = *request_;
  const ShardId shard{request.slot.shard};
  NodeId to = request.slot.kind == RequestKind::OpenSession ? NodeId{} : leaders_.leader(shard);
  if (to == NodeId{}) {
    to = NodeId{1 + random_.below(options_.node_count)};
  }
  request.to = to;
  request.slot.request_id = ++request_last_;
  if (request.numbered) {
    request.slot.acked_below =
        std::min(session_.windows[shard.value].acked_below(), request.slot.sequence);
  }
  if (registers(request.slot.kind)) {
    leaders_.name_term(request.slot);  // No late copy may begin a session anew.
  }
  const bool waits = waits_there(request.slot.kind);
  if (waits) {
    // So that its end comes before the request is given up.
    const std::uint64_t wait_us = timeout_us() * 6;
    const std::uint64_t spent_us = std::min(wait_us, now_us_ - request.begun_us);
    request.slot.set(protocol::RequestFlag::Wait);
    request.slot.deadline_ms = static_cast<std::uint32_t>((wait_us - spent_us) / 1000 + 1);
  }
  request.retry_us = now_us_ + timeout_us() * (waits ? 3 : 1);
  ++request.attempt;
  leaders_.forget(shard);  // Until it answers.
  env_.send(to, request.slot, request.payload);
}

void Member::on_reply(const Reply& reply) {
  if (!request_ || reply.slot.request_id != request_->slot.request_id) {
    return;
  }
  leaders_.learn_term(ShardId{request_->slot.shard}, Term{reply.slot.epoch});
  if (reply.slot.code != StatusCode::Ok) {
    return on_failure(reply.slot);
  }
  leaders_.learn(ShardId{request_->slot.shard}, reply.from);
  complete(&reply);
}

void Member::on_failure(const protocol::ReplySlot& slot) {
  UnderWay& request = *request_;
  const auto code = static_cast<ErrorCode>(slot.detail);
  if (code == ErrorCode::NotLeader || protocol::is_passing(code)) {
    const NodeId leader = code == ErrorCode::TermStale ? request.to : NodeId{slot.leader};
    leaders_.learn(ShardId{request.slot.shard}, leader);
    const bool at_once = leader != NodeId{} && request.attempt % 4 != 3;
    request.retry_us = now_us_ + (at_once ? 0 : timeout_us() / 4);
    return;
  }
  if (code == ErrorCode::SessionExpired) {
    return end_session();
  }
  if (code == ErrorCode::BarrierTimedOut || code == ErrorCode::BarrierSizeDiffers) {
    env_.judge.withdrawn(request.name, request.slot.session);
  }
  if (request.numbered) {
    session_.windows[request.slot.shard].end(request.slot.sequence);
  }
  request_.reset();
}

// Answered, or given up: then nobody knows what came of it, and the session ends.
void Member::complete(const Reply* reply) {
  const UnderWay ended = *std::exchange(request_, std::nullopt);
  if (ended.numbered) {
    session_.windows[ended.slot.shard].end(ended.slot.sequence);
  }
  if (reply != nullptr) {
    ++done_;
    on_success(ended, *reply);
  } else if (ended.numbered) {
    close_session();
  }
}

void Member::on_success(const UnderWay& ended, const Reply& reply) {
  switch (ended.slot.kind) {
    case RequestKind::OpenSession:
      session_ = {};
      session_.id = reply.slot.extra;
      for (std::uint32_t node = 1; node <= options_.node_count; ++node) {
        session_.acknowledged_us[NodeId{node}] = ended.begun_us;  // It counts from its opening.
      }
      return;
    case RequestKind::GroupGet:
      return on_answer(ended.name, reply.payload);
    case RequestKind::GroupBarrier:
      return report(
          env_.judge.take_release(ended.name, ended.slot.session, {reply.slot.token, kGateSize}));
    case RequestKind::RendezvousJoin:
      return on_round(ended, reply);
    default:
      return;
  }
}

void Member::on_answer(const std::string& name, std::span<const std::byte> payload) {
  const auto answer = protocol::decode_group_answer(payload);
  if (!answer.ok()) {
    return env_.report("M8: an answer about group " + name + " is malformed");
  }
  protocol::GroupAnswer& view = views_[name];
  if (answer.value().whole) {
    if (answer.value().epoch < view.epoch) {
      env_.report("M8: the epoch of group " + name + " fell");
    }
    // Of a group without members the epoch is no view's.
    if (!answer.value().rows.empty()) {
      report(env_.judge.take_view(name, {}, seen(answer.value())));
    }
    view = answer.value();
    return;
  }
  for (std::size_t k = 0; k < answer.value().rows.size(); ++k) {
    const SeenGroupView before = seen(view);
    const std::uint64_t epoch = answer.value().rows[k].epoch;
    for (; k < answer.value().rows.size() && answer.value().rows[k].epoch == epoch; ++k) {
      apply(answer.value().rows[k], view);
    }
    --k;
    report(env_.judge.take_view(name, before, seen(view)));
  }
}

void Member::on_round(const UnderWay& ended, const Reply& reply) {
  auto members = protocol::decode_rendezvous_round(reply.payload);
  if (!members.ok()) {
    return env_.report("M9: a round of " + ended.name + " is malformed");
  }
  report(env_.judge.take_round(ended.name,
                               {.session = ended.slot.session,
                                .round = reply.slot.token,
                                .rank = reply.slot.extra,
                                .members_min = kRoundMin,
                                .members_max = kRoundMax,
                                .members = std::move(members).value()}));
}

}  // namespace gcoord::chaos
