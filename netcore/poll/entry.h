// Entry of a poll set: one condition, tested by one thread.
//
//   receiver   In: a slot has come on a lane.           (lane_peek.h)
//   sender     Out: the peer has room for what is wanted.
//   ticket     In: a ticket of a lock is granted.       (ticket_lock.h, join() and settle())
//   word       In: a 64-bit word is not what was seen of it last: an event word that the host
//              raises (gpu_events.h), an abort word, any word that somebody publishes.
//
// Readiness is a level and not an edge: an entry is reported by every wait until the reason is
// gone, whoever looks and however often. A lane end's entry has the cursors of that end, so whoever
// uses the end brings its entry up to date (poll_lane.h does both). Err, Hup and Bad are reported
// whether they were asked for or not, beside In or Out where that holds too:
//
//   Err   what lies there no correct peer left, or its channel has a fault: the owner makes a new
//         one.
//   Hup   the handle is over: its channel was aborted or lives under another epoch; the ticket was
//         revoked.
//   Bad   the entry can never be ready, or is none.
//
// Contract: entries lie in memory that no peer reaches and one group writes. What they point to
// lives as long as they are in a set. Host and device.
#pragma once

#include "common/hd.h"
#include "netcore/gpu_channel/device.h"
#include "netcore/gpu_channel/lane_peek.h"
#include "netcore/memory/bounded_wait.h"
#include "netcore/memory/order.h"
#include "netcore/ticket/lock.h"

#include <cstdint>

namespace gcoord::netcore {

// The numbers of poll(2), so that nobody learns them twice.
inline constexpr std::uint32_t kPollIn = 0x01;
inline constexpr std::uint32_t kPollOut = 0x04;
inline constexpr std::uint32_t kPollErr = 0x08;
inline constexpr std::uint32_t kPollHup = 0x10;
inline constexpr std::uint32_t kPollBad = 0x20;  // POLLNVAL.

enum class PollKind : std::uint8_t {
  None,  // Looked at and never reported, as a negative descriptor of poll(2).
  Receiver,
  Sender,
  Ticket,
  Word,
  Bad,
};

struct PollTicket {
  TicketLockDevice lock;
  TicketWait* wait = nullptr;  // Of join(); this set's looks are written there.
};

struct PollWord {
  const std::uint64_t* word = nullptr;  // In memory of this side.
  std::uint64_t seen = 0;
};

// Which one it is, PollEntry::kind says.
union PollTarget {
  GCOORD_HD constexpr PollTarget() : word{} {}

  ReceiverView receiver;
  SenderView sender;
  PollTicket ticket;
  PollWord word;
};

struct alignas(32) PollEntry {
  PollKind kind = PollKind::None;
  std::uint32_t interest = 0;         // kPollIn, kPollOut or both; 0: only what is always told.
  std::uint32_t epoch = 0;            // Under which the handle was made.
  std::uint32_t promised = 0;         // Of a sender: the wish_word() that was reported ready.
  ChannelControl* control = nullptr;  // Null: nothing ends it (words).
  std::uint64_t reported = 0;         // 1 + the cursor at which it was last reported ready.
  PollTarget target;
};

static_assert(sizeof(PollEntry) == 96);

struct PollFound {
  std::uint32_t events = 0;
  std::uint64_t value = 0;  // The cursor of a lane end, the ticket, or the word as it was seen.
};

GCOORD_HD inline PollEntry receiver_entry(const GpuChannelDevice& channel,
                                          Band band,
                                          std::uint32_t lane,
                                          const LaneReceiverState& state) {
  PollEntry entry;
  entry.kind = PollKind::Receiver;
  entry.interest = kPollIn;
  entry.epoch = channel.epoch;
  entry.control = channel.control;
  entry.target.receiver = receiver_view(wires_of(channel, band, lane), state);
  return entry;
}

GCOORD_HD inline PollEntry sender_entry(const GpuChannelDevice& channel,
                                        Band band,
                                        std::uint32_t lane,
                                        const LaneSenderState& state,
                                        const SenderWants& wants = {}) {
  PollEntry entry;
  entry.kind = PollKind::Sender;
  entry.interest = kPollOut;
  entry.epoch = channel.epoch;
  entry.control = channel.control;
  entry.target.sender = sender_view(wires_of(channel, band, lane), state, wants);
  return entry;
}

// A look has system scope, which a lock of one device's kernels allows (DeviceOrder).
GCOORD_HD inline PollEntry ticket_entry(const TicketLockDevice& lock, TicketWait* wait) {
  PollEntry entry;
  entry.kind = PollKind::Ticket;
  entry.interest = kPollIn;
  entry.epoch = lock.epoch;
  entry.control = lock.control;
  entry.target.ticket = PollTicket{lock, wait};
  return entry;
}

// Ready while the word is not `seen`.
GCOORD_HD inline PollEntry word_entry(const std::uint64_t* word, std::uint64_t seen) {
  PollEntry entry;
  entry.kind = PollKind::Word;
  entry.interest = kPollIn;
  entry.target.word = PollWord{word, seen};
  return entry;
}

// Was the entry reported ready at this cursor, with what it asks for now? The owner of an entry may
// ask for something else at any time, and of that nothing was said.
GCOORD_HD inline bool was_reported(const PollEntry& entry, std::uint64_t cursor) {
  const bool same_wish =
      entry.kind != PollKind::Sender || entry.promised == wish_word(entry.target.sender);
  return entry.reported == cursor + 1 && same_wish;
}

// Notes that the entry was reported ready at this cursor.
GCOORD_HD inline void note_reported(PollEntry& entry, std::uint64_t cursor) {
  entry.reported = cursor + 1;
  entry.promised = entry.kind == PollKind::Sender ? wish_word(entry.target.sender) : 0;
}

// Could it be waited for? What is not is kept as Bad, and reported so.
GCOORD_HD inline bool is_poll_entry(const PollEntry& entry) {
  if ((entry.interest & ~(kPollIn | kPollOut)) != 0) {
    return false;
  }
  switch (entry.kind) {
    case PollKind::None:
      return true;
    case PollKind::Receiver:
      return entry.control != nullptr && entry.target.receiver.slots != nullptr;
    case PollKind::Sender:
      return entry.control != nullptr && entry.target.sender.grant != nullptr &&
             can_be_ready(entry.target.sender);
    case PollKind::Ticket:
      return entry.control != nullptr && entry.target.ticket.wait != nullptr &&
             entry.target.ticket.lock.words.region != nullptr;
    case PollKind::Word:
      return entry.target.word.word != nullptr;
    default:
      return false;
  }
}

// Has the handle ended, or the channel a fault? Three words of one line of this side's own memory.
GCOORD_HD inline std::uint32_t control_events(const ChannelControl* control, std::uint32_t epoch) {
  if (control == nullptr) {
    return 0;
  }
  const bool is_over =
      SystemOrder::peek(control->abort) != 0 || SystemOrder::peek(control->epoch) != epoch;
  return (is_over ? kPollHup : 0) | (SystemOrder::peek(control->fault) != 0 ? kPollErr : 0);
}

GCOORD_HD inline std::uint32_t lane_events(LanePeek look, std::uint32_t ready) {
  return look == LanePeek::Ready ? ready : look == LanePeek::Broken ? kPollErr : 0;
}

GCOORD_HD inline std::uint32_t ticket_events(TicketPosition place) {
  switch (place) {
    case TicketPosition::Held:
      return kPollIn;
    case TicketPosition::Gone:
      return kPollHup;
    case TicketPosition::Broken:
      return kPollErr;
    default:
      return 0;
  }
}

// The word once more, with acquire, when it says something: what was written before it was raised
// is visible to whoever is told (O2).
GCOORD_HD inline PollFound look_at(const PollWord& target) {
  PollFound found;
  found.value = SystemOrder::peek(*target.word);
  if (found.value != target.seen) {
    found.value = SystemOrder::observe(*const_cast<std::uint64_t*>(target.word));
    found.events = found.value != target.seen ? kPollIn : 0;
  }
  return found;
}

// What holds of an entry now, asked for or not.
GCOORD_HD inline PollFound look_at_all(const PollEntry& entry) {
  switch (entry.kind) {
    case PollKind::Receiver: {
      const ReceiverView& view = entry.target.receiver;
      return {lane_events(look_at(view), kPollIn), view.received};
    }
    case PollKind::Sender: {
      const SenderView& view = entry.target.sender;
      if (!can_be_ready(view)) {
        return {kPollBad, view.sent};  // Its wish was changed to that.
      }
      return {lane_events(look_at(view), kPollOut), view.sent};
    }
    case PollKind::Ticket: {
      const PollTicket& target = entry.target.ticket;
      const TicketPosition place = TicketLock<>{target.lock}.look(*target.wait);
      return {ticket_events(place), target.wait->ticket};
    }
    case PollKind::Word:
      return look_at(entry.target.word);
    case PollKind::Bad:
      return {kPollBad, 0};
    default:
      return {};
  }
}

// What is to be told of an entry now: 0 events for nothing.
GCOORD_HD inline PollFound look_at(const PollEntry& entry) {
  PollFound found = look_at_all(entry);
  found.events &= entry.interest | kPollErr | kPollHup | kPollBad;
  if (entry.kind != PollKind::None) {
    found.events |= control_events(entry.control, entry.epoch);
  }
  return found;
}

}  // namespace gcoord::netcore
