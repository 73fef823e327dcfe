#include "server/sessions/expiry.h"

#include "locks/commands/limits.h"
#include "server/sessions/ahead.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {

namespace {

// Longer than an answer takes from a node that is not busy: what is not answered by then does not
// hold up what is behind it.
constexpr std::uint64_t kAnswerTicks = 3;

// What a unit of the pass's budget is worth.
constexpr std::size_t kLooksPerUnit = 2;

// How far ahead memory is asked for; a line of it takes as long as some ten looks.
constexpr std::size_t kAheadIndex = 16;
constexpr std::size_t kAheadRow = 8;

}  // namespace

SessionExpiry::SessionExpiry(const SessionExpiryOptions& options,
                             locks::LockCpu& locks,
                             MetricsRegistry& metrics,
                             Environment doors)
    : options_(options),
      locks_(locks),
      environment_(std::move(doors)),
      log_(locks, metrics, environment_.log),
      gathered_(locks,
                metrics,
                {.groups = environment_.groups,
                 .silence_needed = [this](std::uint32_t ttl_ms) { return silence_needed(ttl_ms); },
                 .tick_ms = options.tick_ms}),
      voters_(options_.node,
              options_.nodes,
              sessions::session_ttl_ticks(locks::kTtlMsMax, options_.tick_ms)) {
  if (options_.witness) {
    heard_.emplace(*options_.witness);
  }
  asked_ = &metrics.counter({"gcoord_server_session_questions_total",
                             "Queries to other nodes about sessions before their expiry.",
                             "",
                             ""});
  late_ = &metrics.histogram({"gcoord_server_session_expiry_lateness_seconds",
                              "From the end of a session's time to the proposal of its expiry.",
                              "",
                              ""});
  dropped_ = &metrics.counter({"gcoord_server_peer_messages_bad_total",
                               "Service messages of peers that did not decode.",
                               "",
                               ""});
}

// A question that is under way stays: who has a vote now and was not asked is, when it is repeated.
void SessionExpiry::set_members(const ClusterMembers& members, Tick now) {
  if (!voters_.set_members(members, now)) {
    rounds_.clear();
  }
}

bool SessionExpiry::majority(std::uint64_t silent_mask,
                             const sessions::ExpiryProposal& due,
                             Tick now) const {
  const std::uint64_t ttl_ticks =
      sessions::session_ttl_ticks(locks_.clock().ttl_ms(due.row), options_.tick_ms);
  return voters_.is_majority(silent_mask, ttl_ticks, now);
}

Tick SessionExpiry::next_deadline() const {
  return locks_.clock().registration_count() == 0 ? kTickNever : next_scan_;
}

// What is due comes shard by shard, so one look at a shard serves many.
bool SessionExpiry::leading(ShardId shard) {
  if (leading_shard_ != shard) {
    leading_shard_ = shard;
    leading_ = environment_.leads(shard) && engine_->view(shard).lease;
  }
  return leading_;
}

void SessionExpiry::on_pass(Tick now) {
  if (heard_) {
    heard_->listen(now);
  }
  if (now < next_deadline()) {
    return environment_.budget.put_off(WorkClass::SessionEnds, false);
  }
  if (now < clear_after_) {
    environment_.budget.put_off(WorkClass::SessionEnds, false);
    next_scan_ = clear_after_;
    return;
  }
  rounds_.forget(now - std::min(now.value, options_.election_ticks));
  if (cost(now) >= kExpiryCostMax) {
    next_scan_ = now + 1;  // Or when something is decided.
    return environment_.budget.put_off(WorkClass::SessionEnds, false);
  }
  const std::uint64_t proposed_before = log_.proposed_count();
  const std::uint64_t waits_before = gathered_.wait_count();
  Collected collected;
  if (due_place_ == due_.size()) {
    collected = collect(now);
  } else {
    collected.count = due_.size() - due_place_;
  }
  take_part(now);
  const bool progress = collected.early_count > 0 || !to_ask_.empty() ||
                        log_.proposed_count() > proposed_before ||
                        gathered_.wait_count() > waits_before;
  ask(now);
  const bool more = due_place_ < due_.size() || collected.full;
  environment_.budget.put_off(WorkClass::SessionEnds, due_place_ < due_.size() && progress);
  // A registration made from now on cannot run out within the shortest TTL.
  const std::uint64_t ttl_ticks =
      std::max<std::uint64_t>(1, options_.ttl_ms_min / options_.tick_ms);
  const Tick latest = collected.count > 0 ? now + 1 : now + ttl_ticks;
  const Tick next = max_id(now + 1, min_id(locks_.clock().next_deadline(), latest));
  // Of a part with which nothing could be done, all is looked at again; not before the next tick.
  next_scan_ = more && progress ? now : next;
}

// Questions count until they are answered, or so long that their answers are not worth waiting for.
std::size_t SessionExpiry::cost(Tick now) const {
  const Tick lately = now - std::min(now.value, kAnswerTicks);
  return log_.cost() + rounds_.unanswered(lately) * kQuestionCost;
}

// Nothing is lost of what is collected: all of it is looked at before the next is collected. Who
// was not silent for long enough is left out here, in the order of the rows.
SessionExpiry::Collected SessionExpiry::collect(Tick now) {
  locks::NodeClock& clock = locks_.clock();
  due_.resize(due_room_);
  due_.resize(environment_.collect_due(now, due_));
  due_place_ = 0;
  const std::size_t count = due_.size();
  const bool full = count == due_room_;
  if (full) {
    due_room_ = std::min(2 * due_room_, kExpiriesSortedMax);
  } else if (count < due_room_ / 4) {
    due_room_ = std::max(due_room_ / 2, kExpiriesSortedMin);
  }
  const std::size_t early_count = std::erase_if(due_, [&](const sessions::ExpiryProposal& due) {
    const std::uint64_t silent = clock.silent_ticks(due.row, now);
    const std::uint64_t needed = silence_needed(due);
    const bool early = silent < needed && !clock.dying(due.row);
    if (early) {
      clock.put_off(due, now + (needed - silent));
    }
    return early;
  });
  std::ranges::sort(due_, {}, &sessions::ExpiryProposal::shard);
  return {count, early_count, full};
}

void SessionExpiry::take_part(Tick now) {
  leading_shard_ = locks::kNoShard;
  const std::size_t part = std::min(
      kExpiriesPerPassMax, kLooksPerUnit * environment_.budget.left(WorkClass::SessionEnds));
  const std::size_t end = std::min(due_.size(), due_place_ + part);
  environment_.budget.spend(WorkClass::SessionEnds,
                            (end - due_place_ + kLooksPerUnit - 1) / kLooksPerUnit);
  const SessionsAhead ahead_of(locks_);
  for (; due_place_ < end; ++due_place_) {
    if (const std::size_t ahead = due_place_ + kAheadRow; ahead < end) {
      ahead_of.want_times(due_[ahead].row);
    }
    look_at(due_[due_place_], now);
  }
  log_.flush();
}

// How long this node must have been silent itself. The other nodes, who heard the last keep-alive
// when this one did, have then been silent for as long as take_answer() wants: asked before that,
// all of them would have to be asked twice.
std::uint64_t SessionExpiry::silence_needed(std::uint32_t ttl_ms) const {
  constexpr std::uint64_t kTicksMore = 4;
  return voters_.alone() ? sessions::session_ttl_ticks(ttl_ms, options_.tick_ms)
                         : ttl_ms / options_.tick_ms + kTicksMore;
}

// Messages may be lost, so the question is repeated in any case.
Tick SessionExpiry::repeat_at(Tick now) const {
  return now + std::max<std::uint64_t>(2, options_.election_ticks / 4);
}

void SessionExpiry::look_at(const sessions::ExpiryProposal& due, Tick now) {
  locks::NodeClock& clock = locks_.clock();
  if (!clock.collected(due)) {
    return;
  }
  if (!leading(due.shard)) {
    return clock.put_off(due, now + 1);
  }
  if (clock.dying(due.row)) {
    return propose(due, now);
  }
  const std::uint64_t silent = clock.silent_ticks(due.row, now);
  const std::uint64_t needed = silence_needed(due);
  if (silent < needed) {
    return clock.put_off(due, now + (needed - silent));
  }
  if (const Tick again = gathered_.look_again(due, now); now < again) {
    return clock.put_off(due, again);
  }
  const std::uint64_t self = voters_.bit_of(options_.node);
  if (majority(self, due, now)) {
    return propose(due, now);
  }
  clock.put_off(due, repeat_at(now));
  to_ask_.push_back({due, self, false});
}

void SessionExpiry::propose(const sessions::ExpiryProposal& agreed, Tick now) {
  locks::NodeClock& clock = locks_.clock();
  const std::uint64_t silent = clock.silent_ticks(agreed.row, now);
  const bool ran_out = !clock.dying(agreed.row);  // Others are ended on request.
  if (clock.propose(agreed)) {
    if (ran_out) {
      const std::uint64_t late = silent - std::min(silent, silence_needed(agreed));
      late_->observe_us(late * options_.tick_ms * 1000);
    }
    log_.add(agreed);
  }
}

void SessionExpiry::ask(Tick now) {
  if (to_ask_.empty()) {
    return;
  }
  asked_->add(to_ask_.size());
  ExpiryMessage question{
      .kind = ExpiryMessageKind::Question, .cases = {}, .with_epoch = voters_.epoch() != 0};
  question.cases.reserve(to_ask_.size());
  for (const ExpiryRound::Case& each : to_ask_) {
    question.cases.push_back({each.due.session.value, each.due.shard.value, each.due.serial, 0});
  }
  question.round = rounds_.add(now, std::exchange(to_ask_, {}));
  const auto message = encode_expiry(question);
  for (const NodeId node : voters_.others()) {
    engine_->send_peer_message(node, message);
  }
}

void SessionExpiry::on_peer_message(NodeId from, std::span<const std::byte> message, Tick now) {
  auto decoded = decode_expiry(message);
  // Whoever asks may have a newer view than this node; only the epochs of answers are compared.
  const bool question =
      decoded.has_value() && decoded->kind == ExpiryMessageKind::Question && decoded->with_epoch;
  if (!decoded.has_value() || (voters_.bit_of(from) == 0 && !question)) {
    dropped_->add();
  } else if (decoded->kind == ExpiryMessageKind::Question) {
    answer(from, *decoded, now);
  } else {
    take_answers(from, *decoded, now);
  }
}

std::uint64_t SessionExpiry::silent_ms(const ExpiryCase& question, Tick now) const {
  const ShardId shard{question.shard};
  if (now < clear_after_ || shard.value >= locks_.shard_count()) {
    return kSilenceUnknown;
  }
  if (heard_) {
    const auto silent = heard_->silent_ticks(SessionId{question.session}, now);
    return silent ? *silent * options_.tick_ms : kSilenceUnknown;
  }
  const locks::LockView view = locks_.view(shard);
  const locks::LockTables& tables = view.tables();
  const locks::SessionRow row = locks::find_session(tables, shard, SessionId{question.session});
  if (row.value == 0 || tables.sessions[row].serial != question.serial) {
    return kSilenceUnknown;
  }
  return locks_.clock().silent_ticks(view.outside(row), now) * options_.tick_ms;
}

void SessionExpiry::answer(NodeId to, ExpiryMessage& message, Tick now) {
  const SessionsAhead ahead_of(locks_);
  for (std::size_t at = 0; at < message.cases.size(); ++at) {
    if (at + kAheadIndex < message.cases.size()) {
      const ExpiryCase& each = message.cases[at + kAheadIndex];
      ahead_of.want_index(ShardId{each.shard}, SessionId{each.session});
    }
    if (at + kAheadRow < message.cases.size()) {
      const ExpiryCase& each = message.cases[at + kAheadRow];
      ahead_of.want_session(ShardId{each.shard}, SessionId{each.session});
    }
    message.cases[at].silent_ms = silent_ms(message.cases[at], now);
  }
  message.kind = ExpiryMessageKind::Answer;
  message.epoch = voters_.epoch();
  engine_->send_peer_message(to, encode_expiry(message));
}

void SessionExpiry::take_answers(NodeId from, const ExpiryMessage& message, Tick now) {
  ExpiryRound* const round = rounds_.find(message.round);
  if (round == nullptr || round->open_count == 0 || now < clear_after_) {
    return;  // All of it is decided, or it is too long ago, or it is asked again.
  }
  // Clients may go by the view that it has already, and by none that this node knows.
  if (message.epoch > voters_.epoch()) {
    return;
  }
  const auto same = [](const ExpiryCase& answered, const ExpiryRound::Case& asked) {
    return answered.session == asked.due.session.value && answered.shard == asked.due.shard.value &&
           answered.serial == asked.due.serial;
  };
  if (!std::ranges::equal(message.cases, round->cases, same)) {
    dropped_->add();
    return;
  }
  round->answered = true;
  leading_shard_ = locks::kNoShard;
  const SessionsAhead ahead_of(locks_);
  for (std::size_t at = 0; at < round->cases.size(); ++at) {
    if (at + kAheadRow < round->cases.size()) {
      const locks::SessionRow row = round->cases[at + kAheadRow].due.row;
      ahead_of.want_times(row);
      ahead_of.want_record(row);
    }
    if (!round->cases[at].closed) {
      take_answer(voters_.bit_of(from), message.cases[at].silent_ms, *round, round->cases[at], now);
    }
  }
  log_.flush();
}

// Whether the answers still prove something: what others said of their silence long ago, or before
// this node heard the session again, does not. Within the tick of the question too: that keep-alive
// was acknowledged, and another node may have acknowledged it after its answer.
bool SessionExpiry::stands(const ExpiryRound& round,
                           const ExpiryRound::Case& asked,
                           Tick now) const {
  const std::uint64_t age = now - round.asked;
  return age <= options_.election_ticks && age < locks_.clock().silent_ticks(asked.due.row, now);
}

void SessionExpiry::take_answer(std::uint64_t from,
                                std::uint64_t silent_ms,
                                ExpiryRound& round,
                                ExpiryRound::Case& asked,
                                Tick now) {
  locks::NodeClock& clock = locks_.clock();
  if (silent_ms == kSilenceUnknown) {
    return;
  }
  // The row may serve another registration by now, in another shard and so with the same serial.
  if (!clock.still(asked.due)) {
    return round.close(asked);
  }
  // Silent for the whole TTL before the question was asked, not merely before it was answered: the
  // majority must have been silent at one common moment. Two ticks more, because both nodes round
  // down: the travel may have taken a tick longer than it seems here, and the silence there may
  // have been a tick shorter.
  const std::uint64_t travelled_ms = (now - round.asked + 2) * options_.tick_ms;
  const std::uint64_t needed_ms = clock.ttl_ms(asked.due.row) + travelled_ms;
  if (silent_ms < needed_ms) {
    // In so many ticks the answer may be different.
    const Tick again = now + ((needed_ms - silent_ms) / options_.tick_ms + 1);
    if (again < repeat_at(round.asked) && stands(round, asked, now)) {
      clock.put_off(asked.due, again);
      next_scan_ = min_id(next_scan_, again);
    }
    return;
  }
  asked.silent_mask |= from;
  if (majority(asked.silent_mask, asked.due, now) && leading(asked.due.shard) &&
      stands(round, asked, now)) {
    round.close(asked);
    propose(asked.due, now);
  }
}

void SessionExpiry::settle(std::uint64_t number, Tick due) {
  for (const sessions::ExpiryProposal& each : log_.take(number)) {
    locks_.clock().on_expiry_refused(each, due);
  }
}

// What a list did not reach is still marked as proposed, and due again.
void SessionExpiry::on_decided(std::uint64_t number, Tick now) {
  settle(number, now);
  if (cost(now) <= kExpiryCostMax - kExpiryCostMax / 4) {
    next_scan_ = min_id(next_scan_, now);
  }
}

void SessionExpiry::on_refused(std::uint64_t number, Tick again) {
  settle(number, again);
  next_scan_ = min_id(next_scan_, again);
}

// In a quarter of an election time, as long as the shortest gap, a loop that goes on reads all that
// has come meanwhile.
void SessionExpiry::on_loop_gap(Tick now) {
  clear_after_ = now + options_.election_ticks / 4;
}

}  // namespace gcoord::server
