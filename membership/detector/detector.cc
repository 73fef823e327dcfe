#include "membership/detector/detector.h"

#include "common/assert.h"
#include "common/random.h"

#include <algorithm>
#include <utility>

namespace gcoord::membership {

namespace {

// Without a datagram of anybody for so long, heartbeats alone count.
constexpr std::uint64_t kDatagramsMs = 5000;
// How much later than due advance may run before the node mistrusts its own silence.
constexpr std::uint64_t kGapMs = 300;
// Whoever decides nothing, or waits for the return of a node, probes so many times less often.
constexpr std::uint64_t kCalm = 5;
// A relay gives up before its asker does.
constexpr std::uint64_t kRelayPercent = 60;
// Rounds of probes are never shorter: a busy node answers within some tens of milliseconds.
constexpr std::uint64_t kRoundMs = 100;

}  // namespace

Detector::Detector(const DetectorOptions& options) : options_(options) {
  GCOORD_ASSERT(options.self.value != 0 && options.incarnation.value != 0);
  GCOORD_ASSERT(options.probe_interval_ms > 0);
  // Nobody who sees none of its questions can answer one.
  sequences_ = static_cast<std::uint32_t>(random64(options.seed, options.self.value, 0));
}

void Detector::set_nodes(std::span<const WatchedNode> nodes, std::uint64_t now_ms) {
  std::vector<Watched> kept;
  for (const WatchedNode& node : nodes) {
    if (node.id == options_.self) {
      continue;
    }
    if (Watched* const known = find(node.id)) {
      known->evidence.set_host(node.host);
      kept.push_back(std::move(*known));
    } else {
      kept.push_back({.evidence = Evidence{node, options_.evidence, now_ms},
                      .loss = {},
                      .round = {},
                      .next_round_ms = 0});
    }
  }
  for (const Watched& node : nodes_) {
    opinions_.forget(node.evidence.id());
  }
  std::ranges::sort(kept, {}, [](const Watched& each) { return each.evidence.id(); });
  nodes_ = std::move(kept);
  turn_.clear();
}

Detector::Watched* Detector::find(NodeId node) {
  const auto found =
      std::ranges::find_if(nodes_, [&](Watched& each) { return each.evidence.id() == node; });
  return found == nodes_.end() ? nullptr : &*found;
}

const Detector::Watched* Detector::find(NodeId node) const {
  return const_cast<Detector*>(this)->find(node);
}

void Detector::on_heartbeat(NodeId from, Incarnation incarnation, std::uint64_t now_ms) {
  Watched* const node = find(from);
  if (node != nullptr && node->evidence.confirm(incarnation, now_ms)) {
    node->evidence.heard_directly(now_ms);
  }
}

void Detector::on_channel_ended(NodeId node, std::uint64_t now_ms) {
  if (Watched* const found = find(node)) {
    found->evidence.doubt();
    found->next_round_ms = now_ms;
  }
}

bool Detector::on_message(const DetectorMessage& message, std::uint64_t now_ms) {
  Watched* const from = find(message.from);
  if (from == nullptr || !from->evidence.admit(message.incarnation, now_ms)) {
    ++counts_.unknown;
    return false;
  }
  datagram_ms_ = now_ms;
  from->evidence.heard_directly(now_ms);
  from->evidence.speaks();
  from->evidence.set_device(message.device);
  opinions_.hear(message.from, message.opinions, now_ms);
  switch (message.kind) {
    case MessageKind::Ping:
      on_ping(message);
      break;
    case MessageKind::PingRequest:
      on_request(message, now_ms);
      break;
    case MessageKind::Ack:
      on_ack(*from, message, now_ms);
      break;
    case MessageKind::Relayed:
      on_relayed(message, now_ms);
      break;
  }
  hear_opinions(message);
  return true;
}

void Detector::on_ping(const DetectorMessage& message) {
  answer({.kind = MessageKind::Ack, .to = message.from, .sequence = message.sequence, .about = {}},
         message.room());
}

void Detector::on_request(const DetectorMessage& message, std::uint64_t now_ms) {
  if (find(message.about) == nullptr) {
    return;
  }
  const Relay relay{.asker = message.from,
                    .asked = message.sequence,
                    .about = message.about,
                    .sequence = ++sequences_,
                    .ends_ms = now_ms + kRoundMs * kRelayPercent / 100,
                    .room = message.room()};
  if (relays_.add(relay)) {
    ++counts_.relayed;
    send({.to = relay.about, .sequence = relay.sequence, .about = {}});
  }
}

void Detector::on_ack(Watched& from, const DetectorMessage& message, std::uint64_t) {
  if (const auto relay = relays_.take(message.from, message.sequence)) {
    tell(*relay, Outcome::Answered);
    return;
  }
  if (from.pinged_ms != 0 && message.sequence == from.sequence) {
    from.pinged_ms = 0;
    from.loss.on_probe(false);
    loss_.on_probe(false);
    health_.on_answer();
    ++counts_.answers;
  }
}

// Only what answers a question of this node counts.
void Detector::on_relayed(const DetectorMessage& message, std::uint64_t now_ms) {
  Watched* const about = find(message.about);
  if (about == nullptr || about->round.ends_ms == 0 || about->round.sequence != message.sequence ||
      std::erase(about->round.relays, message.from) == 0) {
    return;
  }
  if (message.outcome == Outcome::Answered) {
    about->evidence.heard_indirectly(now_ms);
    about->round.ends_ms = 0;
    about->next_round_ms = now_ms + round_ms();
    return;
  }
  ++about->round.denials;
  if (message.outcome == Outcome::Refused) {
    about->evidence.refused(message.from, now_ms);
  }
}

// Another node has something against a node that this one holds for alive: it is probed.
void Detector::hear_opinions(const DetectorMessage& message) {
  for (const Opinion& opinion : message.opinions) {
    Watched* const about = find(opinion.node);
    const bool failed = opinion.verdict == Verdict::Suspect ||
                        (opinion.verdict == Verdict::Doubted && opinion.cause == Cause::Refused);
    if (about != nullptr && failed && opinion.cause != Cause::Device &&
        opinion.incarnation == about->evidence.incarnation() && !about->evidence.doubted()) {
      about->evidence.doubt();
    }
  }
}

void Detector::on_refused(NodeId node, std::uint64_t now_ms) {
  ++counts_.refusals;
  Watched* const found = find(node);
  if (found == nullptr) {
    return;
  }
  while (const auto relay = relays_.take(node)) {
    tell(*relay, found->evidence.has_spoken() ? Outcome::Refused : Outcome::Silent);
  }
  found->evidence.refused(options_.self, now_ms);
}

void Detector::advance(std::uint64_t now_ms) {
  notice_gap(now_ms);
  end_relays(now_ms);
  judge_pings(now_ms);
  const Surroundings around = surroundings(now_ms);
  for (Watched& node : nodes_) {
    look_at(node, now_ms, around);
  }
  if (now_ms >= next_ping_ms_) {
    ping_next(now_ms);
  }
  due_ms_ = next_deadline_ms();
}

// The others were silent only because nobody listened here.
void Detector::notice_gap(std::uint64_t now_ms) {
  if (due_ms_ == 0 || now_ms < due_ms_ + kGapMs) {
    return;
  }
  ++counts_.own_gaps;
  health_.on_own_fault();
  for (Watched& node : nodes_) {
    node.evidence.forgive(now_ms);
    node.round.ends_ms = 0;
    node.pinged_ms = 0;
  }
  relays_.clear();
}

void Detector::end_relays(std::uint64_t now_ms) {
  while (const auto relay = relays_.take_late(now_ms)) {
    tell(*relay, Outcome::Silent);
  }
}

// A ping of the turn that was not answered in time was lost, if the node is heard since then.
void Detector::judge_pings(std::uint64_t now_ms) {
  for (Watched& node : nodes_) {
    if (node.pinged_ms == 0 || now_ms < node.pinged_ms + round_ms()) {
      continue;
    }
    if (node.evidence.direct_ms() > node.pinged_ms) {
      node.loss.on_probe(true);
      loss_.on_probe(true);
      node.pinged_ms = 0;
    } else if (now_ms > node.pinged_ms + Opinions::kFreshMs) {
      node.pinged_ms = 0;
    }
  }
}

void Detector::ping_next(std::uint64_t now_ms) {
  next_ping_ms_ = now_ms + options_.probe_interval_ms;
  if (turn_.empty()) {
    shuffle();
  }
  if (turn_.empty() || !socket_) {
    return;
  }
  Watched& node = *find(turn_.back());
  turn_.pop_back();
  node.sequence = ++sequences_;
  node.pinged_ms = now_ms;
  ++counts_.probes;
  send({.to = node.evidence.id(), .sequence = node.sequence, .about = {}});
}

void Detector::look_at(Watched& node, std::uint64_t now_ms, const Surroundings& around) {
  Surroundings of = around;
  of.relays = has_relay(node.evidence.id(), now_ms);
  if (node.round.ends_ms != 0 && now_ms >= node.round.ends_ms) {
    end_round(node, now_ms);
  }
  const Verdict before = node.evidence.verdict();
  if (node.evidence.judge(now_ms, of)) {
    const bool suspect = node.evidence.verdict() == Verdict::Suspect;
    counts_.suspicions += suspect && before != Verdict::Suspect ? 1 : 0;
    const bool bad = suspect || node.evidence.cause() == Cause::Refused;
    if (bad && decider_.value != 0 && decider_ != options_.self && decider_ != node.evidence.id()) {
      send({.to = decider_, .sequence = ++sequences_, .about = {}});
    }
  }
  if (!node.evidence.doubted()) {
    node.round.ends_ms = 0;
  } else if (node.round.ends_ms == 0 && now_ms >= node.next_round_ms && socket_) {
    begin_round(node, now_ms);
  }
}

void Detector::begin_round(Watched& node, std::uint64_t now_ms) {
  const NodeId id = node.evidence.id();
  node.round = {.sequence = ++sequences_,
                .ends_ms = now_ms + round_ms(),
                .relays = draw_relays(id, now_ms),
                .denials = 0};
  const bool hurries = decider_ == options_.self && node.evidence.verdict() != Verdict::Suspect;
  node.next_round_ms = hurries ? node.round.ends_ms : now_ms + kCalm * round_ms();
  ++counts_.rounds;
  ++counts_.probes;
  send({.to = id, .sequence = node.round.sequence, .about = {}});
  for (const NodeId relay : node.round.relays) {
    send({.kind = MessageKind::PingRequest,
          .to = relay,
          .sequence = node.round.sequence,
          .about = id});
  }
}

void Detector::end_round(Watched& node, std::uint64_t) {
  const Round round = std::exchange(node.round, {});
  const bool relayed = !round.relays.empty() || round.denials > 0;
  if (relayed && round.denials == 0) {
    health_.on_own_fault();
  }
  node.evidence.round_failed({.denials = round.denials,
                              .relayed = relayed,
                              .loss = std::max(loss_.rate(), node.loss.rate())});
}

bool Detector::can_relay(const Watched& node, NodeId about, std::uint64_t) const {
  return node.evidence.id() != about && node.evidence.verdict() == Verdict::Alive &&
         node.evidence.has_spoken();
}

bool Detector::has_relay(NodeId about, std::uint64_t now_ms) const {
  return std::ranges::any_of(nodes_,
                             [&](const Watched& each) { return can_relay(each, about, now_ms); });
}

std::vector<NodeId> Detector::draw_relays(NodeId about, std::uint64_t now_ms) {
  std::vector<NodeId> able;
  for (const Watched& node : nodes_) {
    if (can_relay(node, about, now_ms)) {
      able.push_back(node.evidence.id());
    }
  }
  for (std::size_t k = 0; k < able.size() && k < options_.relays; ++k) {
    const auto rest = static_cast<std::uint32_t>(able.size() - k);
    std::swap(able[k], able[k + random_below(draw(), rest)]);
  }
  able.resize(std::min<std::size_t>(able.size(), options_.relays));
  return able;
}

Surroundings Detector::surroundings(std::uint64_t now_ms) const {
  Surroundings around;
  around.silence_ms = health_.stretched(options_.evidence.silence_ms_min);
  around.datagrams = socket_ && datagram_ms_ != 0 && now_ms - datagram_ms_ < kDatagramsMs;
  const auto heard = std::ranges::count_if(nodes_, [&](const Watched& each) {
    return each.evidence.silent_for_ms(now_ms) < options_.evidence.silence_ms_min;
  });
  // With this node: half of the others is a majority of all.
  around.hears_majority = static_cast<std::size_t>(heard) * 2 >= nodes_.size();
  return around;
}

std::uint64_t Detector::round_ms() const {
  return health_.stretched(kRoundMs);
}

// Fisher and Yates, so that within one turn each node is pinged once (SWIM, section 4.3).
void Detector::shuffle() {
  for (const Watched& node : nodes_) {
    turn_.push_back(node.evidence.id());
  }
  for (std::size_t k = turn_.size(); k > 1; --k) {
    std::swap(turn_[k - 1], turn_[random_below(draw(), static_cast<std::uint32_t>(k))]);
  }
}

std::uint64_t Detector::draw() {
  return random64(options_.seed, options_.self.value, ++draws_);
}

// A question has room for what the other one may have to say: something against every node.
void Detector::send(DetectorMessage question) {
  const std::size_t room = std::min<std::size_t>(nodes_.size(), kOpinionsMax);
  question.opinions = opinions();
  question.padding = static_cast<std::uint32_t>(room - question.opinions.size());
  emit(std::move(question));
}

void Detector::answer(DetectorMessage message, std::uint32_t room) {
  message.opinions = opinions();
  message.opinions.resize(std::min<std::size_t>(message.opinions.size(), room));
  emit(std::move(message));
}

void Detector::tell(const Relay& relay, Outcome outcome) {
  answer({.kind = MessageKind::Relayed,
          .outcome = outcome,
          .to = relay.asker,
          .sequence = relay.asked,
          .about = relay.about},
         relay.room);
}

void Detector::emit(DetectorMessage message) {
  if (!socket_) {
    return;
  }
  message.from = options_.self;
  message.incarnation = options_.incarnation;
  message.device = device_;
  outgoing_.push_back(std::move(message));
}

// The worst first; about each node at most one.
std::vector<Opinion> Detector::opinions() const {
  std::vector<Opinion> said;
  for (const Verdict verdict : {Verdict::Suspect, Verdict::Doubted}) {
    for (const Watched& node : nodes_) {
      if (node.evidence.verdict() == verdict && said.size() < kOpinionsMax) {
        said.push_back(
            {node.evidence.id(), node.evidence.incarnation(), verdict, node.evidence.cause()});
      }
    }
  }
  return said;
}

std::uint64_t Detector::next_deadline_ms() const {
  std::uint64_t next = std::min(next_ping_ms_, relays_.next_ms());
  for (const Watched& node : nodes_) {
    if (node.round.ends_ms != 0) {
      next = std::min(next, node.round.ends_ms);
    } else if (node.evidence.doubted()) {
      next = std::min(next, node.next_round_ms);
    }
  }
  return next;
}

// Several processes, all silent, and none of them refused by its host's kernel.
bool Detector::host_is_silent(const Watched& node) const {
  std::size_t others = 0;
  for (const Watched& each : nodes_) {
    const bool same = !node.evidence.host().empty() && each.evidence.host() == node.evidence.host();
    if (!same) {
      continue;
    }
    if (each.evidence.verdict() != Verdict::Suspect || each.evidence.cause() != Cause::Silent) {
      return false;
    }
    ++others;
  }
  return others > 1;
}

std::vector<NodeSight> Detector::sights(std::uint64_t now_ms) const {
  std::vector<NodeSight> sights;
  for (const Watched& node : nodes_) {
    const Evidence& evidence = node.evidence;
    NodeSight sight{.node = evidence.id(),
                    .incarnation = evidence.incarnation(),
                    .verdict = evidence.verdict(),
                    .cause = evidence.cause(),
                    .device = evidence.device(),
                    .phi = evidence.phi(now_ms),
                    .since_ms = evidence.since_ms(),
                    .direct_ms = evidence.direct_ms(),
                    .indirect_ms = evidence.indirect_ms(),
                    .silent_for_ms = evidence.silent_for_ms(now_ms)};
    if (sight.verdict == Verdict::Suspect) {
      const bool host = sight.cause == Cause::Silent && host_is_silent(node);
      sight.level = sight.cause == Cause::Device ? Level::Device
                    : host                       ? Level::Host
                                                 : Level::Process;
    }
    sights.push_back(sight);
  }
  return sights;
}

bool Detector::others_agree(NodeId node, std::uint64_t now_ms) const {
  const Watched* const found = find(node);
  if (found == nullptr) {
    return false;
  }
  const Evidence& evidence = found->evidence;
  if (evidence.cause() != Cause::Silent) {
    return true;
  }
  const auto [against, others] =
      opinions_.tally({.about = node,
                       .incarnation = evidence.incarnation(),
                       .since_ms = std::max(evidence.direct_ms(), evidence.indirect_ms()) +
                                   options_.evidence.silence_ms_min / 2},
                      now_ms);
  return against >= others;
}

}  // namespace gcoord::membership
