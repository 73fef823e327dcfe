// Random commands that are likely to meet: few names, few sessions, retries, right and wrong
// tokens. Rapidcheck makes and shrinks them; what needs the state (tokens, serials) is filled in
// from the model at the moment of use, so a shrunk case still makes sense.
#pragma once

#include "locks/commands/break_wait.h"
#include "locks/commands/move_command.h"
#include "tests/locks/lock_model.h"

#include <rapidcheck.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::locks {

struct RandomCommand {
  std::uint8_t kind = 0;      // Weighted; see to_command().
  std::uint8_t session = 0;   // 1 to 6; 1 is the busiest and hardly acknowledges.
  std::uint8_t name = 0;      // 0 to 4.
  std::uint8_t sequence = 0;  // 0: the next of the session; else that many back.
  bool flag = false;
  bool odd = false;  // A wrong token, an old serial, an advanced acked_below.
};

inline void showValue(const RandomCommand& command, std::ostream& out) {
  out << "{kind " << int{command.kind} << ", session " << int{command.session} << ", name "
      << int{command.name} << ", back " << int{command.sequence} << ", flag " << command.flag
      << ", odd " << command.odd << "}";
}

inline rc::Gen<RandomCommand> random_command() {
  using rc::gen::inRange;
  using rc::gen::set;
  return rc::gen::build<RandomCommand>(
      set(&RandomCommand::kind, inRange<std::uint8_t>(0, 48)),
      set(&RandomCommand::session,
          rc::gen::weightedElement<std::uint8_t>({{5, 1}, {1, 2}, {1, 3}, {1, 4}, {1, 5}, {1, 6}})),
      set(&RandomCommand::name, inRange<std::uint8_t>(0, 5)),
      set(&RandomCommand::sequence,
          rc::gen::weightedElement<std::uint8_t>({{8, 0}, {2, 1}, {1, 2}, {1, 5}, {1, 90}})),
      set(&RandomCommand::flag),
      set(&RandomCommand::odd, rc::gen::weightedElement<bool>({{7, false}, {1, true}})));
}

// Gives each random command its sequence, token and serial.
class CommandSource {
 public:
  LockCommand to_command(const RandomCommand& random, const LockModel& model) {
    const SessionId session{random.session};
    const std::uint64_t sequence = next_sequence(random);
    const std::uint64_t behind = random.session == 1 ? 150 : 20;
    const std::uint64_t acked =
        random.odd && random.session != 1 ? sequence : sequence - std::min(behind, sequence - 1);
    const std::string& name = kNames[random.name];
    if (random.kind < 9) {
      return hold_of(random, RequestSequence{sequence}, RequestSequence{acked});
    }
    if (random.kind < 16) {
      return make_acquire({.session = session,
                           .sequence = RequestSequence{sequence},
                           .acked_below = RequestSequence{acked},
                           .name = name,
                           .wait = random.flag,
                           .ttl_ms = random.odd ? 0u : 1000u});
    }
    if (random.kind < 26) {
      const std::uint64_t held = model.token_of(hash_name(name));
      const bool by_holder = !random.odd && held != 0;
      return make_release(
          {.session = by_holder ? SessionId{model.holder_of(hash_name(name))} : session,
           .sequence =
               RequestSequence{by_holder ? next_of(model.holder_of(hash_name(name))) : sequence},
           .acked_below = RequestSequence{1},
           .name_hash = hash_name(name),
           .token = FencingToken{held + (random.flag && random.odd ? 1
                                         : held == 0               ? 1
                                                                   : 0)},
           .by_token = random.kind == 25});
    }
    if (random.kind >= 43) {
      return move_of(random, model);
    }
    if (random.kind >= 38) {
      return office_of(random, sequence, model);
    }
    // The busiest session lives long, so that its window fills.
    if (random.kind == 26) {
      const std::uint64_t waits = model.wait_index(random.session, sequence);
      return make_break_wait(
          session, RequestSequence{sequence}, LogIndex{std::max<std::uint64_t>(1, waits)});
    }
    if (random.kind < 28 || (random.session == 1 && !random.odd)) {
      return make_cancel_wait(session, RequestSequence{sequence}, random.flag);
    }
    if (random.kind < 29) {
      return make_register_session(session, 1000);
    }
    if (random.kind < 31) {
      return make_expire_session(session, model.serial_of(random.session) + (random.odd ? 1 : 0));
    }
    if (random.kind < 32) {
      return make_close_session(session, RequestSequence{sequence});
    }
    const std::uint64_t held = model.token_of(hash_name(name));
    const FencingToken token{held == 0 ? 1 : held + (random.odd ? 1 : 0)};
    if (random.kind < 35) {
      return make_end_delay(hash_name(name), token);
    }
    return make_break_lock({.token = token,
                            .all = random.flag,
                            .name_bytes = static_cast<std::uint16_t>(name.size()),
                            .who_bytes = 3,
                            .text = kBreaks[random.name]});
  }

 private:
  // The lock goes, comes with a session or two, or has arrived; or an older move comes late.
  LockCommand move_of(const RandomCommand& random, const LockModel& model) {
    const std::string& name = kNames[random.name];
    const std::uint32_t number = model.moves_of(hash_name(name)) + (random.odd ? 0 : 1);
    if (random.kind < 45) {
      return make_move_out(name, ShardId{random.odd ? 3u : 2u});
    }
    if (random.kind == 47) {
      return make_move_done(hash_name(name), std::max(number, 2u) - 1);
    }
    text_ = name;
    const std::uint64_t granted = model.token_last() + 2;
    for (std::uint8_t i = 0; random.flag && i <= random.sequence % 4; ++i) {
      const std::uint64_t session = (random.session + i) % 6 + 1;
      text_ += std::string{static_cast<char>(session)} + std::string(7, '\0');
      text_ += std::string{static_cast<char>(100)} + std::string(3, '\0');
    }
    return make_move_in({.from = ShardId{2},
                         .number = std::max(number, 1u),
                         .token = FencingToken{random.flag ? granted : 0},
                         .token_last = granted + 1,
                         .name_bytes = static_cast<std::uint16_t>(name.size()),
                         .text = text_});
  }

  // The holder changes its note or hands over, to a session that may wait or not; or another tries.
  LockCommand office_of(const RandomCommand& random,
                        std::uint64_t sequence,
                        const LockModel& model) {
    const std::string& name = kNames[random.name];
    const std::uint64_t token = model.token_of(hash_name(name));
    const std::uint64_t holder = model.holder_of(hash_name(name));
    const bool right = !random.odd && token != 0;
    const ReleaseFields fields{
        .session = SessionId{right ? holder : random.session},
        .sequence = RequestSequence{right ? next_of(holder) : sequence},
        .acked_below = RequestSequence{1},
        .name_hash = hash_name(name),
        .token = FencingToken{token == 0 ? 1 : token + (random.flag && random.odd ? 1 : 0)},
        .by_token = random.kind == 42};
    if (random.kind < 40) {
      return make_proclaim(fields, std::string_view{kTexts[random.name]}.substr(name.size()));
    }
    return make_transfer(fields, SessionId{random.session});
  }

  // An acquire that asks for more: several holds, a note, or to share.
  static LockCommand hold_of(const RandomCommand& random,
                             RequestSequence sequence,
                             RequestSequence acked) {
    const std::string& text = kTexts[random.name];
    const std::string_view name{text.data(), kNames[random.name].size()};
    const bool noted = random.kind != 1 && random.kind < 5;
    return make_acquire_hold({.acquire = {.session = SessionId{random.session},
                                          .sequence = sequence,
                                          .acked_below = acked,
                                          .name = name,
                                          .wait = random.flag,
                                          .ttl_ms = random.odd ? 0u : 1000u},
                              .ask = random_ask(random),
                              .text = noted ? std::string_view{text} : name});
  }

  static HoldOptions random_ask(const RandomCommand& random) {
    const auto delay_ms = static_cast<std::uint16_t>(random.flag ? 500 : 0);
    if (random.kind == 0) {
      return {.delay_ms = delay_ms};
    }
    if (random.kind < 5) {
      return {.flags = kHoldReentrant,
              .limit = static_cast<std::uint16_t>(random.kind),
              .delay_ms = delay_ms};
    }
    if (random.kind == 5 && random.flag) {
      return {.flags = kHoldRanked, .permits = 3};
    }
    if (random.kind == 5 && random.odd) {
      return {.flags = kHoldShared | kHoldDowngrade, .permits = 1};
    }
    if (random.kind < 8) {
      return {.flags = kHoldShared, .permits = 1};
    }
    const auto permits = static_cast<std::uint8_t>(random.odd ? 2 : 1);
    return {.flags = kHoldShared, .permits = permits, .limit = 3};
  }

  std::uint64_t next_of(std::uint64_t session) { return ++sequence_last_[session]; }

  std::uint64_t next_sequence(const RandomCommand& random) {
    std::uint64_t& last = sequence_last_[random.session];
    if (random.sequence == 0 || last < random.sequence) {
      return ++last;
    }
    return last - random.sequence + 1;
  }

  static inline const std::array<std::string, 5> kNames = {
      "a", "jobs/b", "jobs/c", "d", std::string(200, 'e')};
  // Names, and behind each a note.
  static inline const std::array<std::string, 5> kTexts = {kNames[0] + "by me",
                                                           kNames[1] + std::string(40, 'o'),
                                                           kNames[2] + "\xff\x01",
                                                           kNames[3] + std::string(512, 'f'),
                                                           kNames[4] + "!"};
  // Names, and behind each who breaks its lock and why.
  static inline const std::array<std::string, 5> kBreaks = {kNames[0] + "annstuck",
                                                            kNames[1] + "bobit hangs",
                                                            kNames[2] + "eveno reason",
                                                            kNames[3] + "ann\xc3\xbc",
                                                            kNames[4] + "joe?"};
  std::array<std::uint64_t, 8> sequence_last_{};
  std::string text_;  // Of the newest lock that came.
};

}  // namespace gcoord::locks
