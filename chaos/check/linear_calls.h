// The operations of one key, laid out for the search: known ones by the time of their return, open
// ones (of unknown outcome) by what they are, and for each return what was under way then.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <vector>

namespace gcoord::chaos {

inline constexpr std::uint64_t kOpenReturn = std::numeric_limits<std::uint64_t>::max();

template <typename Action>
struct TimedCall {
  Action action;
  std::uint64_t call_ns = 0;
  std::uint64_t return_ns = kOpenReturn;  // kOpenReturn: it may happen at any time, or never.
  std::uint32_t source = 0;               // Which operation of the history it is.
};

// Open operations that are equal: [begin, end), by the time of their call.
struct OpenClass {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

template <typename Action>
class CallTable {
 public:
  using Call = TimedCall<Action>;

  CallTable(const std::vector<Call>& calls, std::uint64_t memory_bytes_max) {
    calls_ = calls;
    const auto open = [](const Call& call) { return call.return_ns == kOpenReturn; };
    const auto first_open = std::stable_partition(
        calls_.begin(), calls_.end(), [&](const Call& c) { return !open(c); });
    known_count_ = static_cast<std::uint32_t>(first_open - calls_.begin());
    std::sort(calls_.begin(), first_open, [](const Call& a, const Call& b) {
      return a.return_ns != b.return_ns ? a.return_ns < b.return_ns : a.call_ns < b.call_ns;
    });
    std::sort(first_open, calls_.end(), [](const Call& a, const Call& b) {
      const Words left = words_of(a);
      const Words right = words_of(b);
      return left != right ? left < right : a.call_ns < b.call_ns;
    });
    find_classes();
    lay_out(memory_bytes_max / sizeof(std::uint32_t));
  }

  // False when more is under way at once than the memory allows to lay out.
  bool fits() const { return fits_; }

  std::uint32_t known_count() const { return known_count_; }

  std::uint32_t size() const { return static_cast<std::uint32_t>(calls_.size()); }

  const Call& call(std::uint32_t index) const { return calls_[index]; }

  std::uint64_t return_ns(std::uint32_t event) const { return calls_[event].return_ns; }

  // Of a known operation; no two that are under way at once share one.
  std::uint32_t slot(std::uint32_t index) const { return slots_[index]; }

  std::size_t slot_words() const { return (slot_count_ + 63) / 64; }

  std::size_t open_words() const { return (calls_.size() - known_count_ + 63) / 64; }

  // Known operations that were called before this return and did not return before it, by return;
  // the one that returns is the first.
  std::span<const std::uint32_t> pending(std::uint32_t event) const {
    return {pending_.data() + pending_from_[event], pending_.data() + pending_from_[event + 1]};
  }

  const std::vector<OpenClass>& open_classes() const { return open_classes_; }

  // Whether this is the first of its class that is asked for under this stamp.
  bool first_of_class(std::uint32_t index, std::uint64_t stamp) {
    std::uint64_t& seen = seen_[class_of_[index]];
    const bool first = seen != stamp;
    seen = stamp;
    return first;
  }

  std::uint64_t calls_until(std::uint64_t moment_ns) const {
    return static_cast<std::uint64_t>(std::count_if(
        calls_.begin(), calls_.end(), [&](const Call& c) { return c.call_ns <= moment_ns; }));
  }

 private:
  using Words = std::array<std::uint64_t, sizeof(Action) / sizeof(std::uint64_t)>;

  static Words words_of(const Call& call) { return std::bit_cast<Words>(call.action); }

  void find_classes() {
    std::map<Words, std::uint32_t> classes;
    for (const Call& call : calls_) {
      class_of_.push_back(
          classes.emplace(words_of(call), static_cast<std::uint32_t>(classes.size()))
              .first->second);
    }
    seen_.assign(classes.size(), 0);
    for (std::uint32_t index = known_count_; index < calls_.size(); ++index) {
      if (index == known_count_ || class_of_[index] != class_of_[index - 1]) {
        open_classes_.push_back({index, index});
      }
      open_classes_.back().end = index + 1;
    }
  }

  // Walks through the known operations' calls and returns; a call at the time of a return is before
  // it, so that the two are concurrent.
  void lay_out(std::uint64_t pending_max) {
    std::vector<std::uint32_t> by_call(known_count_);
    for (std::uint32_t index = 0; index < known_count_; ++index) {
      by_call[index] = index;
    }
    std::sort(by_call.begin(), by_call.end(), [&](std::uint32_t a, std::uint32_t b) {
      return calls_[a].call_ns < calls_[b].call_ns;
    });
    slots_.assign(known_count_, 0);
    std::vector<std::uint32_t> active;
    std::vector<std::uint32_t> unused_slots;
    auto next = by_call.begin();
    pending_from_ = {0};
    for (std::uint32_t event = 0; event < known_count_ && fits_; ++event) {
      for (; next != by_call.end() && calls_[*next].call_ns <= return_ns(event); ++next) {
        active.insert(std::lower_bound(active.begin(), active.end(), *next), *next);
        slots_[*next] = take_slot(unused_slots);
      }
      fits_ = pending_.size() + active.size() <= pending_max;
      pending_.insert(pending_.end(), active.begin(), active.end());
      pending_from_.push_back(pending_.size());
      unused_slots.push_back(slots_[event]);
      active.erase(active.begin());
    }
  }

  std::uint32_t take_slot(std::vector<std::uint32_t>& unused_slots) {
    if (unused_slots.empty()) {
      return slot_count_++;
    }
    const std::uint32_t slot = unused_slots.back();
    unused_slots.pop_back();
    return slot;
  }

  std::vector<Call> calls_;
  std::uint32_t known_count_ = 0;
  std::uint32_t slot_count_ = 0;
  bool fits_ = true;
  std::vector<std::uint32_t> slots_;
  std::vector<std::uint32_t> class_of_;
  std::vector<std::uint64_t> seen_;
  std::vector<OpenClass> open_classes_;
  std::vector<std::uint32_t> pending_;
  std::vector<std::size_t> pending_from_;
};

}  // namespace gcoord::chaos
