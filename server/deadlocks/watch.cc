#include "server/deadlocks/watch.h"

#include "common/limits.h"
#include "protocol/error_codes.h"
#include "server/deadlocks/text.h"
#include "server/platform/operator_log.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {

namespace {

// Of a message, beside its waits: kind, number, count.
constexpr std::size_t kMessageHeadBytes = 64;

// Parts of one node's report.
constexpr std::size_t kReportBytesMax = std::size_t{1} << 20;

WaitKey key_of(const DeadlockWait& wait) {
  return {wait.shard, wait.session, wait.sequence};
}

std::vector<std::byte> message_of(std::byte kind, std::uint64_t number) {
  std::vector<std::byte> message{kind};
  ByteWriter{message}.integer(number);
  return message;
}

}  // namespace

DeadlockWatch::DeadlockWatch(const DeadlockWatchOptions& options,
                             const locks::LockCpu& locks,
                             const WaitTable& waits,
                             MetricsRegistry& metrics,
                             Environment doors)
    : options_(options), locks_(locks), waits_(waits), environment_(std::move(doors)) {
  const auto counter = [&metrics](const char* name, const char* help) {
    return &metrics.counter({std::string("gcoord_server_deadlock_") + name, help, "", ""});
  };
  metrics_.reported = counter("waits_total", "Waits that this node reported to the coordinator.");
  metrics_.found =
      counter("found_total", "Possible deadlocks that this node found and asked to confirm.");
  metrics_.ended = counter("ended_total", "Deadlocks that this node had ended.");
  metrics_.unconfirmed =
      counter("unconfirmed_total", "Possible deadlocks that had gone before they were confirmed.");
  metrics_.oversized =
      counter("oversized_total", "Possible deadlocks with too many waits to be confirmed.");
  metrics_.dropped =
      counter("messages_bad_total", "Messages of peers about deadlocks that did not decode.");
}

void DeadlockWatch::set_nodes(std::span<const NodeId> nodes) {
  const auto gone = [nodes](std::uint32_t node) {
    return std::ranges::find(nodes, NodeId{node}) == nodes.end();
  };
  std::erase_if(reported_, [&](const auto& each) { return gone(each.first); });
  std::erase_if(cases_,
                [&](const auto& each) { return std::ranges::any_of(each.second.awaited, gone); });
}

std::uint64_t DeadlockWatch::interval_ticks() const {
  return std::max<std::uint64_t>(1, options_.interval_ms / options_.tick_ms);
}

Tick DeadlockWatch::next_deadline() const {
  const bool idle = waits_.size() == 0 && reported_.empty() && cases_.empty() &&
                    questions_.empty() && findings_.empty();
  return options_.interval_ms == 0 || idle ? kTickNever : next_;
}

void DeadlockWatch::on_tick(Tick now, std::uint64_t now_us) {
  now_ = now;
  if (now < next_deadline() || options_.interval_ms == 0) {
    return;
  }
  next_ = now + interval_ticks();
  forget_old();
  std::vector<DeadlockWait> waits = own_waits(now_us);
  metrics_.reported->add(waits.size());
  const NodeId to = searcher();
  report_waits(to, waits);
  const NodeId leader = environment_.leader(ShardId{0});
  if (leader != to) {
    const std::uint64_t old_ms = std::uint64_t{kDeadlockOldIntervals} * options_.interval_ms;
    std::erase_if(waits, [&](const DeadlockWait& wait) { return wait.waited_ms < old_ms; });
    report_waits(leader, waits);
  }
  search();
}

// Who looks for circles, as far as this node knows; 0: nobody.
NodeId DeadlockWatch::searcher() const {
  const NodeId elected = environment_.coordinator();
  return elected.value != 0 ? elected : environment_.leader(ShardId{0});
}

// What was reported holds for two intervals, and what was asked must be answered in as many.
void DeadlockWatch::forget_old() {
  const auto old = [&](Tick since) { return since + 2 * interval_ticks() <= now_; };
  std::erase_if(reported_, [&](const auto& each) { return old(each.second.received); });
  std::erase_if(cases_, [&](const auto& each) { return old(each.second.opened); });
  std::erase_if(questions_, [&](const auto& each) { return old(each.second.opened); });
  std::erase_if(findings_, [&](const auto& each) { return old(each.second.since); });
}

// Those that have waited for half an interval and whose session holds something: nobody waits for
// the others. Of more than kDeadlockWaitsMax, others with each look.
std::vector<DeadlockWait> DeadlockWatch::own_waits(std::uint64_t now_us) {
  std::vector<DeadlockWait> own;
  std::uint32_t looked_at = 0;
  look_from_ = waits_.visit_from(look_from_, [&](const WaitKey& key, const Wait& wait) {
    const std::uint64_t waited_ms = (now_us - std::min(now_us, wait.started_us)) / 1000;
    const bool takes_part = wait.request.has(protocol::RequestFlag::Blocks) &&
                            2 * waited_ms >= options_.interval_ms &&
                            holds_anything(locks_, key.session);
    auto described =
        takes_part ? describe_wait(locks_, key.shard, key.session, key.sequence) : std::nullopt;
    if (described.has_value()) {
      described->waited_ms =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(waited_ms, ~std::uint32_t{0}));
      own.push_back(std::move(*described));
    }
    return ++looked_at < kDeadlockWaitsMax;
  });
  return own;
}

void DeadlockWatch::report_waits(NodeId to, std::span<const DeadlockWait> waits) {
  if (to.value == 0) {
    return;
  }
  std::vector<std::byte> message;
  std::size_t sent_bytes = 0;
  for (const DeadlockWait& wait : waits) {
    if (message.size() + wait_bytes(wait) > kPeerMessageBytesMax && !message.empty()) {
      sent_bytes += message.size();
      send(to, std::exchange(message, {}));
    }
    if (sent_bytes > kReportBytesMax) {
      return;
    }
    if (message.empty()) {
      message = message_of(kDeadlockWaits, now_.value);
    }
    ByteWriter writer{message};
    write_wait(writer, wait);
  }
  if (!message.empty()) {
    send(to, message);
  }
}

// Messages to this node itself are served one after another, not within each other.
void DeadlockWatch::send(NodeId to, std::span<const std::byte> message) {
  GCOORD_ASSERT(message.size() <= kPeerMessageBytesMax);
  if (to != options_.node) {
    environment_.send(to, message);
    return;
  }
  to_self_.emplace_back(to, std::vector<std::byte>(message.begin(), message.end()));
  if (std::exchange(serving_self_, true)) {
    return;
  }
  while (!to_self_.empty()) {
    const auto next = std::move(to_self_.front());
    to_self_.pop_front();
    on_peer_message(next.first, next.second);
  }
  serving_self_ = false;
}

bool DeadlockWatch::is_ours(std::span<const std::byte> message) {
  return !message.empty() && message.front() >= kDeadlockFirst && message.front() <= kDeadlockLast;
}

void DeadlockWatch::on_peer_message(NodeId from, std::span<const std::byte> message) {
  GCOORD_ASSERT(is_ours(message));
  ByteReader reader{message.subspan(1)};
  switch (message.front()) {
    case kDeadlockWaits:
      return on_waits(from, reader);
    case kDeadlockConfirm:
      return on_question(from, reader);
    case kDeadlockConfirmed:
      return on_answer(from, reader);
    default:
      return on_break(reader);
  }
}

void DeadlockWatch::on_waits(NodeId from, ByteReader& reader) {
  const auto round = reader.integer<std::uint64_t>();
  std::vector<DeadlockWait> waits;
  while (reader.ok() && !reader.complete()) {
    waits.push_back(read_wait(reader));
  }
  if (!reader.ok()) {
    return drop();
  }
  Reported& reported = reported_[from.value];
  if (reported.round != round) {
    reported = Reported{.round = round};
  }
  reported.received = now_;
  const std::size_t room =
      kDeadlockWaitsMax - std::min<std::size_t>(kDeadlockWaitsMax, reported.waits.size());
  waits.resize(std::min(waits.size(), room));
  std::ranges::move(waits, std::back_inserter(reported.waits));
}

void DeadlockWatch::search() {
  std::vector<DeadlockWait> all;
  for (const auto& [node, reported] : reported_) {
    const std::uint64_t since_ms = (now_ - reported.received) * options_.tick_ms;
    for (const DeadlockWait& wait : reported.waits) {
      all.push_back(wait);
      all.back().waited_ms += static_cast<std::uint32_t>(since_ms);
    }
  }
  if (all.empty()) {
    return;
  }
  auto found = find_deadlocks(environment_.search, all);
  if (!found.ok()) {
    return;  // No memory for the graph now, or a device that failed; the waits stay.
  }
  metrics_.oversized->add(found.value().oversized);
  for (Deadlock& deadlock : found.value().deadlocks) {
    open_case(std::move(deadlock));
  }
}

bool DeadlockWatch::under_way(const DeadlockWait& victim) const {
  return std::ranges::any_of(cases_, [&](const auto& each) {
    const Deadlock& other = each.second.deadlock;
    const DeadlockWait& wait = other.evidence[other.victim];
    return wait.shard == victim.shard && wait.enqueued_at == victim.enqueued_at;
  });
}

void DeadlockWatch::open_case(Deadlock deadlock) {
  if (cases_.size() >= kDeadlockCasesMax || under_way(deadlock.evidence[deadlock.victim])) {
    return;
  }
  metrics_.found->add();
  const std::uint64_t number = ++number_last_;
  Case& opened = cases_[number];
  opened.deadlock = std::move(deadlock);
  opened.opened = now_;
  confirm(opened, number);
}

// One message to each leader, with the places of its waits in the evidence.
void DeadlockWatch::confirm(Case& opened, std::uint64_t number) {
  std::map<std::uint32_t, std::vector<std::byte>> messages;
  for (std::size_t place = 0; place < opened.deadlock.evidence.size(); ++place) {
    const DeadlockWait& wait = opened.deadlock.evidence[place];
    const NodeId leader = environment_.leader(wait.shard);
    std::vector<std::byte>& message =
        messages.try_emplace(leader.value, message_of(kDeadlockConfirm, number)).first->second;
    ByteWriter writer{message};
    writer.integer(static_cast<std::uint32_t>(place));
    write_wait(writer, wait);
    if (leader.value == 0 || message.size() > kPeerMessageBytesMax) {
      cases_.erase(number);  // Nobody can say; or more holders than one message tells.
      return;
    }
  }
  for (const auto& [node, message] : messages) {
    opened.awaited.insert(node);
  }
  for (const auto& [node, message] : messages) {
    send(NodeId{node}, message);
  }
}

void DeadlockWatch::on_question(NodeId from, ByteReader& reader) {
  Question question{.from = from, .number = reader.integer<std::uint64_t>(), .opened = now_};
  while (reader.ok() && !reader.complete()) {
    question.places.push_back(reader.integer<std::uint32_t>());
    question.waits.push_back(read_wait(reader));
    question.outstanding.insert(question.waits.back().shard.value);
  }
  const bool led = std::ranges::all_of(question.waits, [&](const DeadlockWait& wait) {
    return wait.shard.value < locks_.shard_count() && environment_.leads(wait.shard);
  });
  if (!reader.ok() || question.waits.empty() || questions_.size() >= kDeadlockCasesMax) {
    return drop();
  }
  if (!led) {
    question.stands = false;
    return answer(question);
  }
  const std::uint64_t group = ++number_last_;
  const std::set<std::uint32_t> shards = question.outstanding;
  questions_.emplace(group, std::move(question));
  for (const std::uint32_t shard : shards) {
    environment_.ask(ShardId{shard}, group);
  }
}

void DeadlockWatch::on_confirmed(std::uint64_t group, ShardId shard, const Status& status) {
  const auto found = questions_.find(group);
  if (found == questions_.end()) {
    return;  // Forgotten: it took too long.
  }
  Question& question = found->second;
  question.outstanding.erase(shard.value);
  question.stands = question.stands && status.ok();
  for (DeadlockWait& wait : question.waits) {
    if (wait.shard == shard && question.stands) {
      question.stands = still_waits(locks_, wait);
    }
  }
  if (question.outstanding.empty()) {
    const Question asked = std::move(question);
    questions_.erase(found);
    answer(asked);
  }
}

// The names of the locks go with it, as far as a message has room: they are for people.
void DeadlockWatch::answer(const Question& question) {
  std::vector<std::byte> message = message_of(kDeadlockConfirmed, question.number);
  ByteWriter writer{message};
  writer.integer(static_cast<std::uint8_t>(question.stands ? 1 : 0));
  for (std::size_t i = 0; i < question.waits.size() && question.stands; ++i) {
    const std::string& name = question.waits[i].name;
    if (message.size() + name.size() + kMessageHeadBytes > kPeerMessageBytesMax) {
      break;
    }
    writer.integer(question.places[i]);
    writer.text(name);
  }
  send(question.from, message);
}

void DeadlockWatch::on_answer(NodeId from, ByteReader& reader) {
  const auto number = reader.integer<std::uint64_t>();
  const bool stands = reader.integer<std::uint8_t>() != 0;
  std::vector<std::pair<std::uint32_t, std::string>> names;
  while (reader.ok() && !reader.complete()) {
    const auto place = reader.integer<std::uint32_t>();
    names.emplace_back(place, reader.text(locks::kNameBytesMax));
  }
  const auto found = cases_.find(number);
  if (!reader.ok()) {
    return drop();
  }
  if (found == cases_.end() || found->second.awaited.erase(from.value) == 0) {
    return;  // Of a circle that is closed already.
  }
  Case& opened = found->second;
  if (!stands) {
    metrics_.unconfirmed->add();
    cases_.erase(found);
    return;
  }
  for (auto& [place, name] : names) {
    if (place < opened.deadlock.evidence.size()) {
      opened.deadlock.evidence[place].name = std::move(name);
    }
  }
  if (opened.awaited.empty()) {
    Case closed = std::move(opened);
    cases_.erase(found);
    conclude(closed);
  }
}

// Everything stands: the leader of the youngest wait ends it.
void DeadlockWatch::conclude(Case& closed) {
  std::vector<DeadlockWait>& ring = closed.deadlock.evidence;
  ring.resize(closed.deadlock.ring);
  DeadlockWait victim = ring[closed.deadlock.victim];
  metrics_.ended->add();
  found_.push_back({options_.wall_ms ? options_.wall_ms() : 0, ring, closed.deadlock.victim});
  if (found_.size() > kDeadlocksKept) {
    found_.pop_front();
  }
  std::vector<std::byte> message = message_of(kDeadlockBreak, 0);
  ByteWriter writer{message};
  write_wait(writer, victim);
  const std::string text = deadlock_text(ring, closed.deadlock.victim);
  log_debug(LogComponent::Locks, "ends a deadlock: {}", text);
  writer.text(text);
  send(environment_.leader(victim.shard), message);
}

void DeadlockWatch::on_break(ByteReader& reader) {
  static_cast<void>(reader.integer<std::uint64_t>());
  const DeadlockWait victim = read_wait(reader);
  const std::string text{reader.text(kDeadlockTextMax)};
  if (!reader.complete() || victim.shard.value >= locks_.shard_count() ||
      victim.session.value == 0 || victim.sequence.value == 0 || victim.enqueued_at.value == 0) {
    return drop();
  }
  const WaitKey key = key_of(victim);
  const bool waits = waits_.started_us(key).has_value();
  if (!environment_.leads(victim.shard) || !waits || findings_.size() >= kDeadlockCasesMax) {
    return;  // It is found again if it is still there.
  }
  findings_[key] = Finding{text, now_};
  environment_.end(key, victim.enqueued_at);
}

std::string DeadlockWatch::take_text(const WaitKey& key) {
  const auto told = findings_.extract(key);
  const std::string text = told.empty() ? std::string{} : told.mapped().text;
  return protocol::make_error(protocol::ErrorCode::Deadlock, text).message();
}

DeadlockWatch::Counts DeadlockWatch::counts() const {
  return {metrics_.found->value(),
          metrics_.ended->value(),
          metrics_.unconfirmed->value(),
          metrics_.oversized->value()};
}

std::string DeadlockWatch::report() const {
  std::vector<DeadlockShown> shown;
  for (const Found& each : found_) {
    shown.push_back({each.wall_ms, each.ring, each.victim});
  }
  return deadlock_json(options_.interval_ms, searcher(), shown);
}

}  // namespace gcoord::server
