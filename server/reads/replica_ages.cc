#include "server/reads/replica_ages.h"

#include "common/assert.h"
#include "common/limits.h"
#include "protocol/read_messages.h"
#include "server/interfaces/replicated_log.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gcoord::server {
namespace {

constexpr std::uint8_t kQuestion = 1;
constexpr std::uint8_t kAnswer = 2;

// Answers that come later than this prove so little that they are not waited for.
constexpr std::uint64_t kRoundPatienceUs = 10'000'000;

struct MessageHeader {
  std::byte kind = kReplicaAgesKind;
  std::uint8_t what = 0;
  std::uint16_t reserved = 0;
  std::uint32_t count = 0;
  std::uint64_t round = 0;  // The asking node's number of the question; echoed.
};

static_assert(sizeof(MessageHeader) == 16);

struct Pair {  // 12 bytes as it travels, without padding.
  std::uint32_t shard = 0;
  std::uint32_t index_low = 0;
  std::uint32_t index_high = 0;
};

static_assert(sizeof(Pair) == 12);
static_assert(sizeof(MessageHeader) + kAskedShardsMax * sizeof(Pair) <= kPeerMessageBytesMax);

template <typename T>
std::vector<std::byte> encode(std::uint8_t what, std::uint64_t round, std::span<const T> body) {
  MessageHeader header;
  header.what = what;
  header.count = static_cast<std::uint32_t>(body.size());
  header.round = round;
  std::vector<std::byte> message(sizeof(header) + body.size_bytes());
  std::memcpy(message.data(), &header, sizeof(header));
  std::memcpy(message.data() + sizeof(header), body.data(), body.size_bytes());
  return message;
}

}  // namespace

ReplicaAges::ReplicaAges(std::uint32_t shard_count, MetricsRegistry& metrics, Environment doors)
    : shard_count_(shard_count), environment_(std::move(doors)) {
  asked_total_ = &metrics.counter(
      {"gcoord_server_age_questions_total",
       "Shards whose leaders this node has queried for the freshness of its replica.",
       "",
       ""});
  dropped_ = &metrics.counter({"gcoord_server_age_messages_bad_total",
                               "Invalid queries and answers about freshness.",
                               "",
                               ""});
}

std::optional<std::uint64_t> ReplicaAges::age_us(ShardId shard, std::uint64_t now_us) const {
  const ShardView view = engine_->view(shard);
  const bool leased = engine_->abilities().timed_leases && view.lease && environment_.leads(shard);
  if (leased && view.applied >= view.commit) {
    return 0;
  }
  const auto found = shards_.find(shard.value);
  const std::uint64_t proved_us = found == shards_.end() ? 0 : proof_us(shard, found->second);
  return proved_us == 0 ? std::nullopt : std::optional{now_us - proved_us};
}

// The time of the newest proof whose index is applied here; 0: there is none.
std::uint64_t ReplicaAges::proof_us(ShardId shard, const Shard& known) const {
  return environment_.applied(shard) >= known.index ? known.proved_us : known.whole_us;
}

std::uint32_t ReplicaAges::age_ms(ShardId shard, std::uint64_t now_us) const {
  const auto age = age_us(shard, now_us);
  if (!age.has_value()) {
    return protocol::kAgeUnknown;
  }
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>((*age + 999) / 1000, protocol::kAgeUnknown - 1));
}

void ReplicaAges::want(ShardId shard, std::uint64_t asked_since_us) {
  const auto found = shards_.find(shard.value);
  if (found == shards_.end() || found->second.asked_us < asked_since_us) {
    wanted_.insert(shard.value);
  }
}

void ReplicaAges::flush(std::uint64_t now_us) {
  while (!rounds_.empty() && rounds_.begin()->second.asked_us + kRoundPatienceUs < now_us) {
    rounds_.erase(rounds_.begin());
  }
  if (wanted_.empty()) {
    return;
  }
  std::map<std::uint32_t, std::vector<std::uint32_t>> by_leader;
  for (const std::uint32_t shard : std::exchange(wanted_, {})) {
    const bool led = environment_.leads(ShardId{shard});
    const NodeId leader = led ? NodeId{} : engine_->view(ShardId{shard}).leader;
    if (led || leader != NodeId{}) {
      shards_[shard].asked_us = now_us;
      by_leader[leader.value].push_back(shard);
    }
  }
  for (const auto& [leader, shards] : by_leader) {
    for (std::size_t at = 0; at < shards.size(); at += kAskedShardsMax) {
      const std::size_t count = std::min(kAskedShardsMax, shards.size() - at);
      send_question(NodeId{leader}, std::span(shards).subspan(at, count), now_us);
    }
  }
}

void ReplicaAges::send_question(NodeId to,
                                std::span<const std::uint32_t> shards,
                                std::uint64_t now_us) {
  asked_total_->add(shards.size());
  rounds_.emplace(++round_last_, Round{to, now_us});
  if (to == NodeId{}) {
    return confirm_all(to, round_last_, shards);
  }
  engine_->send_peer_message(to, encode(kQuestion, round_last_, shards));
}

void ReplicaAges::on_message(NodeId from, std::span<const std::byte> message) {
  MessageHeader header;
  if (message.size() < sizeof(header)) {
    return dropped_->add();
  }
  std::memcpy(&header, message.data(), sizeof(header));
  const auto body = message.subspan(sizeof(header));
  const std::size_t each = header.what == kQuestion ? sizeof(std::uint32_t) : sizeof(Pair);
  if (header.count > kAskedShardsMax || body.size() != header.count * each) {
    return dropped_->add();
  }
  if (header.what == kQuestion) {
    on_question(from, header.round, body);
  } else if (header.what == kAnswer) {
    on_answer(from, header.round, body);
  } else {
    dropped_->add();
  }
}

void ReplicaAges::on_question(NodeId from, std::uint64_t round, std::span<const std::byte> shards) {
  std::vector<std::uint32_t> numbers(shards.size() / sizeof(std::uint32_t));
  std::memcpy(numbers.data(), shards.data(), shards.size());
  std::ranges::sort(numbers);
  const auto repeated = std::ranges::unique(numbers);
  numbers.erase(repeated.begin(), repeated.end());
  if (numbers.empty() || numbers.back() >= shard_count_) {
    return dropped_->add();
  }
  std::erase_if(numbers, [&](std::uint32_t shard) { return !environment_.leads(ShardId{shard}); });
  if (numbers.empty()) {
    return;  // Who asks will find the new leader by itself.
  }
  confirm_all(from, round, numbers);
}

void ReplicaAges::confirm_all(NodeId from,
                              std::uint64_t round,
                              std::span<const std::uint32_t> shards) {
  if (asked_shards_ + shards.size() > kAskedOfUsMax) {
    return dropped_->add();
  }
  const std::uint64_t number = ++asked_last_;
  asked_of_us_.emplace(number, Asked{from, round, shards.size(), {}});
  asked_shards_ += shards.size();
  for (const std::uint32_t shard : shards) {
    environment_.confirm(ShardId{shard}, number);
  }
}

void ReplicaAges::on_confirmed(std::uint64_t number, ShardId shard, const Status& status) {
  const auto found = asked_of_us_.find(number);
  GCOORD_ASSERT(found != asked_of_us_.end());
  Asked& asked = found->second;
  GCOORD_ASSERT(asked.outstanding > 0);
  --asked.outstanding;
  --asked_shards_;
  if (status.ok()) {
    asked.confirmed.emplace_back(shard.value, environment_.applied(shard).value);
  }
  if (asked.outstanding == 0) {
    answer(asked);
    asked_of_us_.erase(found);
  }
}

void ReplicaAges::answer(const Asked& asked) {
  if (asked.confirmed.empty()) {
    return;
  }
  if (asked.from == NodeId{}) {
    return answer_here(asked);
  }
  std::vector<Pair> pairs;
  pairs.reserve(asked.confirmed.size());
  for (const auto& [shard, index] : asked.confirmed) {
    pairs.push_back(
        {shard, static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32)});
  }
  engine_->send_peer_message(asked.from,
                             encode(kAnswer, asked.round, std::span<const Pair>(pairs)));
}

// The round is over if it took longer than its patience.
void ReplicaAges::answer_here(const Asked& asked) {
  const auto found = rounds_.find(asked.round);
  if (found == rounds_.end()) {
    return;
  }
  const std::uint64_t asked_us = found->second.asked_us;
  rounds_.erase(found);
  for (const auto& [shard, index] : asked.confirmed) {
    take_answer(ShardId{shard}, LogIndex{index}, asked_us);
  }
}

void ReplicaAges::on_answer(NodeId from, std::uint64_t round, std::span<const std::byte> pairs) {
  const auto found = rounds_.find(round);
  if (found == rounds_.end() || found->second.to != from) {
    return dropped_->add();
  }
  const std::uint64_t asked_us = found->second.asked_us;
  rounds_.erase(found);
  for (std::size_t at = 0; at < pairs.size(); at += sizeof(Pair)) {
    Pair pair;
    std::memcpy(&pair, pairs.data() + at, sizeof(Pair));
    const LogIndex index{std::uint64_t{pair.index_high} << 32 | pair.index_low};
    take_answer(ShardId{pair.shard}, index, asked_us);
  }
}

// The newest question's answer proves the most, whatever order they come in.
void ReplicaAges::take_answer(ShardId shard, LogIndex index, std::uint64_t asked_us) {
  const auto found = shards_.find(shard.value);
  if (found == shards_.end()) {
    return dropped_->add();
  }
  Shard& known = found->second;
  if (asked_us > known.proved_us) {
    known.whole_us = proof_us(shard, known);
    known.proved_us = asked_us;
    known.index = index;
  }
  environment_.on_proof(shard, index, asked_us);
}

}  // namespace gcoord::server
