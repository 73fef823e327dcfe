#include "server/evidence/vote_watch.h"

#include "ledger/notes/checkpoint_note.h"
#include "protocol/error_codes.h"
#include "server/platform/operator_log.h"

#include <algorithm>
#include <array>
#include <utility>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;

// Statements that are shown: an election of 65,536 shards is 64 of them.
constexpr TokenBucket::Rate kShown{.per_second = 32, .burst = 128};
// Contradictions of one sender that are judged; each costs two checks of a signature, 0.2 ms.
constexpr TokenBucket::Rate kJudged{.per_second = 4, .burst = 16};

std::uint32_t number_of(ErrorCode code) {
  return static_cast<std::uint32_t>(code);
}

}  // namespace

VoteWatch::VoteWatch(Options options, MetricsRegistry& metrics)
    : options_(std::move(options)),
      metrics_(metrics),
      table_({.shard_count = options_.shard_count}),
      store_(options_.data_directory),
      shown_(kShown.burst, 0) {}

void VoteWatch::start(Environment environment) {
  environment_ = std::move(environment);
  std::vector<std::string> damaged;
  if (const Status loaded = store_.load(damaged); !loaded.ok()) {
    log_warning(LogComponent::Consensus,
                "GC{}: the evidence of double votes cannot be read: {}",
                loaded.detail(),
                loaded.message());
  }
  for (const std::string& name : damaged) {
    log_warning(LogComponent::Consensus,
                "GC{}: {}/{} is damaged or no evidence",
                number_of(ErrorCode::EvidenceMalformed),
                EvidenceStore::kFolder,
                name);
  }
  metrics_.files.set(static_cast<std::int64_t>(store_.list().size()));
}

void VoteWatch::on_granted(NodeId candidate, std::span<const VoteGrant> grants) {
  if (!started() || environment_.signer == nullptr || !environment_.takes_statements(candidate)) {
    return;
  }
  while (!grants.empty()) {
    const std::size_t count = std::min(grants.size(), kStatementGrantsMax);
    const VoteStatement statement{.cluster = options_.cluster,
                                  .voter = options_.node,
                                  .life = environment_.life,
                                  .candidate = candidate,
                                  .grants = {grants.begin(), grants.begin() + count}};
    metrics_.signatures.add();
    const auto message = encode_vote_message(VoteMessageKind::Granted,
                                             sign_statement(statement, *environment_.signer));
    if (!environment_.send(candidate, message)) {
      metrics_.dropped(EvidenceDrop::Unsent).add();
    }
    grants = grants.subspan(count);
  }
}

void VoteWatch::on_candidate(const VoteGrant& of, NodeId candidate) {
  if (started()) {
    meet(of, candidate);
  }
}

void VoteWatch::on_leader(const VoteGrant& of, NodeId leader) {
  if (table_.holds(of)) {
    meet(of, leader);
  }
}

void VoteWatch::on_peer_up(NodeId peer, Incarnation life) {
  lives_[peer] = life;
}

bool VoteWatch::on_peer_message(NodeId from, std::span<const std::byte> message) {
  if (!is_vote_message(message)) {
    return false;
  }
  if (!started()) {
    return true;
  }
  const auto decoded = decode_vote_message(message);
  if (!decoded) {
    metrics_.dropped(EvidenceDrop::Malformed).add();
  } else if (!is_sound(from, *decoded)) {
    metrics_.dropped(EvidenceDrop::Foreign).add();
  } else if (decoded->kind == VoteMessageKind::Granted) {
    take_granted(*decoded);
  } else {
    take_shown(from, *decoded);
  }
  metrics_.dropped(EvidenceDrop::Crowded).add(table_.take_dropped());
  metrics_.statement_bytes.set(static_cast<std::int64_t>(table_.bytes()));
  return true;
}

// Whether the sender may say so: a voter of its present life to its candidate, or a candidate of
// somebody else's votes for it.
bool VoteWatch::is_sound(NodeId from, const VoteMessage& message) const {
  const VoteStatement& statement = message.statement;
  const bool shards = std::ranges::all_of(statement.grants, [this](const VoteGrant& grant) {
    return grant.shard.value < options_.shard_count;
  });
  if (!shards || statement.cluster != options_.cluster || statement.voter == options_.node) {
    return false;
  }
  if (message.kind == VoteMessageKind::Shown) {
    return statement.candidate == from && statement.voter != from;
  }
  const auto life = lives_.find(from);
  return statement.voter == from && statement.candidate == options_.node && life != lives_.end() &&
         life->second == statement.life;
}

void VoteWatch::take_granted(const VoteMessage& message) {
  const VoteTable::Added added = table_.add(message.statement, message.bytes);
  for (const NodeId rival : added.rivals) {
    show(added.number, rival);
  }
}

// The sender is a rival in all of these terms, and one of them at least may be news for it, too.
void VoteWatch::take_shown(NodeId from, const VoteMessage& message) {
  for (const VoteGrant& of : message.statement.grants) {
    meet(of, from);
  }
  const auto of = find_double(message.statement);
  if (of && !may_judge(from)) {
    metrics_.dropped(EvidenceDrop::Flood).add();
  } else if (of) {
    judge(message, *of);
  }
}

// The first vote that contradicts one that this node has, and of which there is no evidence yet.
std::optional<VoteGrant> VoteWatch::find_double(const VoteStatement& theirs) const {
  for (const VoteGrant& of : theirs.grants) {
    const DoubleVote shown{.cluster = theirs.cluster,
                           .voter = theirs.voter,
                           .life = theirs.life,
                           .of = of,
                           .candidates = {}};
    if (table_.find(of, theirs.voter) != 0 && !store_.has(shown)) {
      return of;
    }
  }
  return std::nullopt;
}

void VoteWatch::meet(const VoteGrant& of, NodeId rival) {
  for (const VoteTable::Number number : table_.meet(of, rival)) {
    show(number, rival);
  }
}

// What may not be sent now is shown when the rival is met again.
void VoteWatch::show(VoteTable::Number number, NodeId rival) {
  if (table_.voter_of(number) == rival || table_.was_shown(number, rival) ||
      !environment_.takes_statements(rival)) {
    return;
  }
  if (!shown_.take(kShown, environment_.now_ms() * 1000)) {
    metrics_.dropped(EvidenceDrop::Flood).add();
    return;
  }
  const auto message = encode_vote_message(VoteMessageKind::Shown, table_.bytes_of(number));
  if (!environment_.send(rival, message)) {
    metrics_.dropped(EvidenceDrop::Unsent).add();
    return;
  }
  table_.set_shown(number, rival);
  metrics_.shown.add();
}

// One file for two statements, however many votes of them contradict each other.
void VoteWatch::judge(const VoteMessage& theirs, const VoteGrant& of) {
  const NodeId voter = theirs.statement.voter;
  if (!store_.has_room(voter)) {
    metrics_.dropped(EvidenceDrop::Full).add();
    return;
  }
  const auto bytes = environment_.key_of(voter);
  const auto key = bytes ? ledger::NoteKey::make(
                               ledger::node_key_name(options_.cluster.value, voter.value), *bytes)
                         : Result<ledger::NoteKey>{Status{StatusCode::NotFound, "no key"}};
  if (!key.ok()) {
    metrics_.dropped(EvidenceDrop::KeyUnknown).add();
    return;
  }
  const auto own = table_.bytes_of(table_.find(of, voter));
  const auto evidence = judge_votes({own, theirs.bytes}, of, key.value());
  if (evidence.ok()) {
    store(evidence.value());
  } else {
    metrics_.dropped(EvidenceDrop::Unproven).add();
  }
}

void VoteWatch::store(const VoteEvidence& evidence) {
  const DoubleVote& shown = evidence.shown;
  const Status written = store_.add(evidence);
  metrics_.double_votes.add();
  metrics_.files.set(static_cast<std::int64_t>(store_.list().size()));
  log_error(LogComponent::Consensus,
            "GC{}: node {} has voted twice in term {} of shard {}, for nodes {} and {}, and has "
            "signed both: {}/{}",
            number_of(ErrorCode::VotedTwice),
            shown.voter.value,
            shown.of.term.value,
            shown.of.shard.value,
            shown.candidates[0].value,
            shown.candidates[1].value,
            EvidenceStore::kFolder,
            name_of(shown));
  if (!written.ok()) {
    log_error(LogComponent::Consensus,
              "GC{}: that evidence could not be written: {}",
              number_of(ErrorCode::EvidenceUnwritten),
              written.message());
  }
}

bool VoteWatch::may_judge(NodeId from) {
  TokenBucket& bucket = judged_.try_emplace(from, kJudged.burst, 0).first->second;
  return bucket.take(kJudged, environment_.now_ms() * 1000);
}

}  // namespace gcoord::server
