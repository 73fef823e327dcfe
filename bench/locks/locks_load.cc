#include "bench/locks/locks_load.h"

#include "common/random.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <thread>

namespace gcoord::bench {

namespace {

using locks::LockCode;
using locks::LockCommand;

constexpr std::uint32_t kNameBytes = 16;

double zeta_of(std::uint32_t count) {
  double sum = 0;
  for (std::uint32_t rank = 1; rank <= count; ++rank) {
    sum += std::pow(rank, -ZipfRanks::kExponent);
  }
  return sum;
}

// A number in [0, 1).
double fraction(std::uint64_t word) {
  return static_cast<double>(word >> 11) * 0x1p-53;
}

}  // namespace

ZipfRanks::ZipfRanks(std::uint32_t count) : count_(count), zeta_(zeta_of(count)) {
  const double first_two = 1 + std::pow(0.5, kExponent);
  eta_ = (1 - std::pow(2 / count_, 1 - kExponent)) / (1 - first_two / zeta_);
}

std::uint32_t ZipfRanks::rank(std::uint64_t word) const {
  const double u = fraction(word);
  const double scaled = u * zeta_;
  if (scaled < 1) {
    return 0;
  }
  if (scaled < 1 + std::pow(0.5, kExponent)) {
    return 1;
  }
  const double rank = count_ * std::pow(eta_ * u - eta_ + 1, 1 / (1 - kExponent));
  return static_cast<std::uint32_t>(std::min(rank, count_ - 1));
}

LockLoad::LockLoad(const LockLoadOptions& options)
    : options_(options),
      ranks_(options.names),
      names_(options.names),
      shards_(options.shards),
      sequences_(std::size_t{options.shards} * options.sessions_per_shard) {
  hash_names();
}

std::string LockLoad::text_of(std::uint32_t name) const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const std::uint64_t word = random64(options_.seed, 1, name);
  std::string text(kNameBytes, '0');
  for (std::uint32_t i = 0; i < kNameBytes; ++i) {
    text[i] = kDigits[word >> (4 * i) & 15];
  }
  return text;
}

// SHA-256 of ten million names takes seconds on one core.
void LockLoad::hash_names() {
  const std::uint32_t thread_count = std::clamp(std::thread::hardware_concurrency(), 1u, 16u);
  std::vector<std::jthread> threads;
  for (std::uint32_t k = 0; k < thread_count; ++k) {
    threads.emplace_back([this, k, thread_count] {
      for (std::uint32_t name = k; name < options_.names; name += thread_count) {
        names_[name].hash = hash_name(text_of(name));
      }
    });
  }
}

double LockLoad::top_share() const {
  return options_.skew == LockSkew::Zipf ? ranks_.top_share() : 1.0 / options_.names;
}

std::uint32_t LockLoad::draw() {
  return options_.skew == LockSkew::Zipf ? ranks_.rank(random())
                                         : random_below(random(), options_.names);
}

std::uint32_t LockLoad::session_place(ShardId shard, std::uint32_t slot) const {
  return shard.value * options_.sessions_per_shard + slot;
}

SessionId LockLoad::session_id(std::uint32_t place) const {
  return SessionId{random64(options_.seed, 3, place) | 1};
}

void LockLoad::add(ShardId shard, const LockCommand& command, LockLoadBatch& batch) {
  LoadCommand entry{.command = command,
                    .index = LogIndex{++shards_[shard.value].log_index},
                    .shard = shard,
                    .name_offset = static_cast<std::uint32_t>(batch.payload.size())};
  batch.payload.append(command.name, command.name_bytes);
  entry.command.name = nullptr;
  batch.commands.push_back(entry);
}

LockLoadBatch LockLoad::registrations(std::size_t limit) {
  constexpr std::uint32_t kTtlMs = 10'000;
  LockLoadBatch batch;
  for (; registered_ < sequences_.size() && batch.commands.size() < limit; ++registered_) {
    const ShardId shard{registered_ / options_.sessions_per_shard};
    add(shard, locks::make_register_session(session_id(registered_), kTtlMs), batch);
    batch.answers.push_back({LockCode::SessionRegistered, FencingToken{}});
  }
  return batch;
}

LockLoadBatch LockLoad::first_holds(std::size_t limit) {
  LockLoadBatch batch;
  for (; first_held_ < options_.names && batch.commands.size() < limit; first_held_ += 2) {
    toggle(first_held_, batch);
  }
  return batch;
}

LockLoadBatch LockLoad::commands(std::size_t count) {
  LockLoadBatch batch;
  batch.commands.reserve(count);
  batch.answers.reserve(count);
  while (batch.commands.size() < count) {
    toggle(draw(), batch);
  }
  return batch;
}

// The next command of a name: its acquire or its release.
void LockLoad::toggle(std::uint32_t number, LockLoadBatch& batch) {
  Name& name = names_[number];
  const ShardId shard = shard_of(name.hash, options_.shards);
  const bool take = name.token.value == 0;
  if (take) {
    name.slot = random_below(random(), options_.sessions_per_shard);
  }
  const std::uint32_t place = session_place(shard, name.slot);
  const RequestSequence sequence{++sequences_[place]};
  LockCommand command;
  command.session = session_id(place);
  command.sequence = sequence;
  command.acked_below = sequence;
  command.name_hash = name.hash;
  if (!take) {
    command.kind = locks::LockCommandKind::Release;
    command.token = name.token;
    add(shard, command, batch);
    batch.answers.push_back({LockCode::Released, name.token});
    name.token = FencingToken{};
    return;
  }
  const std::string text = text_of(number);
  command.kind = locks::LockCommandKind::Acquire;
  command.flags = locks::kAcquireWait;
  command.name = text.data();
  command.name_bytes = kNameBytes;
  add(shard, command, batch);
  name.token = FencingToken{++shards_[shard.value].token_last};
  batch.answers.push_back({LockCode::Granted, name.token});
}

}  // namespace gcoord::bench
