#include "chaos/check/generated_history.h"

#include "common/random.h"

#include <algorithm>
#include <string>
#include <utility>

namespace gcoord::chaos {

namespace {

constexpr std::uint64_t kTurnNs = 1000;

class Dice {
 public:
  Dice(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}

  std::uint32_t below(std::uint32_t bound) {
    return random_below(random64(seed_, stream_, ++drawn_), bound);
  }

  bool chance(std::uint32_t percent) { return below(100) < percent; }

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
  std::uint64_t drawn_ = 0;
};

// A register, a counter or a guarded store.
class ValueKey {
 public:
  ValueKey(const GeneratedHistoryOptions& options, Dice& dice) : options_(options), dice_(dice) {}

  Operation ask(std::uint32_t) {
    Operation operation;
    const std::uint32_t drawn = dice_.below(100);
    if (drawn < 40) {
      operation.op = Op::Read;
    } else if (options_.model == ModelKind::Counter) {
      operation.op = Op::Add;
      operation.delta = 1 + dice_.below(3);
      told_ = dice_.chance(50);
    } else if (options_.model == ModelKind::Guarded) {
      operation.op = Op::Write;
      const std::uint64_t behind = dice_.chance(70) ? 0 : dice_.below(4);
      tokens_ += behind == 0 && dice_.chance(50) ? 1u : 0u;
      operation.token = std::max<std::uint64_t>(tokens_, behind + 1) - behind;
      operation.value = drawn_value();
    } else if (drawn < 75) {
      operation.op = Op::Write;
      operation.value = drawn_value();
    } else {
      operation.op = Op::Cas;
      operation.from = dice_.chance(70) ? value_ : drawn_value();
      operation.value = drawn_value();
    }
    return operation;
  }

  bool serve(Operation& operation) {
    switch (operation.op) {
      case Op::Read:
        operation.value = options_.model == ModelKind::Counter ? std::to_string(sum_) : value_;
        break;
      case Op::Add:
        sum_ += operation.delta;
        operation.value = told_ ? std::to_string(sum_) : "";
        break;
      case Op::Cas:
        refuse_unless(operation, operation.from == value_, Reason::Mismatch);
        break;
      default:
        refuse_unless(operation, operation.token >= token_max_, Reason::Stale);
        break;
    }
    const bool writes = operation.op == Op::Write || operation.op == Op::Cas;
    if (writes && operation.outcome == Outcome::Ok) {
      value_ = operation.value;
      token_max_ = operation.token;
    }
    return true;
  }

  void on_told(std::uint32_t, const Operation&) {}

  void pass_time(std::vector<Operation>&, std::uint64_t) {}

 private:
  static void refuse_unless(Operation& operation, bool accepted, Reason reason) {
    operation.outcome = accepted ? Outcome::Ok : Outcome::Fail;
    operation.reason = accepted ? Reason::None : reason;
  }

  std::string drawn_value() {
    return "v" + std::to_string(options_.values == 0 ? ++fresh_ : 1 + dice_.below(options_.values));
  }

  const GeneratedHistoryOptions& options_;
  Dice& dice_;
  std::string value_;
  std::int64_t sum_ = 0;
  std::uint64_t token_max_ = 0;
  std::uint64_t tokens_ = 1;
  std::uint64_t fresh_ = 0;
  bool told_ = false;
};

// A lock, with clients that take it, give it back, ask about it and forget it.
class LockKey {
 public:
  LockKey(const GeneratedHistoryOptions& options, Dice& dice)
      : dice_(dice), clients_(options.clients) {
    for (Client& client : clients_) {
      client.session = ++sessions_;
    }
  }

  Operation ask(std::uint32_t number) {
    const Client& client = clients_[number];
    Operation operation;
    operation.session = client.session;
    operation.token = client.token;
    if (client.token == 0) {
      operation.op = Op::Acquire;
      operation.kind = dice_.chance(60) ? AcquireKind::Wait : AcquireKind::Try;
      return operation;
    }
    operation.op = client.holds && dice_.chance(75) ? Op::Release : Op::Check;
    return operation;
  }

  // False while it has to wait.
  bool serve(Operation& operation) {
    switch (operation.op) {
      case Op::Acquire:
        return serve_acquire(operation);
      case Op::Release:
        if (held_ && operation.token == token_) {
          held_ = false;
        } else {
          operation.outcome = Outcome::Fail;
          operation.reason = Reason::NotHeld;
        }
        return true;
      default:
        operation.verdict =
            held_ && operation.token == token_ ? TokenState::Valid : TokenState::Past;
        return true;
    }
  }

  void on_told(std::uint32_t number, const Operation& operation) {
    Client& client = clients_[number];
    if (operation.outcome == Outcome::Unknown && operation.op != Op::Check) {
      client = {++sessions_, 0, false};  // It starts anew, so that what it has cannot confuse it.
      ghost_may_end_ |= operation.op == Op::Acquire;
    } else if (operation.op == Op::Acquire && operation.outcome == Outcome::Ok) {
      client.token = operation.token;
      client.holds = true;
    } else if (operation.op == Op::Release) {
      client.holds = false;
    } else if (operation.op == Op::Check && !client.holds) {
      client.token = 0;
    }
  }

  // Holds of the forgetful end, ghosts are taken back.
  void pass_time(std::vector<Operation>& history, std::uint64_t now_ns) {
    const bool nobodys = held_ && std::none_of(clients_.begin(), clients_.end(), [&](auto& c) {
                           return c.session == holder_;
                         });
    if (nobodys && (abandoned_ == token_ || ghost_may_end_) && dice_.chance(20)) {
      held_ = false;
    }
    for (Client& client : clients_) {
      if (client.holds && dice_.chance(1)) {
        Operation abandoned{.op = Op::Abandon, .session = client.session, .token = client.token};
        abandoned.call_ns = abandoned.return_ns = now_ns;
        history.push_back(abandoned);
        abandoned_ = client.token;
        client = {++sessions_, 0, false};
      }
    }
  }

 private:
  struct Client {
    std::uint64_t session = 0;
    std::uint64_t token = 0;  // Of its last grant, until it forgets it.
    bool holds = false;
  };

  bool serve_acquire(Operation& operation) {
    if (held_ && operation.kind == AcquireKind::Try) {
      operation.outcome = Outcome::Fail;
      operation.reason = Reason::Busy;
      return true;
    }
    if (held_) {
      return false;
    }
    held_ = true;
    holder_ = operation.session;
    operation.token = token_ += 1 + dice_.below(2);
    return true;
  }

  Dice& dice_;
  std::vector<Client> clients_;
  std::uint64_t sessions_ = 0;
  bool held_ = false;
  std::uint64_t holder_ = 0;
  std::uint64_t token_ = 0;
  std::uint64_t abandoned_ = 0;
  bool ghost_may_end_ = false;
};

// Clients of one key, taking turns at random.
template <typename Key>
class Turns {
 public:
  Turns(const GeneratedHistoryOptions& options, std::uint32_t key, std::vector<Operation>& history)
      : options_(options),
        dice_(options.seed, key),
        key_(options, dice_),
        name_("key/" + std::to_string(key)),
        history_(history),
        clients_(options.clients) {
    first_process_ = key * options.clients;
  }

  void run(std::uint32_t operation_count) {
    while (told_ < operation_count) {
      now_ns_ += kTurnNs;
      take_turn(dice_.below(options_.clients));
      if (dice_.chance(5)) {
        serve_late();
      }
      std::vector<Operation> more;
      key_.pass_time(more, now_ns_);
      for (Operation& operation : more) {
        record(operation, 0);
      }
    }
    give_up();
  }

 private:
  enum class Phase : std::uint8_t { Idle, Called, Served };

  struct Client {
    Phase phase = Phase::Idle;
    bool unknown = false;  // It will not learn what became of its operation.
    Operation operation;
  };

  void take_turn(std::uint32_t number) {
    Client& client = clients_[number];
    switch (client.phase) {
      case Phase::Idle:
        client.operation = key_.ask(number);
        client.operation.call_ns = now_ns_;
        client.unknown = dice_.below(1000) < options_.unknown_thousandths;
        client.phase = Phase::Called;
        return;
      case Phase::Called:
        if (client.unknown && dice_.chance(50)) {
          late_.push_back(client.operation);
          return lose(number);
        }
        if (!key_.serve(client.operation)) {
          return;
        }
        client.phase = Phase::Served;
        return;
      case Phase::Served:
        if (client.unknown) {
          return lose(number);
        }
        return tell(number);
    }
  }

  void tell(std::uint32_t number) {
    Client& client = clients_[number];
    client.operation.return_ns = now_ns_;
    key_.on_told(number, client.operation);
    record(client.operation, number);
    ++told_;
    client.phase = Phase::Idle;
  }

  void lose(std::uint32_t number) {
    Operation& operation = clients_[number].operation;
    operation.outcome = Outcome::Unknown;
    operation.reason = Reason::None;
    operation.verdict = TokenState::None;
    if (operation.op == Op::Acquire) {
      operation.token = 0;
    }
    if (operation.op == Op::Read || operation.op == Op::Add) {
      operation.value.clear();
    }
    tell(number);
  }

  // What nobody waits for any more is done now, or never. A release must be: else the key is stuck.
  void serve_late() {
    if (late_.empty()) {
      return;
    }
    std::swap(late_.back(), late_[dice_.below(static_cast<std::uint32_t>(late_.size()))]);
    Operation& operation = late_.back();
    const bool dropped = operation.op != Op::Release && dice_.chance(30);
    if (dropped || key_.serve(operation)) {
      late_.pop_back();
    }
  }

  void give_up() {
    for (std::uint32_t number = 0; number < clients_.size(); ++number) {
      if (clients_[number].phase != Phase::Idle) {
        lose(number);
      }
    }
  }

  void record(Operation& operation, std::uint32_t number) {
    operation.process = first_process_ + number;
    operation.key = name_;
    history_.push_back(operation);
  }

  const GeneratedHistoryOptions& options_;
  Dice dice_;
  Key key_;
  std::string name_;
  std::vector<Operation>& history_;
  std::vector<Client> clients_;
  std::vector<Operation> late_;
  std::uint32_t first_process_ = 0;
  std::uint64_t now_ns_ = 0;
  std::uint32_t told_ = 0;
};

}  // namespace

std::vector<Operation> generate_history(const GeneratedHistoryOptions& options) {
  std::vector<Operation> history;
  const std::uint32_t each = options.operations / options.keys;
  for (std::uint32_t key = 0; key < options.keys; ++key) {
    const std::uint32_t more = key == 0 ? options.operations % options.keys : 0;
    if (options.model == ModelKind::Lock || options.model == ModelKind::ByOperations) {
      Turns<LockKey>(options, key, history).run(each + more);
    } else {
      Turns<ValueKey>(options, key, history).run(each + more);
    }
  }
  return history;
}

}  // namespace gcoord::chaos
