// Is there an order of these operations, within their times, that the model accepts?
//
// Wing and Gong's search (Testing and Verifying Concurrent Objects, 1993) with Lowe's cache and his
// just-in-time linearisation (Testing for Linearizability, 2017): returns are met in the order of
// time, and an operation is put in order only when a return needs it. So the first return that no
// path gets past ends the smallest prefix that is still illegal. What keeps it fast:
//   - the set of operations in order is a bit set over slots, which operations leave when they
//     return, so it is as wide as the widest moment, not as long as the history;
//   - an operation that only looks (Model::observes) is put in order as soon as it is legal;
//   - of equal operations the one that returns first goes first;
//   - operations of unknown outcome may happen at any time or never, so of two ways to one
//     configuration the one that used up fewer of them replaces the other in the cache.
// A hold that may lapse by itself (LockModel) is given up when a return needs that, not before the
// moment that the model names.
//
// A Model has State and Action, structs of 64-bit words alone, and two static functions:
// apply(State&, Action) and observes(Action), true if it leaves every state as it was.
// One thread. Memory and work are bounded; beyond the bound the verdict is Undecided.
#pragma once

#include "chaos/check/linear_cache.h"
#include "chaos/check/linear_calls.h"
#include "chaos/check/linear_outlook.h"
#include "chaos/check/verdict.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace gcoord::chaos {

struct SearchBounds {
  std::uint64_t configurations_max = 50'000'000;
  std::uint64_t memory_bytes_max = std::uint64_t{2} << 30;
  std::chrono::milliseconds time_max{60'000};
};

// Where the search could not get past a return.
template <typename State>
struct DeadEnd {
  State state;
  std::vector<std::uint32_t> before;  // Sources of the last ones put in order, newest last.
};

template <typename State>
struct SearchResult {
  Verdict verdict = Verdict::Undecided;
  std::string reason;  // Why undecided.
  std::uint64_t configurations = 0;

  // Of a violation: the return that nothing gets past, what was under way then, and how many calls
  // the smallest illegal prefix has.
  std::uint32_t failed = 0;
  std::uint32_t returns_passed = 0;  // Before it.
  std::vector<std::uint32_t> pending;
  std::uint64_t prefix_calls = 0;
  std::vector<DeadEnd<State>> dead_ends;

  // Of ok: sources in an order that the model accepts; kLapsed where a hold ended by itself.
  std::vector<std::uint32_t> order;
};

inline constexpr std::uint32_t kLapsed = ~0u;

// Whether configurations are given up that cannot end well (linear_outlook.h).
enum class Foresight : std::uint8_t { No, Yes };

template <typename Model>
class LinearSearch {
 public:
  using Action = typename Model::Action;
  using State = typename Model::State;
  using Call = TimedCall<Action>;

  LinearSearch(const std::vector<Call>& calls,
               const SearchBounds& bounds,
               Foresight look_ahead = Foresight::Yes)
      : look_ahead_(look_ahead),
        table_(calls, bounds.memory_bytes_max / 4),
        outlook_(table_),
        bounds_(bounds),
        deadline_(std::chrono::steady_clock::now() + bounds.time_max),
        cache_({.set_words = table_.slot_words(),
                .state_words = kStateWords,
                .used_words = table_.open_words()}) {}

  SearchResult<State> run() {
    if (!table_.fits()) {
      result_.reason = "too many operations under way at once";
      return std::move(result_);
    }
    push(make_start(), State{});
    while (!frames_.empty() && result_.reason.empty()) {
      if (frames_.back().event == table_.known_count()) {
        result_.verdict = Verdict::Ok;
        result_.order = path_;
        return std::move(result_);
      }
      step();
    }
    if (result_.reason.empty()) {
      explain();
    }
    return std::move(result_);
  }

 private:
  static constexpr std::size_t kStateWords = sizeof(State) / sizeof(std::uint64_t);
  static constexpr std::uint32_t kLapseCandidate = ~0u;
  static constexpr std::size_t kDeadEndsMax = 3;
  static constexpr std::size_t kBeforeMax = 8;

  // A configuration, and which of its ways on were tried.
  struct Frame {
    std::uint32_t event = 0;  // The next return.
    State state;
    std::size_t sets = 0;   // In words_: the slots in order, then the open operations used.
    std::size_t first = 0;  // In candidates_.
    std::size_t next = 0;
    std::size_t end = 0;
    std::size_t path = 0;
  };

  static bool equal(const State& a, const State& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

  std::uint64_t* slots(const Frame& frame) { return words_.data() + frame.sets; }

  std::uint64_t* used(const Frame& frame) { return slots(frame) + table_.slot_words(); }

  static bool bit(const std::uint64_t* words, std::uint32_t index) {
    return (words[index / 64] >> (index % 64) & 1) != 0;
  }

  static void set_bit(std::uint64_t* words, std::uint32_t index) {
    words[index / 64] |= std::uint64_t{1} << (index % 64);
  }

  Frame make_start() {
    Frame frame;
    frame.state = State{};
    words_.assign(table_.slot_words() + table_.open_words(), 0);
    return frame;
  }

  // Tries the next way on from the newest configuration, or gives it up.
  void step() {
    Frame& frame = frames_.back();
    path_.resize(frame.path);
    if (frame.next == frame.end) {
      candidates_.resize(frame.first);
      words_.resize(frame.sets);
      frames_.pop_back();
      return;
    }
    const std::uint32_t candidate = candidates_[frame.next++];
    Frame child = frame;
    child.sets = words_.size();
    words_.resize(words_.size() + table_.slot_words() + table_.open_words());
    std::copy_n(words_.data() + frame.sets,
                table_.slot_words() + table_.open_words(),
                words_.data() + child.sets);
    const State before = child.state;
    put_in_order(child, candidate);
    push(child, before);
  }

  void put_in_order(Frame& frame, std::uint32_t candidate) {
    if (candidate == kLapseCandidate) {
      if constexpr (requires(State & state) { Model::lapse(state); }) {
        Model::lapse(frame.state);
      }
      path_.push_back(kLapsed);
      return;
    }
    const Call& call = table_.call(candidate);
    Model::apply(frame.state, call.action);
    path_.push_back(call.source);
    if (candidate < table_.known_count()) {
      set_bit(slots(frame), table_.slot(candidate));
    } else {
      set_bit(used(frame), candidate - table_.known_count());
    }
  }

  // Enters a configuration, unless it was met before or cannot end well.
  void push(Frame frame, const State& before) {
    settle(frame);
    frame.path = path_.size();
    const bool complete = frame.event == table_.known_count();
    if (!complete) {
      note_progress(frame);
      if (doomed(frame, before) || !cache_.insert(key_of(frame))) {
        words_.resize(frame.sets);
        return;
      }
    }
    ++result_.configurations;
    check_bounds();
    frame.first = frame.next = candidates_.size();
    if (!complete) {
      add_candidates(frame);
    }
    frame.end = candidates_.size();
    frames_.push_back(frame);
  }

  bool doomed(const Frame& frame, const State& before) {
    if constexpr (Outlook<Model>::kLooks) {
      const auto taken = [&](std::uint32_t index) {
        if (index >= table_.known_count()) {
          return bit(used(frame), index - table_.known_count());
        }
        const bool called = table_.call(index).call_ns <= table_.return_ns(frame.event);
        return called && bit(slots(frame), table_.slot(index));
      };
      return look_ahead_ == Foresight::Yes &&
             outlook_.doomed(before, frame.state, frame.event, taken);
    } else {
      return false;
    }
  }

  ConfigurationKey key_of(const Frame& frame) {
    state_words_ = std::bit_cast<StateWords>(frame.state);
    return {frame.event, slots(frame), state_words_.data(), used(frame)};
  }

  // Passes the returns of what is in order, and puts in order what is legal and only looks.
  void settle(Frame& frame) {
    bool moved = true;
    while (moved && frame.event < table_.known_count()) {
      moved = false;
      for (const std::uint32_t index : table_.pending(frame.event)) {
        if (bit(slots(frame), table_.slot(index))) {
          continue;
        }
        State after = frame.state;
        const Action& action = table_.call(index).action;
        if (Model::observes(action) && Model::apply(after, action)) {
          set_bit(slots(frame), table_.slot(index));
          path_.push_back(table_.call(index).source);
        }
      }
      while (frame.event < table_.known_count() && bit(slots(frame), table_.slot(frame.event))) {
        clear_bit(slots(frame), table_.slot(frame.event));
        ++frame.event;
        moved = true;
      }
    }
  }

  static void clear_bit(std::uint64_t* words, std::uint32_t index) {
    words[index / 64] &= ~(std::uint64_t{1} << (index % 64));
  }

  // What goes next, best first: the operation that must return, then what makes it legal at once.
  void add_candidates(const Frame& frame) {
    const Action& due = table_.call(frame.event).action;
    later_.clear();
    State after = frame.state;
    if (Model::apply(after, due)) {
      candidates_.push_back(frame.event);
    }
    ++stamp_;
    for (const std::uint32_t index : table_.pending(frame.event)) {
      const bool taken = bit(slots(frame), table_.slot(index));
      if (!taken && table_.first_of_class(index, stamp_) && index != frame.event) {
        consider(frame, index, due);
      }
    }
    for (const OpenClass& open : table_.open_classes()) {
      const std::uint32_t index = next_unused(frame, open);
      if (index != open.end && table_.call(index).call_ns <= table_.return_ns(frame.event)) {
        consider(frame, index, due);
      }
    }
    consider_lapse(frame, due);
    candidates_.insert(candidates_.end(), later_.begin(), later_.end());
  }

  std::uint32_t next_unused(const Frame& frame, const OpenClass& open) {
    std::uint32_t index = open.begin;
    while (index != open.end && bit(used(frame), index - table_.known_count())) {
      ++index;
    }
    return index;
  }

  void consider(const Frame& frame, std::uint32_t index, const Action& due) {
    State after = frame.state;
    // An open operation that changes nothing now need not happen now.
    if (Model::apply(after, table_.call(index).action) &&
        (index < table_.known_count() || !equal(after, frame.state))) {
      sort_in(index, after, due);
    }
  }

  void consider_lapse(const Frame& frame, const Action& due) {
    if constexpr (requires(State & state) { Model::lapse(state); }) {
      if (Model::lapse_ns(frame.state) <= table_.return_ns(frame.event)) {
        State after = frame.state;
        Model::lapse(after);
        sort_in(kLapseCandidate, after, due);
      }
    }
  }

  void sort_in(std::uint32_t candidate, State after, const Action& due) {
    (Model::apply(after, due) ? candidates_ : later_).push_back(candidate);
  }

  void check_bounds() {
    if (result_.configurations > bounds_.configurations_max) {
      result_.reason = "more than " + std::to_string(bounds_.configurations_max) +
                       " configurations were looked at";
    } else if (cache_.bytes() + words_.capacity() * sizeof(std::uint64_t) >
               bounds_.memory_bytes_max) {
      result_.reason = "the memory bound was reached";
    } else if (result_.configurations % 4096 == 0 && std::chrono::steady_clock::now() > deadline_) {
      result_.reason = "the time bound was reached";
    }
  }

  void note_progress(const Frame& frame) {
    if (frame.event > result_.failed) {
      result_.failed = frame.event;
      result_.dead_ends.clear();
    }
    const auto known = [&](const DeadEnd<State>& end) { return equal(end.state, frame.state); };
    if (frame.event != result_.failed || result_.dead_ends.size() == kDeadEndsMax ||
        std::any_of(result_.dead_ends.begin(), result_.dead_ends.end(), known)) {
      return;
    }
    const std::size_t first = path_.size() - std::min(path_.size(), kBeforeMax);
    result_.dead_ends.push_back(
        {frame.state, {path_.begin() + static_cast<std::ptrdiff_t>(first), path_.end()}});
  }

  void explain() {
    result_.verdict = Verdict::Violation;
    const std::uint32_t event = result_.failed;
    result_.returns_passed = event;
    for (const std::uint32_t index : table_.pending(event)) {
      if (index != event) {
        result_.pending.push_back(table_.call(index).source);
      }
    }
    result_.prefix_calls = table_.calls_until(table_.return_ns(event));
    result_.failed = table_.call(event).source;
  }

  using StateWords = std::array<std::uint64_t, kStateWords>;

  Foresight look_ahead_;
  CallTable<Action> table_;
  Outlook<Model> outlook_;
  SearchBounds bounds_;
  std::chrono::steady_clock::time_point deadline_;
  LinearCache cache_;
  StateWords state_words_{};
  std::vector<Frame> frames_;
  std::vector<std::uint64_t> words_;
  std::vector<std::uint32_t> candidates_;
  std::vector<std::uint32_t> later_;
  std::vector<std::uint32_t> path_;
  std::uint64_t stamp_ = 0;
  SearchResult<State> result_;
};

}  // namespace gcoord::chaos
