#include "ledger/publication/publication.h"

#include "common/assert.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace gcoord::server {
namespace {

template <typename... Takers>
struct Overloaded : Takers... {
  using Takers::operator()...;
};

template <typename... Takers>
Overloaded(Takers...) -> Overloaded<Takers...>;

// As late as a head may be in a round without anybody minding: rounds are some hundred
// milliseconds apart.
constexpr std::uint64_t kSizesWaitMs = 2;

}  // namespace

Publication::Publication(PublicationOptions options,
                         PublicationPort& port,
                         MetricsRegistry& metrics)
    : base_(std::move(options), port, metrics),
      quarantine_(base_),
      review_(
          [this](ShardId shard) { return quarantine_.tree(shard); },
          [this](std::span<const ledger::ShardHead> named) { return quarantine_.heads_at(named); }),
      audit_(base_, quarantine_),
      signing_(base_),
      copy_(base_, audit_, signing_),
      signed_leaves_(ClusterLogCopy::kScannedMax),
      keeping_(base_, audit_),
      keys_(base_),
      publisher_(base_, quarantine_) {}

Status Publication::start() {
  GCOORD_TRY_STATUS(copy_.start());
  audit_.start();
  return Status{};
}

void Publication::touch(ShardId shard, std::uint64_t size, std::uint64_t now_ms) {
  const bool news = base_.heads.touch(shard, size);
  base_.news_ms = news && base_.news_ms == 0 ? now_ms : base_.news_ms;
  if (base_.publisher && !publisher_.busy()) {
    due_ms_ = std::min(due_ms_, publisher_.next_round_ms());
  }
}

void Publication::on_round(const RoundEntry& round) {
  const std::uint64_t size = base_.log().size();
  if (base_.failed || size < round.old_size || size >= round.size()) {
    return;  // Has it already, or a gap before it, which is fetched.
  }
  const auto known = static_cast<std::size_t>(size - round.old_size);
  const bool agreed = publisher_.holds(round) || review_.agreed(round.old_size, round.heads);
  if (copy_.append(std::span(round.heads).subspan(known)) && agreed) {
    base_.counters.heads_compared.add(round.heads.size() - known);
    audit_.note_agreed(size, round.size());
  }
}

void Publication::on_state(const PublicationState& state) {
  if (state.keys() != base_.state.keys()) {
    signing_.on_keys();
  }
  base_.state = state;
  review_.forget_below(base_.state.size());
  due_ms_ = 0;
}

void Publication::on_members(PublicationMembers members) {
  base_.members = std::move(members);
  quarantine_.set_peers(base_.members.nodes);
  due_ms_ = 0;
}

void Publication::on_role(bool publisher) {
  base_.publisher = publisher;
  due_ms_ = 0;
  if (!publisher) {
    publisher_.step_down();
  }
}

void Publication::on_message(NodeId from, std::span<const std::byte> bytes, std::uint64_t now_ms) {
  base_.now_ms = std::max(base_.now_ms, now_ms);
  auto message = decode_publication_message(bytes);
  const bool member = from != base_.options.self && base_.has_node(from);
  if (!message || !member || !take(from, *message)) {
    base_.counters.dropped.add();
    return;
  }
  due_ms_ = 0;
}

// Nothing of it is trusted but what is proved: leaves by the ordered root, signatures by keys in
// the log.
bool Publication::take(NodeId from, PublicationMessage& message) {
  return std::visit(
      Overloaded{
          [&](PageMessage& each) { return review_.on_page(from, std::move(each), base_.now_ms); },
          [&](const VerdictMessage& each) { return publisher_.on(from, each); },
          [&](const SignatureMessage& each) { return signing_.on(from, each); },
          [&](const LeavesQuery& each) { return copy_.on(from, each); },
          [&](const LeavesMessage& each) { return copy_.on(each); },
          [&](const BeginMessage& each) { return copy_.on(each); },
          [&](const HashQuery& each) { return quarantine_.on(from, each); },
          [&](const HashMessage& each) { return quarantine_.on(each); },
          [&](const AlarmMessage& each) { return quarantine_.on(from, each); },
          [&](const KeyMessage& each) {
            keys_.on(from, each);
            return true;
          }},
      message);
}

void Publication::advance(std::uint64_t now_ms) {
  GCOORD_ASSERT(now_ms > 0 && now_ms >= base_.now_ms);
  base_.now_ms = now_ms;
  if (base_.failed || quarantine_.done()) {
    due_ms_ = now_ms + kPublicationRepeatMs;
    return;
  }
  answer_pages();
  copy_.advance();
  if (base_.publisher) {
    base_.times.ordered(base_.state.size(), base_.port.now_ms());
  }
  const bool compares = audit_.advance(copy_.trusted());
  const std::uint64_t ordered = base_.state.size();
  signing_.sign(base_.up_to_date() && copy_.trusted() == ordered && audit_.compared() == ordered &&
                quarantine_.clean());
  signing_.publish(copy_.trusted());
  const bool follows = follow_signed();
  quarantine_.advance(audit_.compared() >= copy_.trusted());
  keeping_.advance(signing_.published().size);
  if (base_.publisher) {
    keys_.propose();
    publisher_.advance(audit_.compared());
  }
  repeat();
  base_.counters.first.set(static_cast<std::int64_t>(base_.log().first()));
  base_.counters.waiting.set(static_cast<std::int64_t>(base_.heads.changed_count()));
  if (base_.heads.changed_count() == 0 && !publisher_.busy()) {
    base_.news_ms = 0;  // A round had it already.
  }
  due_ms_ = now_ms + next_wait_ms(compares || follows);
}

// Whether there is more to follow.
bool Publication::follow_signed() {
  const auto more = signed_leaves_.advance(base_.log(), signing_.published().size, base_.heads);
  if (!more.ok()) {
    base_.fail(more.status());
  }
  return more.ok() && more.value();
}

// more: there is work that need not be waited for.
std::uint64_t Publication::next_wait_ms(bool more) const {
  const bool news = base_.publisher && base_.heads.changed_count() != 0;
  const bool signs = !quarantine_.doubts_any() && signing_.lags();
  const bool waits = review_.waiting() || publisher_.busy() || news || signs ||
                     audit_.compared() < base_.state.size() || quarantine_.searching() ||
                     !base_.up_to_date();
  return more ? 1 : waits ? kStepMs : kPublicationRepeatMs;
}

// Who does not publish begins no rounds: sizes only say what would be in one, and what is waiting.
std::uint64_t Publication::sizes_wait_ms(std::uint64_t due_in_ms) const {
  return base_.publisher ? kSizesWaitMs : std::clamp(due_in_ms, kSizesWaitMs, kStepMs);
}

void Publication::answer_pages() {
  for (const HeadReview::Answer& answer : review_.advance(base_.now_ms)) {
    base_.send(answer.to, answer.verdict);
  }
}

void Publication::repeat() {
  if (base_.now_ms < repeat_ms_) {
    return;
  }
  repeat_ms_ = base_.now_ms + kPublicationRepeatMs;
  keys_.announce();
  signing_.repeat();
}

PublicationView Publication::view() const {
  const LastPublished& published = signing_.published();
  return {.round = base_.state.round(),
          .ordered_size = base_.state.size(),
          .size = base_.log().size(),
          .signed_size = signing_.signed_size(),
          .published_size = published.size,
          .published_root = published.root,
          .signers = published.signers,
          .published_ms = published.since_ms,
          .first = base_.log().first(),
          .publisher = base_.publisher,
          .slowest = base_.times.slowest(),
          .refusal = signing_.refusal()};
}

}  // namespace gcoord::server
