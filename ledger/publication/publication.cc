#include "ledger/publication/publication.h"

#include "common/assert.h"
#include "ledger/base/error_details.h"
#include "ledger/merkle/tree_proof.h"

#include <algorithm>
#include <string>
#include <utility>

namespace gcoord::server {
namespace {

constexpr std::size_t kLeavesAtOnce = 256;  // As a TreeReader gives them.
// Heads compared in one call: tens of milliseconds of reading on a busy node, in which no page of
// the others is answered. A node that answers late is never among those that agree, has to compare
// all that it was not asked about in time, and answers later still.
constexpr std::size_t kComparedAtOnce = kLeavesAtOnce;
constexpr std::uint64_t kFetchAgainMs = 100;
// Runs of leaves that are agreed on, with others between them.
constexpr std::size_t kAgreedMax = 4096;
// A leader that has too much to decide is left alone for so long.
constexpr std::uint64_t kProposeLaterMs = 50;
// Syncs of a signature are worth it so often; what is ordered in between is under the next one.
constexpr std::uint64_t kSignAgainMs = 50;
// Other nodes that did not say where histories differ may be there by then.
constexpr std::uint64_t kHuntAgainMs = 10'000;

MetricName plain(std::string_view name, std::string_view help) {
  return {.name = "gcoord_server_publication_" + std::string(name), .help = std::string(help)};
}

}  // namespace

Publication::Counters::Counters(MetricsRegistry& registry)
    : dropped(registry.counter(
          plain("messages_dropped_total", "Invalid messages of peers about the cluster log"))),
      rounds(registry.counter(plain("rounds_total", "Rounds of the cluster log proposed here"))),
      rounds_split(registry.counter(
          plain("rounds_split_total", "Rounds started again without heads that no majority had"))),
      heads_compared(registry.counter(
          plain("heads_compared_total", "Ordered heads compared with this node's own trees"))),
      heads_unknown(registry.counter(
          plain("heads_unknown_total", "Ordered heads that this node's history does not reach"))),
      heads_different(registry.counter(
          plain("heads_different_total", "Ordered heads that this node's history contradicts"))),
      heads_let_go(registry.counter(
          plain("heads_let_go_total", "Ordered heads dropped before this node compared them"))),
      leaves_fetched(registry.counter(
          plain("leaves_fetched_total", "Leaves of the cluster log taken from peers"))),
      leaves_refused(registry.counter(
          plain("leaves_refused_total", "Leaves of peers that do not lead to the ordered log"))),
      signatures(registry.counter(plain("signatures_total", "Cluster logs that this node signed"))),
      signatures_refused(registry.counter(
          plain("signatures_refused_total", "Signatures of peers that are not genuine"))),
      size(registry.gauge(plain("size", "Leaves of the cluster log on this node"))),
      published(registry.gauge(
          plain("published_size", "Leaves of the cluster log that a majority has signed"))),
      signing(registry.gauge(plain("signing", "1 while this node signs, 0 while it refuses"))),
      waiting(registry.gauge(
          plain("waiting_shards", "Shards with entries that no head in the cluster log has"))),
      first(registry.gauge(
          plain("first", "Index of the first leaf of the cluster log that this node keeps"))),
      proposals_lost(registry.counter(
          plain("proposals_lost_total", "Times that the log of shard 0 took no entry of a round"))),
      proposals_repeated(registry.counter(
          plain("proposals_repeated_total", "Entries proposed again because no answer came"))) {
  signing.set(1);
}

Publication::Publication(PublicationOptions options,
                         PublicationPort& port,
                         MetricsRegistry& metrics)
    : options_(std::move(options)),
      port_(port),
      counters_(metrics),
      heads_(options_.shard_count),
      stale_(options_.stale_window != 0 ? options_.stale_window
                                        : StaleHeads::window_for(options_.shard_count)),
      review_(
          [this](ShardId shard) {
            return shard.value < options_.shard_count && !hunt_.holds(shard) ? port_.tree(shard)
                                                                             : nullptr;
          },
          [this](std::span<const ShardId> shards) { return known_heads(shards); }),
      hunt_(options_.self, options_.nodes, [this](ShardId shard) { return port_.tree(shard); }),
      batch_(std::uint64_t{options_.incarnation.value} << 32u),
      times_(metrics) {
  GCOORD_ASSERT(std::ranges::is_sorted(options_.nodes));
  GCOORD_ASSERT(std::ranges::binary_search(options_.nodes, options_.self));
  GCOORD_ASSERT(options_.round_heads_max > 0 && options_.round_heads_max <= kHeadsPerRoundMax);
}

Status Publication::start() {
  const ledger::TreeReader& log = port_.cluster_log();
  const std::uint64_t oldest = log.size() > kScannedMax ? log.size() - kScannedMax : 0;
  for (std::uint64_t at = std::max(log.first(), oldest); at < log.size();) {
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(kLeavesAtOnce, log.size() - at));
    GCOORD_TRY(const auto entries, log.entries(at, count));
    for (const auto& entry : entries) {
      GCOORD_TRY(const ledger::ShardHead head, ledger::decode_head(entry));
      heads_.on_leaf(at++, head);
    }
  }
  const std::uint64_t known = std::min(options_.signed_size, log.size());
  compared_ = std::max(log.first(), known > kComparedAgain ? known - kComparedAgain : 0);
  counters_.size.set(static_cast<std::int64_t>(log.size()));
  return Status{};
}

void Publication::touch(ShardId shard, std::uint64_t size, std::uint64_t now_ms) {
  const bool news = heads_.touch(shard, size);
  news_ms_ = news && news_ms_ == 0 ? now_ms : news_ms_;
  if (publisher_ && !round_) {
    due_ms_ = std::min(due_ms_, next_round_ms_);
  }
}

void Publication::on_round(const RoundEntry& round) {
  const std::uint64_t size = port_.cluster_log().size();
  if (failed_ || size < round.old_size || size >= round.size()) {
    return;  // Has it already, or a gap before it, which is fetched.
  }
  const auto known = static_cast<std::size_t>(size - round.old_size);
  const bool own = round_ && round_->holds(round.old_size, round.heads);
  const bool agreed = own || review_.agreed(round.old_size, round.heads);
  if (append(std::span(round.heads).subspan(known)) && agreed) {
    counters_.heads_compared.add(round.heads.size() - known);
    note_agreed(size, round.size());
  }
}

void Publication::on_state(const PublicationState& state) {
  if (state.keys() != state_.keys()) {
    // Some may be by a key that counts no more; their owners say them again soon.
    signatures_.clear();
    signed_.reset();
  }
  state_ = state;
  review_.forget_below(state_.size());
  due_ms_ = 0;
}

void Publication::on_proposal_lost() {
  counters_.proposals_lost.add();
  entries_proposed_ = entries_ordered_;
  propose_ms_ = now_ms_ + kProposeLaterMs;
}

void Publication::on_role(bool publisher) {
  publisher_ = publisher;
  due_ms_ = 0;
  if (!publisher) {
    round_.reset();
    times_.clear();
  }
}

bool Publication::up_to_date() const {
  return port_.cluster_log().size() == state_.size();
}

void Publication::advance(std::uint64_t now_ms) {
  GCOORD_ASSERT(now_ms > 0 && now_ms >= now_ms_);
  now_ms_ = now_ms;
  if (failed_ || quarantined_) {
    due_ms_ = now_ms + kRepeatMs;
    return;
  }
  answer_pages();
  catch_up();
  if (publisher_) {
    times_.ordered(state_.size(), port_.now_ms());
  }
  const bool more = compare();
  vouch();
  publish();
  hunt();
  keep();
  if (publisher_) {
    lead();
  }
  repeat();
  counters_.first.set(static_cast<std::int64_t>(port_.cluster_log().first()));
  counters_.waiting.set(static_cast<std::int64_t>(heads_.changed_count()));
  if (heads_.changed_count() == 0 && !round_) {
    news_ms_ = 0;  // A round had it already.
  }
  const bool news = publisher_ && heads_.changed_count() != 0;
  const std::uint64_t done = std::max(refused_, signed_ ? signed_->size : 0);
  const bool signs = doubted_.empty() && done < state_.size();
  const bool waits = review_.waiting() || round_ || news || signs || compared_ < state_.size() ||
                     hunt_.busy() || !up_to_date();
  due_ms_ = now_ms + (more ? 1 : waits ? kStepMs : kRepeatMs);
}

void Publication::answer_pages() {
  for (const HeadReview::Answer& answer : review_.advance(now_ms_)) {
    send(answer.to, answer.verdict);
  }
}

void Publication::catch_up() {
  if (port_.cluster_log().size() < state_.size()) {
    fetch();
  } else {
    fetch_ms_ = 0;
  }
  trust();
}

// What is kept here is held against the order before anything else is held against it: a cluster
// log that rotted must not accuse a shard.
void Publication::trust() {
  if (state_.size() <= trusted_ || port_.cluster_log().size() < state_.size()) {
    return;
  }
  const auto root = ledger::root_at(port_.cluster_log(), state_.size());
  if (!root.ok()) {
    return fail(root.status());
  }
  if (root.value() != state_.root()) {
    return fail(Status{StatusCode::DataLoss,
                       "this node's copy of the cluster log differs from the ordered one" +
                           std::string(ledger::kRotAdvice),
                       ledger::kClusterLogRot});
  }
  trusted_ = state_.size();
}

void Publication::fetch() {
  if (options_.nodes.size() < 2 || (fetch_ms_ != 0 && now_ms_ < fetch_ms_ + kFetchAgainMs)) {
    return;
  }
  fetch_ms_ = now_ms_;
  peer_ = (peer_ + 1) % options_.nodes.size();
  if (options_.nodes[peer_] == options_.self) {
    peer_ = (peer_ + 1) % options_.nodes.size();
  }
  send(options_.nodes[peer_], LeavesQuery{port_.cluster_log().size(), state_.size()});
}

bool Publication::append(std::span<const ledger::ShardHead> leaves) {
  std::uint64_t index = port_.cluster_log().size();
  if (const Status status = port_.append_leaves(leaves); !status.ok()) {
    fail(status);
    return false;
  }
  for (const ledger::ShardHead& head : leaves) {
    heads_.on_leaf(index++, head);
  }
  GCOORD_ASSERT(port_.cluster_log().size() == index);
  counters_.size.set(static_cast<std::int64_t>(index));
  if (!publisher_) {
    news_ms_ = heads_.changed_count() == 0 ? 0 : now_ms_;
  }
  fetch_ms_ = 0;
  horizons_heard_ = 0;
  return true;
}

// Leaves that this node's own trees had before they were ordered. They count as compared even while
// something before them is not: to read the trees of a busy cluster's leaves takes longer than to
// order the next ones, and a node that is behind once would stay behind.
void Publication::note_agreed(std::uint64_t begin, std::uint64_t end) {
  const auto last = agreed_.empty() ? agreed_.end() : std::prev(agreed_.end());
  if (last != agreed_.end() && last->second == begin) {
    last->second = end;
  } else if (agreed_.size() < kAgreedMax) {
    agreed_.emplace(begin, end);
  }
  skip_agreed();
}

// Goes over what is agreed from here on; where the next of it begins.
std::uint64_t Publication::skip_agreed() {
  while (!agreed_.empty() && agreed_.begin()->first <= compared_) {
    compared_ = std::max(compared_, agreed_.begin()->second);
    agreed_.erase(agreed_.begin());
  }
  return agreed_.empty() ? ~std::uint64_t{0} : agreed_.begin()->first;
}

// Holds the ordered leaves against this node's own trees, in their order: what is behind is waited
// for. True: there is more that need not be waited for.
bool Publication::compare() {
  const ledger::TreeReader& log = port_.cluster_log();
  const std::uint64_t end = trusted_;
  std::size_t done = 0;
  while (compared_ < end && done < kComparedAtOnce && !failed_) {
    const std::uint64_t stop = std::min(end, skip_agreed());
    if (compared_ >= stop) {
      break;
    }
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(kLeavesAtOnce, stop - compared_));
    const auto entries = log.entries(compared_, count);
    if (!entries.ok()) {
      fail(entries.status());
      return false;
    }
    for (const auto& entry : entries.value()) {
      const auto head = ledger::decode_head(entry);
      if (!head.ok()) {
        fail(head.status());
        return false;
      }
      if (!compare_leaf(head.value())) {
        return false;
      }
      ++compared_;
      ++done;
    }
  }
  return done >= kComparedAtOnce;
}

// False: this node's tree is not that large yet.
bool Publication::compare_leaf(const ledger::ShardHead& head) {
  if (hunt_.holds(head.shard)) {
    return true;
  }
  const bool known = head.shard.value < options_.shard_count;
  const auto tree = known ? port_.tree(head.shard) : nullptr;
  const HeadComparison seen = compare_head(tree.get(), head);
  switch (seen.verdict) {
    case HeadVerdict::Behind:
      return false;
    case HeadVerdict::Equal:
      counters_.heads_compared.add();
      break;
    case HeadVerdict::Unknown:
      counters_.heads_unknown.add();
      if (seen.damaged) {
        doubt({.node = options_.self, .shard = head.shard, .size = head.size});
      }
      break;
    case HeadVerdict::Differs:
      counters_.heads_different.add();
      hunt_.begin(head);
      break;
  }
  return true;
}

// Of shards that others name: what this node does not have, or has no tree of for now, is no head.
Result<std::vector<ledger::ShardHead>> Publication::known_heads(std::span<const ShardId> shards) {
  std::vector<ShardId> own;
  for (const ShardId shard : shards) {
    if (shard.value < options_.shard_count && !hunt_.holds(shard)) {
      own.push_back(shard);
    }
  }
  GCOORD_TRY(const std::vector<ledger::ShardHead> known, port_.heads(own));
  std::vector<ledger::ShardHead> heads;
  for (auto next = known.begin(); const ShardId shard : shards) {
    const bool found = next != known.end() && next->shard == shard;
    heads.push_back(found ? *next++ : ledger::ShardHead{.shard = shard, .size = 0, .root = {}});
  }
  return heads;
}

// Signs what is ordered, here, and compared; of a run of rounds the last one, or some.
void Publication::vouch() {
  const std::uint64_t size = state_.size();
  const bool compared = up_to_date() && trusted_ == size && compared_ == size;
  // A signature counts once the log has the key.
  const auto key = state_.keys().find(options_.self);
  const bool keyed = key != state_.keys().end() && key->second == options_.key;
  const bool whole = size != 0 && keyed && compared && hunt_.empty() && doubted_.empty();
  const bool done = (signed_ && signed_->size >= size) || refused_ == size;
  if (!whole || done || failed_ || now_ms_ < sign_ms_) {
    return;
  }
  sign_ms_ = now_ms_ + kSignAgainMs;
  const auto signature = port_.sign(size, state_.root());
  if (!signature.ok()) {
    refused_ = size;
    return refuse(signature.status());
  }
  refuse(Status{});
  counters_.signatures.add();
  signed_ = SignatureMessage{size, state_.root(), signature.value()};
  times_.signed_here(size, port_.now_ms());
  signatures_.add(options_.self, *signed_);
  send_all(*signed_);
}

// Ok: signs again.
void Publication::refuse(const Status& why) {
  const bool belongs = why.ok() || why.detail() == ledger::kSignerBehind ||
                       why.detail() == ledger::kSignerContradiction ||
                       why.detail() == ledger::kSignerHorizon;
  if (!belongs) {
    return fail(why);
  }
  if (why.detail() != refusal_.detail()) {
    refusal_ = why;
    counters_.signing.set(why.ok() ? 1 : 0);
    port_.on_refusal(why);
  }
}

void Publication::publish() {
  const ledger::TreeReader& log = port_.cluster_log();
  const auto root_of = [&](std::uint64_t size) -> std::optional<ledger::MerkleHash> {
    if (size <= published_ || size > trusted_) {
      return std::nullopt;
    }
    const auto root = ledger::root_at(log, size);
    return root.ok() ? std::optional(root.value()) : std::nullopt;
  };
  const std::optional<PublishedLog> published =
      signatures_.newest(options_.nodes.size() / 2 + 1, root_of);
  if (!published) {
    return;
  }
  published_ = published->size;
  published_ms_ = now_ms_;
  published_root_ = published->root;
  signers_.clear();
  for (const auto& [node, signature] : published->signatures) {
    signers_.push_back(node);
  }
  times_.published(published_, port_.now_ms());
  signatures_.forget_below(published_);
  counters_.published.set(static_cast<std::int64_t>(published_));
  port_.on_published(*published);
}

void Publication::hunt() {
  if (hunt_.empty()) {
    return;
  }
  if (const auto question = hunt_.advance(now_ms_)) {
    send(question->to, question->query);
  }
  // All that the ordered log shows is found before anything is repaired.
  if (hunt_.busy() || compared_ < trusted_) {
    return;
  }
  // A repair erases the shard here, log and checkpoint: not for what may be rot of the history
  // alone, and never where no other node has the shard.
  std::vector<HistoryAlarm> alarms = hunt_.alarms();
  std::erase_if(alarms, [this](const HistoryAlarm& alarm) {
    const bool confirmed = hunt_.confirmed(alarm.shard);
    if (!confirmed) {
      doubt(alarm);
    }
    return !confirmed;
  });
  if (alarms.empty()) {
    if (hunt_ms_ == 0) {
      hunt_ms_ = now_ms_;
    } else if (now_ms_ >= hunt_ms_ + kHuntAgainMs) {
      hunt_ms_ = 0;
      hunt_.retry();
    }
    return;
  }
  quarantined_ = true;
  for (const HistoryAlarm& alarm : alarms) {
    send_all(AlarmMessage{alarm.shard, alarm.index});
    port_.on_alarm(alarm);
  }
  counters_.signing.set(0);
  port_.quarantine(alarms);
}

// Said once; nothing is signed until this node starts with a history that is right.
void Publication::doubt(HistoryAlarm alarm) {
  if (doubted_.insert(alarm.shard).second) {
    alarm.unconfirmed = true;
    counters_.signing.set(0);
    port_.on_alarm(alarm);
  }
}

void Publication::repeat() {
  if (now_ms_ < repeat_ms_) {
    return;
  }
  repeat_ms_ = now_ms_ + kRepeatMs;
  const auto known = state_.keys().find(options_.self);
  if (known == state_.keys().end() || known->second != options_.key) {
    announced_[options_.self] = options_.key;
    send_all(KeyMessage{options_.key});
  }
  if (signed_) {
    send_all(*signed_);
  }
}

void Publication::fail(const Status& why) {
  if (!failed_) {
    failed_ = true;
    counters_.signing.set(0);
    port_.on_failure(why);
  }
}

PublicationView Publication::view() const {
  return {.round = state_.round(),
          .ordered_size = state_.size(),
          .size = port_.cluster_log().size(),
          .signed_size = signed_ ? signed_->size : 0,
          .published_size = published_,
          .published_root = published_root_,
          .signers = signers_,
          .published_ms = published_ms_,
          .first = port_.cluster_log().first(),
          .publisher = publisher_,
          .slowest = times_.slowest(),
          .refusal = refusal_};
}

}  // namespace gcoord::server
