// LockCpu against a naive model over random commands: mutual exclusion, FIFO order, rising tokens,
// no grant to the dead, exactly-once. And what must not matter: capacity, other shards, a snapshot
// in the middle.
#include "tests/locks/lock_model.h"

#include "tests/locks/lock_harness.h"
#include "tests/locks/lock_random.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

namespace gcoord::locks {
namespace {

void expect_same(const LockReply& reply,
                 const LockModel::Answer& answer,
                 const std::vector<LockEvent>& events,
                 const LockModel& model) {
  RC_ASSERT(static_cast<int>(reply.code) == static_cast<int>(answer.code));
  RC_ASSERT(reply.token.value == answer.token);
  RC_ASSERT(reply.holder.value == answer.holder);
  RC_ASSERT(reply.more == answer.more);
  RC_ASSERT(events.size() == model.ended.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    RC_ASSERT(events[i].code == model.ended[i].code);
    RC_ASSERT(events[i].session.value == model.ended[i].session);
    RC_ASSERT(events[i].sequence.value == model.ended[i].sequence);
    RC_ASSERT(events[i].token.value == model.ended[i].token);
  }
}

// Invariants that do not rest on the model's own bookkeeping: who was granted what, when.
class Witness {
 public:
  void see_grant(NameHash name, FencingToken token, bool alive) {
    RC_ASSERT(alive);
    FencingToken& newest = newest_[{name.low, name.high}];
    RC_ASSERT(token > newest);
    newest = token;
  }

 private:
  std::map<std::pair<std::uint64_t, std::uint64_t>, FencingToken> newest_;
};

void run_against_model(const std::vector<RandomCommand>& randoms) {
  LockHarness shard;
  LockModel model;
  CommandSource source;
  Witness witness;
  for (const RandomCommand& random : randoms) {
    const LockCommand command = source.to_command(random, model);
    const LockModel::Answer answer = model.apply(command);
    const LockReply reply = shard.apply(command);
    expect_same(reply, answer, shard.events, model);
    if (reply.code == LockCode::Granted && !reply.replayed &&
        command.kind == LockCommandKind::Acquire) {
      witness.see_grant(command.name_hash, reply.token, model.alive(command.session.value));
    }
    for (const LockEvent& event : shard.events) {
      if (event.code == LockCode::Granted) {
        witness.see_grant(event.name, event.token, model.alive(event.session.value));
      }
    }
  }
}

RC_GTEST_PROP(LockModel, RandomCommandsAnswerAsTheNaiveModelDoes, ()) {
  run_against_model(
      *rc::gen::resize(400, rc::gen::container<std::vector<RandomCommand>>(random_command())));
}

RC_GTEST_PROP(LockModel, CapacityAndOtherShardsDoNotShowInRepliesOrState, ()) {
  const auto randoms =
      *rc::gen::resize(300, rc::gen::container<std::vector<RandomCommand>>(random_command()));
  LockHarness tiny{{.shard_count = 4, .rows_initial = 1, .index_seed = 1}};
  LockHarness large{{.shard_count = 4, .rows_initial = 5000, .index_seed = 77}};
  LockModel model;
  CommandSource source;
  std::uint64_t noise = 0;
  for (const RandomCommand& random : randoms) {
    // The large one serves another shard in between, so rows and free lists differ.
    large.shard = ShardId{2};
    ++noise;
    large.acquire(9 + noise % 5, noise, "noise" + std::to_string(noise % 9), noise);
    large.shard = ShardId{0};
    const LockCommand command = source.to_command(random, model);
    model.apply(command);
    const LockReply a = tiny.apply(command);
    const LockReply b = large.apply(command);
    RC_ASSERT(a.code == b.code);
    RC_ASSERT(a.token == b.token);
    RC_ASSERT(a.holder == b.holder);
    RC_ASSERT(tiny.events.size() == large.events.size());
  }
  RC_ASSERT(tiny.locks.state_hash(ShardId{0}) == large.locks.state_hash(ShardId{0}));
  RC_ASSERT(tiny.locks.serialize(ShardId{0}) == large.locks.serialize(ShardId{0}));
}

RC_GTEST_PROP(LockModel, SnapshotAndTheRestEqualsTheWholeReplay, ()) {
  const auto randoms =
      *rc::gen::resize(300, rc::gen::container<std::vector<RandomCommand>>(random_command()));
  const auto cut = *rc::gen::inRange<std::size_t>(0, randoms.size() + 1);
  LockHarness whole;
  LockHarness resumed{{.shard_count = 4, .rows_initial = 1, .index_seed = 5}};
  LockModel model;
  CommandSource source;
  for (std::size_t i = 0; i < randoms.size(); ++i) {
    if (i == cut) {
      const auto bytes = whole.locks.serialize(ShardId{0});
      RC_ASSERT(resumed.locks.deserialize(ShardId{0}, bytes, Tick{1}).ok());
      RC_ASSERT(resumed.locks.serialize(ShardId{0}) == bytes);
      resumed.skip_to(whole.last_index());
    }
    const LockCommand command = source.to_command(randoms[i], model);
    model.apply(command);
    const LockReply a = whole.apply(command);
    if (i >= cut) {
      const LockReply b = resumed.apply(command);
      RC_ASSERT(a.code == b.code);
      RC_ASSERT(a.token == b.token);
      RC_ASSERT(whole.events.size() == resumed.events.size());
    }
  }
  if (cut < randoms.size()) {
    RC_ASSERT(whole.locks.state_hash(ShardId{0}) == resumed.locks.state_hash(ShardId{0}));
    RC_ASSERT(whole.locks.serialize(ShardId{0}) == resumed.locks.serialize(ShardId{0}));
    resumed.locks.drop(ShardId{0});
    RC_ASSERT(resumed.locks.usage().requests == 0u);
    RC_ASSERT(resumed.locks.usage().sessions == 0u);
    RC_ASSERT(resumed.locks.usage().waiters == 0u);
    RC_ASSERT(resumed.locks.usage().name_blocks == 0u);
  }
}

}  // namespace
}  // namespace gcoord::locks
