// W1: what a watch promises, each promise judged by itself, over random logs, slow readers, lost
// connections and moves between nodes that are behind each other; and W2: that who asks is told
// what was held before each event, wherever the event comes from.
//
// The oracle is the naive model of the lock service (tests/locks/lock_model.h), which looks at all
// names after each command. Watchers behave as the client library does: they go on from the last
// revision of each shard.
#include "common/random.h"
#include "locks/commands/ends.h"
#include "protocol/error_codes.h"
#include "tests/locks/lock_model.h"
#include "tests/server/watch/watch_world.h"

#include <algorithm>
#include <string>

namespace gcoord::server {
namespace {

using protocol::WatchBlock;
using protocol::WatchEvent;
using protocol::WatchEventKind;
using protocol::WatchPrevious;
using protocol::WatchTarget;

constexpr std::uint32_t kShards = 3;
constexpr std::uint32_t kNames = 8;
constexpr std::uint32_t kSessions = 6;
constexpr std::uint32_t kSteps = 3'000;

std::string name_of(std::uint32_t number) {
  return (number % 2 == 0 ? "even/" : "odd/") + std::to_string(number);
}

// What a session leaves with each name that it is granted.
std::string note_of(std::uint64_t session) {
  return session % 2 == 0 ? std::string{} : "note of " + std::to_string(session);
}

auto sort_key(const WatchEvent& event) {
  return std::tuple(event.name, event.kind, event.session.value, event.token.value);
}

std::vector<WatchEvent> sorted(std::vector<WatchEvent> events) {
  std::ranges::sort(events, {}, sort_key);
  return events;
}

// What each shard did, by revision.
class Oracle {
 public:
  // Of a list of ends each one after another, in one revision.
  void apply(std::uint32_t shard, const locks::LockCommand& command) {
    WatchBlock block{ShardId{shard}, LogIndex{++revisions_[shard]}, {}};
    locks::LockEvents none;
    locks::apply_parts(command, none, [&](const locks::LockCommand& part, std::uint32_t) {
      apply_part(block, part);
      return locks::LockReply{};
    });
    if (!block.events.empty()) {
      blocks_[shard].push_back(block);
    }
  }

  void apply_part(WatchBlock& block, const locks::LockCommand& command) {
    locks::LockModel& model = models_[block.shard.value];
    std::vector<WatchPrevious> before;
    for (std::uint32_t name = 0; name < kNames; ++name) {
      before.push_back(held(model, name));
    }
    const auto answer = model.apply(command);
    const bool expires = command.kind == locks::LockCommandKind::ExpireSession;
    for (std::uint32_t name = 0; name < kNames; ++name) {
      const WatchPrevious& old = before[name];
      const WatchPrevious now = held(model, name);
      std::string& note = notes_[name];
      if (old.token == now.token) {
        if (answer.code == locks::LockCode::Proclaimed &&
            command.name_hash == hash_name(name_of(name)) && note != said_in(command)) {
          note = said_in(command);
          add(block, WatchEventKind::ValueChanged, name, now, note, old);
        }
        continue;
      }
      if (old.token.value != 0) {
        const auto ending = expires ? WatchEventKind::Expired : WatchEventKind::Released;
        add(block, ending, name, old, {}, old);
      }
      note = now.token.value != 0 ? note_of(now.session.value) : std::string{};
      if (now.token.value != 0) {
        add(block, WatchEventKind::Granted, name, now, note, old);
      }
    }
  }

  std::uint32_t serial(std::uint32_t shard, std::uint64_t session) {
    return models_[shard].serial_of(session);
  }

  std::uint64_t token(std::uint32_t shard, std::uint32_t name) {
    return models_[shard].token_of(hash_name(name_of(name)));
  }

  // What a watch is about, from a revision on up to another.
  std::vector<WatchBlock> expected(const WatchFilter& filter,
                                   std::uint32_t shard,
                                   std::uint64_t first,
                                   std::uint64_t last) const {
    std::vector<WatchBlock> result;
    for (const WatchBlock& block : blocks_[shard]) {
      if (block.revision.value < first || block.revision.value > last) {
        continue;
      }
      WatchBlock own{block.shard, block.revision, {}};
      for (const WatchEvent& event : block.events) {
        if (filter.matches(event.kind, event.name, event.session)) {
          own.events.push_back(event);
          own.events.back().previous = filter.previous ? event.previous : WatchPrevious{};
        }
      }
      if (!own.events.empty()) {
        own.events = sorted(own.events);
        result.push_back(own);
      }
    }
    return result;
  }

 private:
  // Who has the name, and what was left with it.
  WatchPrevious held(const locks::LockModel& model, std::uint32_t name) const {
    const NameHash hash = hash_name(name_of(name));
    const FencingToken token{model.token_of(hash)};
    if (token.value == 0) {
      return {.before = protocol::WatchBefore::Nothing};
    }
    return {protocol::WatchBefore::Hold, token, SessionId{model.holder_of(hash)}, notes_[name]};
  }

  static std::string said_in(const locks::LockCommand& proclaim) {
    return {locks::note_start(proclaim), proclaim.note_bytes};
  }

  static void add(WatchBlock& block,
                  WatchEventKind kind,
                  std::uint32_t name,
                  const WatchPrevious& hold,
                  const std::string& value,
                  const WatchPrevious& old) {
    block.events.push_back({kind, name_of(name), hold.token, hold.session, value, old});
  }

  std::vector<locks::LockModel> models_{kShards};
  std::vector<std::string> notes_ = std::vector<std::string>(kNames);  // A name has one shard.
  std::vector<std::uint64_t> revisions_ = std::vector<std::uint64_t>(kShards);
  std::vector<std::vector<WatchBlock>> blocks_{kShards};
};

// A client of one watch.
struct Watcher {
  std::uint64_t connection = 0;
  WatchFilter filter;
  std::size_t node = 0;
  std::map<std::uint32_t, std::uint64_t> to;     // By shard: it has everything up to there.
  std::map<std::uint32_t, std::uint64_t> begun;  // And it began behind this.
  std::vector<std::vector<WatchBlock>> received{kShards};
  bool open = false;
  std::uint32_t resumed = 0;
};

class WatchValidatorTest : public testing::TestWithParam<std::uint64_t> {
 protected:
  WatchValidatorTest() {
    for (std::size_t k = 0; k < 3; ++k) {
      // A ring that forgets soon, so that much comes from history.
      nodes_.push_back(std::make_unique<WatchNode>(
          logs_, WatchHubOptions{.ring_bytes_max = k == 0 ? 4096u : 65'536u, .replays_max = 2}));
    }
  }

  std::uint32_t draw(std::uint32_t limit) {
    return random_below(random64(GetParam(), 0, ++drawn_), limit);
  }

  void decide() {
    const std::uint32_t name = draw(kNames);
    const std::uint32_t shard = shard_of(hash_name(name_of(name)), kShards).value;
    const std::uint64_t session = 1 + draw(kSessions);
    const RequestSequence sequence{++sequence_};
    const RequestSequence acked{sequence_ > 40 ? sequence_ - 40 : 1};
    locks::LockCommand command;
    const std::string text = name_of(name);
    const std::string said = draw(3) == 0 ? std::string{} : "said " + std::to_string(draw(5));
    std::vector<char> list;
    const std::string noted = text + note_of(session);  // As an acquire has it.
    const locks::ReleaseFields holder{
        .session = SessionId{session},
        .sequence = sequence,
        .acked_below = acked,
        .name_hash = hash_name(text),
        .token = FencingToken{std::max<std::uint64_t>(oracle_.token(shard, name), 1)}};
    switch (draw(10)) {
      case 0:
      case 1:
      case 2:
      case 3:
        command = acquire({.session = SessionId{session},
                           .sequence = sequence,
                           .acked_below = acked,
                           .name = std::string_view{noted}.substr(0, text.size()),
                           .wait = draw(2) == 0,
                           .ttl_ms = 1000},
                          noted);
        break;
      case 4:
      case 5:
        command = locks::make_release(holder);
        break;
      case 9:
        command = locks::make_proclaim(holder, said);
        break;
      case 6:
        command = locks::make_cancel_wait(
            SessionId{session},
            RequestSequence{1 + draw(static_cast<std::uint32_t>(sequence_))},
            draw(2) == 0);
        break;
      case 7:
        list = locks::encode_ends(some_ends(shard));
        command = locks::make_expire_sessions(list);
        break;
      default:
        command = draw(3) == 0 ? locks::make_close_session(SessionId{session}, sequence)
                               : locks::make_expire_session(SessionId{session},
                                                            oracle_.serial(shard, session));
    }
    append(logs_[shard], command);
    oracle_.apply(shard, command);
  }

  static locks::LockCommand acquire(const locks::AcquireFields& fields, std::string_view noted) {
    return noted.size() == fields.name.size()
               ? locks::make_acquire(fields)
               : locks::make_acquire_hold({.acquire = fields, .text = noted});
  }

  // Of two sessions up to all.
  std::vector<locks::SessionEnd> some_ends(std::uint32_t shard) {
    std::vector<locks::SessionEnd> ends;
    for (std::uint64_t session = 1 + draw(kSessions - 1); session <= kSessions; ++session) {
      ends.push_back({SessionId{session}, oracle_.serial(shard, session)});
    }
    return ends;
  }

  void open(Watcher& watcher) {
    protocol::WatchQuery query{.target = watcher.filter.target,
                               .text = watcher.filter.text,
                               .session = watcher.filter.session,
                               .progress_ms = 1};
    for (const auto& [shard, revision] : watcher.to) {
      query.from.push_back({ShardId{shard}, LogIndex{revision + 1}});
    }
    watcher.connection = ++connection_;
    watcher.open = true;
    std::vector<protocol::RequestFlag> flags;
    if (watcher.filter.previous) {
      flags.push_back(protocol::RequestFlag::WatchPrevious);
    }
    nodes_[watcher.node]->open_with(flags, watcher.connection, 1, query);
  }

  // Goes on at another node, or at the same one over another connection.
  void move(Watcher& watcher) {
    if (watcher.open) {
      nodes_[watcher.node]->sink.full.erase(watcher.connection);
      nodes_[watcher.node]->sink.gone.insert(watcher.connection);
    }
    watcher.node = draw(3);
    ++watcher.resumed;
    open(watcher);
  }

  void take(Watcher& watcher, const WatchBlock& block) {
    const std::uint32_t shard = block.shard.value;
    // Unique and ordered: above everything of the shard before it.
    ASSERT_GT(block.revision.value, watcher.to[shard]);
    watcher.to[shard] = block.revision.value;
    WatchBlock own = block;
    own.events = sorted(own.events);
    watcher.received[shard].push_back(own);
  }

  void listen(Watcher& watcher) {
    auto& sent = nodes_[watcher.node]->sink.sent[watcher.connection];
    for (const auto& each : sent) {
      if (each.slot.code != StatusCode::Ok) {
        ASSERT_EQ(each.slot.detail, static_cast<std::uint32_t>(protocol::ErrorCode::WatchLagging));
        watcher.open = false;
        continue;
      }
      const auto message = protocol::decode_watch_message(each.payload).value();
      for (const WatchBlock& block : message.blocks) {
        take(watcher, block);
      }
      for (const auto& progress : message.progress.revisions) {
        check_bookmark(watcher, progress);
      }
    }
    sent.clear();
  }

  // Bookmarkable: nothing up to there is missing when progress says so.
  void check_bookmark(Watcher& watcher, const protocol::ShardRevision& progress) {
    const std::uint32_t shard = progress.shard.value;
    const std::uint64_t revision = progress.revision.value;
    if (!watcher.begun.contains(shard)) {
      watcher.begun[shard] = revision;
      watcher.to[shard] = revision;
    }
    const auto expected =
        oracle_.expected(watcher.filter, shard, watcher.begun[shard] + 1, revision);
    ASSERT_GE(watcher.received[shard].size(), expected.size());
    watcher.to[shard] = std::max(watcher.to[shard], revision);
  }

  void check_all(Watcher& watcher) {
    for (const auto& [shard, begun] : watcher.begun) {
      // Reliable and atomic: everything, and of every entry all that concerns it.
      EXPECT_EQ(watcher.received[shard],
                oracle_.expected(watcher.filter, shard, begun + 1, logs_[shard].size()))
          << "shard " << shard << " of watcher " << watcher.connection;
    }
  }

  std::vector<Watcher> watchers() {
    std::vector<Watcher> all;
    const auto add = [&](WatchFilter filter) {
      filter.shard_count = kShards;
      all.push_back({.filter = filter});
      filter.previous = true;
      all.push_back({.filter = std::move(filter)});
    };
    for (std::uint32_t name = 0; name < kNames; name += 3) {
      add({.target = WatchTarget::Name, .text = name_of(name)});
    }
    add({.target = WatchTarget::Prefix, .text = "even/"});
    add({.target = WatchTarget::Prefix});
    add({.target = WatchTarget::Session, .session = SessionId{1}});
    add({.target = WatchTarget::Session, .session = SessionId{2}});
    for (Watcher& watcher : all) {
      watcher.node = draw(3);
    }
    return all;
  }

  void meddle(Watcher& watcher) {
    auto& full = nodes_[watcher.node]->sink.full;
    const std::uint32_t what = draw(40);
    if (!watcher.open || what == 0) {
      move(watcher);
    } else if (what == 1) {
      full.insert(watcher.connection);
    } else if (what < 6) {
      full.erase(watcher.connection);
    }
  }

  void step(std::vector<Watcher>& watchers) {
    const std::uint32_t decisions = draw(4);
    for (std::uint32_t k = 0; k < decisions; ++k) {
      decide();
    }
    for (auto& node : nodes_) {
      for (std::uint32_t k = draw(6); k > 0; --k) {
        node->apply(draw(kShards));
      }
      node->turn();
      if (draw(50) == 0) {
        ++node->now_ms;
        node->desk().on_sweep(node->now_ms, true);
      }
    }
    for (Watcher& watcher : watchers) {
      listen(watcher);
      meddle(watcher);
    }
  }

  // A replay's thread reads the logs, which grow: their place is kept.
  void reserve() {
    for (ShardLog& log : logs_) {
      log.reserve(std::size_t{4} * kSteps);
    }
  }

  void finish(std::vector<Watcher>& watchers) {
    for (auto& node : nodes_) {
      node->sink.full.clear();
      node->apply_all();
      node->settle();
    }
    for (Watcher& watcher : watchers) {
      listen(watcher);
      if (!watcher.open) {
        open(watcher);
        nodes_[watcher.node]->settle();
        listen(watcher);
      }
    }
  }

  std::vector<ShardLog> logs_{kShards};
  Oracle oracle_;
  std::vector<std::unique_ptr<WatchNode>> nodes_;
  std::uint64_t drawn_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t connection_ = 0;
};

TEST_P(WatchValidatorTest, W1W2OrderedUniqueReliableAtomicResumableBookmarkable) {
  reserve();
  std::vector<Watcher> all = watchers();
  for (Watcher& watcher : all) {
    open(watcher);
  }
  for (std::uint32_t k = 0; k < kSteps && !HasFatalFailure(); ++k) {
    step(all);
  }
  finish(all);
  std::uint32_t resumed = 0;
  for (Watcher& watcher : all) {
    check_all(watcher);
    resumed += watcher.resumed;
  }
  // Otherwise this says nothing of resuming, and of the past that the ring has no more.
  EXPECT_GT(resumed, 100u);
  EXPECT_GT(nodes_[0]->history_looks, 100u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, WatchValidatorTest, testing::Range<std::uint64_t>(1, 7));

}  // namespace
}  // namespace gcoord::server
