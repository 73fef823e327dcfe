#include "server/session_expiry.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace gcoord::server {

namespace {

constexpr std::uint8_t kAsk = 1;
constexpr std::uint8_t kAnswer = 2;
constexpr std::uint64_t kSilenceUnknown = ~std::uint64_t{0};

struct MessageHeader {
  std::uint8_t kind = 0;
  std::uint8_t reserved[3]{};
  std::uint32_t count = 0;
  std::uint64_t round = 0;  // The asking node's tick of the question; echoed.
};

static_assert(sizeof(MessageHeader) == 16);

}  // namespace

SessionExpiry::SessionExpiry(const SessionExpiryOptions& options,
                             locks::LockCpu& locks,
                             MetricsRegistry& metrics,
                             Leads leads,
                             Propose propose)
    : options_(options), locks_(locks), leads_(std::move(leads)), propose_(std::move(propose)) {
  GCOORD_ASSERT(!options_.nodes.empty());
  GCOORD_ASSERT(options_.nodes.size() <= 64);
  proposed_ = &metrics.counter(
      {"gcoord_server_session_expiries_total", "Expiries of sessions that were proposed.", "", ""});
  asked_ = &metrics.counter({"gcoord_server_session_questions_total",
                             "Sessions that other nodes were asked about before their expiry.",
                             "",
                             ""});
  dropped_ = &metrics.counter({"gcoord_server_peer_messages_bad_total",
                               "Service messages of peers that did not decode.",
                               "",
                               ""});
}

std::uint64_t SessionExpiry::bit_of(NodeId node) const {
  const auto found = std::find(options_.nodes.begin(), options_.nodes.end(), node);
  return found == options_.nodes.end() ? 0 : std::uint64_t{1} << (found - options_.nodes.begin());
}

Tick SessionExpiry::next_deadline() const {
  return locks_.clock().registration_count() == 0 ? kTickNever : next_scan_;
}

bool SessionExpiry::dying(const locks::ExpiryProposal& due) const {
  const auto& tables = locks_.tables();
  const locks::SessionRow row = locks::find_session(tables, due.shard, due.session);
  return row.value != 0 && tables.sessions[row].phase != locks::SessionPhase::Live;
}

void SessionExpiry::on_pass(Tick now) {
  if (now < next_deadline()) {
    return;
  }
  if (full(now)) {
    next_scan_ = now + 1;  // Or when something is decided.
    return;
  }
  const std::size_t proposed_before = under_way_;
  due_.resize(kExpiriesPerPassMax);
  due_.resize(locks_.clock().expired(now, due_));
  for (const locks::ExpiryProposal& due : due_) {
    const bool leading = leads_(due.shard) && engine_->view(due.shard).lease;
    const Tick ask_at = first_question(due, now);
    if (leading && options_.nodes.size() > 1 && now < ask_at && !dying(due)) {
      locks_.clock().on_expiry_refused(due, ask_at);
    } else if (leading && (dying(due) || agreed(due, now))) {
      questions_.erase(due.row.value);
      propose(due);
    } else {
      // Who was asked about is looked at again when the question is due again, or proposed when the
      // answers are there: what comes behind it need not wait for them.
      const Tick again = leading ? questions_.at(due.row.value).ask_again : now + 1;
      locks_.clock().on_expiry_refused(due, again);
    }
  }
  const bool more =
      due_.size() == kExpiriesPerPassMax && (!to_ask_.empty() || under_way_ > proposed_before);
  ask(now);
  // A registration made from now on cannot run out within the shortest TTL.
  const std::uint64_t ttl_ticks =
      std::max<std::uint64_t>(1, options_.ttl_ms_min / options_.tick_ms);
  const Tick latest = due_.empty() ? now + ttl_ticks : now + 1;
  const Tick next = max_id(now + 1, min_id(locks_.clock().next_deadline(), latest));
  next_scan_ = more ? now : next;
  if (locks_.clock().registration_count() == 0) {
    questions_.clear();
  }
}

// Questions count until they are answered, or so long that their answers are not worth waiting for.
bool SessionExpiry::full(Tick now) {
  constexpr std::uint64_t kAnswerTicks = 3;
  if (now - asked_at_ > kAnswerTicks) {
    unanswered_ = 0;
  }
  return under_way_ + unanswered_ >= kExpiriesUnderWayMax;
}

void SessionExpiry::propose(const locks::ExpiryProposal& due) {
  ++under_way_;
  proposed_->add();
  propose_(due);
}

void SessionExpiry::settle_one() {
  GCOORD_ASSERT(under_way_ > 0);
  --under_way_;
  if (under_way_ + unanswered_ <= kExpiriesUnderWayMax - kExpiriesPerPassMax) {
    next_scan_ = Tick{};
  }
}

// When the other nodes, who heard the last keep-alive when this one did, have been silent for as
// long as take_answers() wants: asked before that, all of them would have to be asked twice.
Tick SessionExpiry::first_question(const locks::ExpiryProposal& due, Tick now) const {
  constexpr std::uint64_t kTicksMore = 4;
  const std::uint64_t ttl_ms = locks_.tables().sessions[due.row].ttl_ms;
  const std::uint64_t needed = ttl_ms / options_.tick_ms + kTicksMore;
  const std::uint64_t silent = locks_.clock().silent_ticks(due.row, now);
  return silent >= needed ? now : now + (needed - silent);
}

// Whether the question was about this very registration and its answers still prove something: what
// others said of their silence long ago, or before this node heard the session again, does not.
bool SessionExpiry::stands(const Question& question,
                           const locks::ExpiryProposal& due,
                           Tick now) const {
  const bool same = question.session == due.session && question.shard == due.shard &&
                    question.serial == due.serial;
  const std::uint64_t age = now - question.asked;
  return same && age <= options_.election_ticks && age <= locks_.clock().silent_ticks(due.row, now);
}

bool SessionExpiry::majority(std::uint64_t silent_mask) const {
  return std::popcount(silent_mask) >= static_cast<int>(options_.nodes.size() / 2 + 1);
}

bool SessionExpiry::agreed(const locks::ExpiryProposal& due, Tick now) {
  const std::uint64_t self = bit_of(options_.node);
  const auto found = questions_.find(due.row.value);
  const bool standing = found != questions_.end() && stands(found->second, due, now);
  const std::uint64_t silent = standing ? found->second.silent_mask : self;
  if (majority(silent)) {
    return true;
  }
  if (!standing || found->second.ask_again <= now) {
    // Messages may be lost, so the question is repeated in any case.
    const Tick repeat = now + std::max<std::uint64_t>(2, options_.election_ticks / 4);
    questions_[due.row.value] = Question{due.session, due.shard, due.serial, now, repeat, self};
    to_ask_.push_back({due.session.value, due.shard.value, due.serial, 0});
  }
  return false;
}

void SessionExpiry::ask(Tick now) {
  if (to_ask_.empty()) {
    return;
  }
  asked_->add(to_ask_.size());
  unanswered_ += to_ask_.size();
  asked_at_ = now;
  const std::span<const Case> cases{to_ask_};
  for (std::size_t at = 0; at < cases.size(); at += kCasesPerMessageMax) {
    const std::size_t count = std::min(kCasesPerMessageMax, cases.size() - at);
    const std::vector<std::byte> message = encode(kAsk, now.value, cases.subspan(at, count));
    for (const NodeId node : options_.nodes) {
      if (node != options_.node) {
        engine_->send_peer_message(node, message);
      }
    }
  }
  to_ask_.clear();
}

std::vector<std::byte> SessionExpiry::encode(std::uint8_t kind,
                                             std::uint64_t round,
                                             std::span<const Case> cases) {
  static_assert(sizeof(MessageHeader) + kCasesPerMessageMax * sizeof(Case) <= kPeerMessageBytesMax);
  GCOORD_ASSERT(cases.size() <= kCasesPerMessageMax);
  MessageHeader header;
  header.kind = kind;
  header.count = static_cast<std::uint32_t>(cases.size());
  header.round = round;
  std::vector<std::byte> message(sizeof(header) + cases.size_bytes());
  std::memcpy(message.data(), &header, sizeof(header));
  std::memcpy(message.data() + sizeof(header), cases.data(), cases.size_bytes());
  return message;
}

void SessionExpiry::on_peer_message(NodeId from, std::span<const std::byte> message, Tick now) {
  MessageHeader header;
  if (message.size() < sizeof(header)) {
    dropped_->add();
    return;
  }
  std::memcpy(&header, message.data(), sizeof(header));
  const auto cases = message.subspan(sizeof(header));
  const bool sane = header.count <= kCasesPerMessageMax &&
                    cases.size() == header.count * sizeof(Case) && bit_of(from) != 0 &&
                    (header.kind == kAsk || header.kind == kAnswer);
  if (!sane) {
    dropped_->add();
  } else if (header.kind == kAsk) {
    answer(from, cases, header.round, now);
  } else {
    take_answers(from, cases, header.round, now);
  }
}

std::uint64_t SessionExpiry::silent_ms(const Case& question, Tick now) const {
  const ShardId shard{question.shard};
  if (now < clear_after_ || shard.value >= locks_.tables().shard_count) {
    return kSilenceUnknown;
  }
  const auto& tables = locks_.tables();
  const locks::SessionRow row = locks::find_session(tables, shard, SessionId{question.session});
  if (row.value == 0 || tables.sessions[row].serial != question.serial) {
    return kSilenceUnknown;
  }
  return locks_.clock().silent_ticks(row, now) * options_.tick_ms;
}

void SessionExpiry::answer(NodeId to,
                           std::span<const std::byte> message,
                           std::uint64_t round,
                           Tick now) {
  std::vector<Case> cases(message.size() / sizeof(Case));
  std::memcpy(cases.data(), message.data(), message.size());
  for (Case& each : cases) {
    each.silent_ms = silent_ms(each, now);
  }
  engine_->send_peer_message(to, encode(kAnswer, round, cases));
}

void SessionExpiry::take_answers(NodeId from,
                                 std::span<const std::byte> message,
                                 std::uint64_t round,
                                 Tick now) {
  const auto& tables = locks_.tables();
  for (std::size_t at = 0; at < message.size(); at += sizeof(Case)) {
    Case answered;
    std::memcpy(&answered, message.data() + at, sizeof(Case));
    const bool known = answered.silent_ms != kSilenceUnknown && answered.shard < tables.shard_count;
    const locks::SessionRow row =
        known ? locks::find_session(tables, ShardId{answered.shard}, SessionId{answered.session})
              : locks::SessionRow{};
    const auto found = questions_.find(row.value);
    const bool asked =
        row.value != 0 && found != questions_.end() && found->second.asked.value == round &&
        found->second.session.value == answered.session &&
        found->second.shard.value == answered.shard && found->second.serial == answered.serial;
    if (!asked) {
      continue;
    }
    // Silent for the whole TTL before the question was asked, not merely before it was answered:
    // the majority must have been silent at one common moment. Two ticks more, because both nodes
    // round down: the travel may have taken a tick longer than it seems here, and the silence there
    // may have been a tick shorter.
    Question& question = found->second;
    unanswered_ -= std::min<std::size_t>(unanswered_, 1);
    const std::uint64_t travelled_ms = (now - question.asked + 2) * options_.tick_ms;
    const std::uint64_t needed_ms = tables.sessions[row].ttl_ms + travelled_ms;
    if (answered.silent_ms >= needed_ms) {
      question.silent_mask |= bit_of(from);
      propose_if_agreed({row, question.shard, question.session, question.serial}, now);
    } else {
      const std::uint64_t lacking_ticks = (needed_ms - answered.silent_ms) / options_.tick_ms + 1;
      ask_sooner({row, question.shard, question.session, question.serial}, now, lacking_ticks);
    }
  }
}

// A node was silent for a little less than it takes: in so many ticks its answer may be different.
void SessionExpiry::ask_sooner(const locks::ExpiryProposal& asked,
                               Tick now,
                               std::uint64_t lacking_ticks) {
  Question& question = questions_.at(asked.row.value);
  const Tick again = now + lacking_ticks;
  if (again < question.ask_again && stands(question, asked, now) && locks_.clock().propose(asked)) {
    question.ask_again = again;
    locks_.clock().on_expiry_refused(asked, again);
    next_scan_ = min_id(next_scan_, again);
  }
}

void SessionExpiry::propose_if_agreed(const locks::ExpiryProposal& asked, Tick now) {
  const Question& question = questions_.at(asked.row.value);
  const bool leading = leads_(asked.shard) && engine_->view(asked.shard).lease;
  if (leading && majority(question.silent_mask) && stands(question, asked, now) &&
      locks_.clock().propose(asked)) {
    questions_.erase(asked.row.value);
    propose(asked);
  }
}

void SessionExpiry::on_refused(const locks::ExpiryProposal& proposal, Tick now) {
  settle_one();
  locks_.clock().on_expiry_refused(proposal, now);
  next_scan_ = min_id(next_scan_, now + 1);
}

void SessionExpiry::on_loop_gap(std::uint64_t ticks, Tick now) {
  locks_.clock().pause_guard(ticks);
  clear_after_ = now + options_.election_ticks;
}

}  // namespace gcoord::server
