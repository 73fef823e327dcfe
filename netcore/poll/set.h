// Waiting for many things at once: poll(2) for kernels.
//
//   PollSet<> set{device};                       // A warp; PollSet<OneMember> for one thread.
//   set.put(0, receiver_entry(...));             // What it waits for: poll_entry.h.
//   const PollBatch<> batch = set.wait({.deadline_ns = ...});
//   batch.for_each([&](const PollEvent& event) { ... });
//   set.close();
//
// A pass looks at as many entries as there are members, each member at one: 32 at a time by a warp,
// whose loads are then in flight together. The first pass that finds something ends the wait, and
// all that it found is the batch; what else may be ready is found by the next wait, which goes on
// behind the last entry that was reported. So nothing is looked at twice where something waits
// unseen, whoever was reported last is looked at last, and an entry that stays ready is reported
// after at most as many waits as there are entries.
//
// A wait ends with events, at its deadline, or when the set's owner aborts or closes it
// (gpu_poll.h); bounded_wait.h says how it spins and backs off. Every entry is looked at at least
// once, so a deadline of 0 asks and does not wait. A set without entries only waits. A deadline is
// noticed after at most 64 passes and one sweep over all entries.
//
// Refused: a list of ready entries that whoever makes something ready adds to (epoll's way). The
// peer would have to know of the set, and a shared list is a shared word that all senders fight
// for; 32 loads of own memory are one latency.
//
// Contract: one group per set, all of its members call every function with equal arguments and get
// equal answers. Lanes in a set have their ends at the same group. Never asserts on what a peer
// wrote, and no peer can keep a wait from its end. Host and device.
#pragma once

#include "common/assert.h"
#include "common/bits.h"
#include "common/device/member_group.h"
#include "common/hd.h"
#include "netcore/memory/bounded_wait.h"
#include "netcore/poll/entry.h"

#include <cstdint>

namespace gcoord::netcore {

// 6 MiB of entries; a warp has looked at all of them after 2,048 passes.
inline constexpr std::uint32_t kPollEntriesMax = 1u << 16;

// What rests in memory between two kernels.
struct PollSetState {
  std::uint32_t count = 0;  // Entries are below this.
  std::uint32_t next = 0;   // Where looking goes on.
};

// What kernels work with: a plain value. See GpuPoll::device().
struct PollSetDevice {
  PollSetState* state = nullptr;
  PollEntry* entries = nullptr;
  std::uint32_t capacity = 0;
  std::uint32_t epoch = 0;
  ChannelControl* control = nullptr;  // Of the set, not of what it waits for.
};

// Nobody else polls what a set waits for, so a pause spares only issue slots, and is paid by who is
// waited for. Of a round of 64 passes, 30 us or more, it is one part in thirty.
inline constexpr std::uint32_t kPollPauseNsMax = 1'000;

struct PollOptions {
  std::uint64_t deadline_ns = 0;  // On device_now_ns(); the first member's counts.
  std::uint32_t pause_ns_max = kPollPauseNsMax;
};

struct PollEvent {
  std::uint32_t index = 0;   // Of the entry.
  std::uint32_t events = 0;  // Some of kPollIn, kPollOut, kPollErr, kPollHup, kPollBad.
  std::uint64_t value = 0;   // See PollFound.
};

// What one wait found, in the members' registers.
template <typename Members = WarpMembers>
struct PollBatch {
  WaitStatus status = WaitStatus::TimedOut;  // Ready: there are events.
  std::uint32_t found = 0;                   // Bit i: member i found something.
  PollEvent own;                             // What this member found.

  GCOORD_HD std::uint32_t size() const { return count_bits(found); }

  // f(event), by all members together, in the order in which entries were looked at.
  template <typename Function>
  GCOORD_HD void for_each(const Function& f) const {
    for (std::uint32_t left = found; left != 0; left &= left - 1) {
      f(of_member(lowest_bit(left)));
    }
  }

 private:
  GCOORD_HD PollEvent of_member(std::uint32_t member) const {
    PollEvent event;
    event.index = Members::broadcast(own.index, member);
    event.events = Members::broadcast(own.events, member);
    event.value = Members::broadcast(own.value, member);
    return event;
  }
};

template <typename Members = WarpMembers>
class PollSet {
 public:
  // As the last group left it.
  GCOORD_HD explicit PollSet(const PollSetDevice& device)
      : device_(device), count_(device.state->count), next_(device.state->next) {}

  // Stores what this object knows for the next group. Entries lie in memory anyway.
  GCOORD_HD void close() {
    Members::sync();
    if (Members::rank() == 0) {
      *device_.state = PollSetState{count_, next_};
    }
  }

  // Sets entry `index`, which is below the capacity, to something that is waited for from now on.
  // What could never be is kept as Bad, so that the next wait says so.
  GCOORD_HD void put(std::uint32_t index, const PollEntry& entry) {
    GCOORD_ASSERT(index < device_.capacity);
    Members::sync();
    if (Members::rank() == 0) {
      device_.entries[index] = entry;
      device_.entries[index].reported = 0;
      device_.entries[index].promised = 0;
      if (!is_poll_entry(entry)) {
        device_.entries[index].kind = PollKind::Bad;
      }
    }
    Members::sync();
    count_ = index < count_ ? count_ : index + 1;
  }

  // Entry `index` is waited for no more; what it pointed to may go.
  GCOORD_HD void remove(std::uint32_t index) { put(index, PollEntry{}); }

  // All that was raised in a word up to `value` is taken: it is ready again when it changes.
  GCOORD_HD void see(std::uint32_t index, std::uint64_t value) {
    PollEntry& of_word = entry(index);
    GCOORD_ASSERT(of_word.kind == PollKind::Word);
    Members::sync();
    if (Members::rank() == 0) {
      of_word.target.word.seen = value;
    }
    Members::sync();
  }

  // For poll_lane.h, and to change what is asked for.
  GCOORD_HD PollEntry& entry(std::uint32_t index) const {
    GCOORD_ASSERT(index < count_);
    return device_.entries[index];
  }

  // Entries are below this number.
  GCOORD_HD std::uint32_t count() const { return count_; }

  // Waits until something is to be told of an entry. Ready: the batch has it. TimedOut, Aborted,
  // EpochChanged: of the set itself; nothing was found.
  GCOORD_HD PollBatch<Members> wait(const PollOptions& options) {
    PollBatch<Members> batch;
    const std::uint32_t span = Members::lanes() < count_ ? Members::lanes() : count_;
    std::uint64_t looked = 0;
    const auto attempt = [&] {
      looked += span;
      return pass(span, batch);
    };
    const WaitGate gate{device_.control, device_.epoch, options.deadline_ns, pause_max(options)};
    batch.status = bounded_wait<Members>(gate, attempt);
    while (batch.status == WaitStatus::TimedOut && looked < count_) {
      batch.status = attempt() ? WaitStatus::Ready : WaitStatus::TimedOut;
    }
    Members::sync();  // What one member observed is visible to all (O2).
    return batch;
  }

 private:
  // A pause between passes delays everything that waits behind it: a sweep of many passes has
  // shorter ones, and is slow enough by itself.
  GCOORD_HD std::uint32_t pause_max(const PollOptions& options) const {
    return options.pause_ns_max / (1 + count_ / Members::lanes());
  }

  // Looks at the next `span` entries.
  GCOORD_HD bool pass(std::uint32_t span, PollBatch<Members>& batch) {
    PollFound look;
    std::uint32_t index = 0;
    if (Members::rank() < span) {
      index = behind(next_, Members::rank());
      look = look_at(device_.entries[index]);
    }
    batch.found = Members::ballot(look.events != 0);
    if (batch.found == 0) {
      next_ = behind(next_, span);
      return false;
    }
    if ((look.events & (kPollIn | kPollOut)) != 0) {
      note_reported(device_.entries[index], look.value);
    }
    batch.own = PollEvent{index, look.events, look.value};
    next_ = behind(next_, highest_bit(batch.found) + 1);
    return true;
  }

  // The entry `ahead` places behind `index`, in a ring; ahead is at most the count.
  GCOORD_HD std::uint32_t behind(std::uint32_t index, std::uint32_t ahead) const {
    const std::uint32_t place = index + ahead;
    return place < count_ ? place : place - count_;
  }

  PollSetDevice device_;
  std::uint32_t count_;
  std::uint32_t next_;
};

}  // namespace gcoord::netcore
