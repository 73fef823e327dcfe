// The commands of the lock benchmark: sessions that take and release named locks, decided
// beforehand.
//
// Names are 16 random hexadecimal characters each, chosen uniformly or by Zipf's law (exponent
// 0.99, the generator of Gray et al., "Quickly Generating Billion-Record Synthetic Databases",
// SIGMOD 1994). A command on a free name is an acquire by one of its shard's sessions, one on a
// held name the release by its holder, so every name's commands are pairs. Tokens count per shard,
// so what each command must answer is known here, and releases name the right token before any
// command is applied; every session has its answer before its next command (acked_below is the
// command's own sequence). Random numbers are functions of the seed. Host only; one thread, but for
// hashing names.
#pragma once

#include "common/ids.h"
#include "common/random.h"
#include "locks/commands/command.h"
#include "locks/commands/reply.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::bench {

enum class LockSkew { Uniform, Zipf };

struct LockLoadOptions {
  std::uint32_t names = 10'000'000;
  std::uint32_t shards = 65'536;
  std::uint32_t sessions_per_shard = 16;
  LockSkew skew = LockSkew::Uniform;
  std::uint64_t seed = 20260801;
};

// A decided command. The bytes of its name are in the batch's payload.
struct LoadCommand {
  locks::LockCommand command;  // Its `name` is not used.
  LogIndex index;              // Among its shard's commands, from 1.
  ShardId shard;
  std::uint32_t name_offset = 0;
};

// Commands in host memory, with what each must answer.
struct LockLoadBatch {
  struct Answer {
    locks::LockCode code = locks::LockCode::None;
    FencingToken token;
  };

  std::vector<LoadCommand> commands;
  std::string payload;
  std::vector<Answer> answers;
};

// Ranks from 0 by Zipf's law.
class ZipfRanks {
 public:
  static constexpr double kExponent = 0.99;

  explicit ZipfRanks(std::uint32_t count);

  // The rank of a random word.
  std::uint32_t rank(std::uint64_t word) const;

  // The share of rank 0.
  double top_share() const { return 1 / zeta_; }

 private:
  double count_;
  double zeta_;
  double eta_;
};

class LockLoad {
 public:
  explicit LockLoad(const LockLoadOptions& options);

  // Registers every session, in at most `limit` commands; empty when all are.
  LockLoadBatch registrations(std::size_t limit);

  // Takes every second name; empty when all of those are taken.
  LockLoadBatch first_holds(std::size_t limit);

  // `count` commands on names drawn by the skew.
  LockLoadBatch commands(std::size_t count);

  // Share of the commands that the most wanted name gets.
  double top_share() const;

 private:
  struct Name {
    NameHash hash;
    FencingToken token;      // 0 while nobody holds it.
    std::uint32_t slot = 0;  // Of the holder among its shard's sessions.
  };

  struct Shard {
    std::uint64_t log_index = 0;
    std::uint64_t token_last = 0;
  };

  std::string text_of(std::uint32_t name) const;
  void hash_names();

  std::uint64_t random() { return random64(options_.seed, 2, ++counter_); }

  std::uint32_t draw();
  std::uint32_t session_place(ShardId shard, std::uint32_t slot) const;
  SessionId session_id(std::uint32_t place) const;
  void toggle(std::uint32_t name, LockLoadBatch& batch);
  void add(ShardId shard, const locks::LockCommand& command, LockLoadBatch& batch);

  LockLoadOptions options_;
  ZipfRanks ranks_;
  std::vector<Name> names_;
  std::vector<Shard> shards_;
  std::vector<std::uint64_t> sequences_;  // By session_place().
  std::uint32_t registered_ = 0;
  std::uint32_t first_held_ = 0;
  std::uint64_t counter_ = 0;
};

}  // namespace gcoord::bench
