// Outputs of a stripe at the end of a turn: messages to its peers, replies to clients.
//
// The slots for one peer are listed first, header and entries of a message side by side, and then
// published as many at a time as the group has members; a turn of a single row needs no list.
// Entries are read from the log page as they
// are stored; nothing is copied in between. Credit was looked at before the rows were stepped: a
// row that has none emits nothing now and emits it again in a later turn. A client that leaves no
// room loses its reply, which is counted. Contract: all members of the group call every function.
// Host and device.
#pragma once

#include "common/device/warp_device.h"
#include "common/hd.h"
#include "server/device_turn/receive.h"
#include "server/device_turn/row.h"
#include "server/device_turn/scratch.h"

#include <cstdint>

namespace gcoord::server {

// One slot to be sent, in 16 bits: place, number of its message, and which of its slots.
inline constexpr std::uint32_t kCodeMessageShift = 5;
inline constexpr std::uint32_t kCodePartShift = 9;
static_assert(kTurnPlaces == 1u << kCodeMessageShift);
static_assert(turn_messages(kTurnNodesMax) <= 1u << (kCodePartShift - kCodeMessageShift));
static_assert(1 + kTurnEntriesMax < 1u << (16 - kCodePartShift));

template <std::uint32_t kVoters>
GCOORD_HD consensus::MessageSlot message_in(StripeScratchOf<kVoters>& scratch,
                                            std::uint32_t place,
                                            std::uint32_t k) {
  const consensus::MessageSink sink = tiles_of(scratch).sink(place);
  return {sink.chunk(k, 0), sink.chunk_stride};
}

// Slots that a message takes on the way to a node; 0: it is for another one.
template <typename Service>
GCOORD_HD std::uint32_t slots_to(const StripeTurn<Service>& t,
                                 consensus::MessageSlot message,
                                 NodeId to) {
  const consensus::MessageChunk first = message.chunk(0);
  const bool meant = static_cast<std::uint32_t>(first.word[1] >> 32) == to.value;
  return meant ? 1 + slots_behind(t, first.word[0]) : 0;
}

// Lists the slots of all places for one node; their number.
template <typename Service>
GCOORD_HD std::uint32_t list_slots(const StripeTurn<Service>& t, NodeId to) {
  constexpr std::uint32_t kListed = sizeof(t.scratch.outgoing) / sizeof(t.scratch.outgoing[0]);
  std::uint32_t total = 0;
  for (std::uint32_t base = 0; base < t.place_count; base += warp_lanes()) {
    const std::uint32_t place = base + warp_rank();
    const std::uint32_t messages = place < t.place_count ? t.desk.message_count[place] : 0;
    std::uint32_t own = 0;
    for (std::uint32_t k = 0; k < messages; ++k) {
      own += slots_to(t, message_in(t.scratch, place, k), to);
    }
    std::uint32_t at = total + warp_sum_below(own);
    total = warp_broadcast(at + own, warp_lanes() - 1);
    for (std::uint32_t k = 0; k < messages; ++k) {
      const std::uint32_t slots = slots_to(t, message_in(t.scratch, place, k), to);
      for (std::uint32_t part = 0; part < slots; ++part) {
        GCOORD_ASSERT(at < kListed);
        t.scratch.outgoing[at++] =
            static_cast<std::uint16_t>(place | k << kCodeMessageShift | part << kCodePartShift);
      }
    }
  }
  warp_sync();
  return total;
}

GCOORD_HD inline std::uint32_t word_in(const void* from, std::uint32_t word) {
  return static_cast<const std::uint32_t*>(from)[word];
}

// What may follow the messages of one row.
template <typename Service>
struct RowBehind {
  const netcore::Slot* snapshot;
  LogPage<typename Service::Entry> page;
};

// Where the bytes from `offset` on of slot `part` behind a header lie; nullptr: behind the last
// entry.
template <typename Service>
GCOORD_HD const std::byte* bytes_behind(const RowBehind<Service>& behind,
                                        consensus::MessageSlot message,
                                        std::uint32_t part,
                                        std::uint32_t offset) {
  using Entry = typename Service::Entry;
  const consensus::MessageChunk names = message.chunk(0);
  const auto kind = static_cast<consensus::MessageKind>(names.word[0] >> 32 & 0xffu);
  if (kind == consensus::MessageKind::Snapshot) {
    return behind.snapshot[part - 1].bytes + offset;
  }
  constexpr std::uint32_t kEntryBytes = sizeof(Entry);
  const std::uint32_t at = (part - 1) * kSlotEntries<Entry> + offset / kEntryBytes;
  if (at >= static_cast<std::uint32_t>(names.word[0] >> 48)) {
    return nullptr;
  }
  const LogIndex index = LogIndex{message.chunk(1).word[1]} + (at + 1);
  return reinterpret_cast<const std::byte*>(&behind.page.entry(index)) + offset % kEntryBytes;
}

// Chunk `c` of slot `part` behind a header; nothing behind the last entry.
template <typename Service>
GCOORD_HD consensus::MessageChunk chunk_behind(const RowBehind<Service>& behind,
                                               consensus::MessageSlot message,
                                               std::uint32_t part,
                                               std::uint32_t c) {
  const std::byte* bytes = bytes_behind(behind, message, part, c * sizeof(consensus::MessageChunk));
  return bytes != nullptr ? consensus::load_chunk(bytes) : consensus::MessageChunk{};
}

// Chunk `c` of a slot of the list.
template <typename Service>
GCOORD_HD consensus::MessageChunk listed_chunk(const StripeTurn<Service>& t,
                                               std::uint32_t code,
                                               std::uint32_t c) {
  const std::uint32_t place = code % kTurnPlaces;
  const std::uint32_t k =
      code >> kCodeMessageShift & ((1u << (kCodePartShift - kCodeMessageShift)) - 1);
  const std::uint32_t part = code >> kCodePartShift;
  const consensus::MessageSlot message = message_in(t.scratch, place, k);
  if (part == 0) {
    return message.chunk(c);
  }
  const RowBehind<Service> behind{t.scratch.snapshot[place], t.node.page_named(t.desk.page[place])};
  return chunk_behind(behind, message, part, c);
}

// Lays `count` slots of the list side by side, chunk by chunk: all loads are under way at once.
template <typename Service>
GCOORD_HD void lay_out(const StripeTurn<Service>& t, std::uint32_t first, std::uint32_t count) {
  const std::uint32_t chunks = count * consensus::kMessageChunks;
  for (std::uint32_t at = warp_rank(); at < chunks; at += warp_lanes()) {
    const std::uint32_t slot = at / consensus::kMessageChunks;
    const std::uint32_t c = at % consensus::kMessageChunks;
    const consensus::MessageChunk chunk = listed_chunk(t, t.scratch.outgoing[first + slot], c);
    consensus::store_chunk(t.desk.outgoing[slot].bytes + c * sizeof(consensus::MessageChunk),
                           chunk.word[0],
                           chunk.word[1]);
  }
  warp_sync();
}

// Publishes `total` slots whose words `source` knows, kSlots at a time; how many found no room.
template <std::uint32_t kSlots, typename Source>
GCOORD_HD std::uint32_t publish_slots(netcore::LaneSender& to,
                                      std::uint32_t total,
                                      const Source& source) {
  std::uint32_t at = 0;
  while (at < total) {
    const std::uint32_t at_once = total - at < kSlots ? total - at : kSlots;
    const netcore::Reservation place = to.reserve(at_once < warp_lanes() ? at_once : warp_lanes());
    if (place.slot_count == 0) {
      break;
    }
    to.template publish<kSlots>(place, [&source, at](std::uint32_t slot, std::uint32_t word) {
      return source(at + slot, word);
    });
    at += place.slot_count;
  }
  return total - at;
}

template <typename Service>
GCOORD_HD void send_messages(StripeTurn<Service>& t, std::uint32_t p, netcore::LaneSender& to) {
  const std::uint32_t total = list_slots(t, t.node.peer[p]);
  std::uint32_t sent = 0;
  while (sent < total) {
    const std::uint32_t wanted = total - sent < kTurnSlots ? total - sent : kTurnSlots;
    lay_out(t, sent, wanted);
    const std::uint32_t left =
        publish_slots<netcore::kTileSlots>(to, wanted, [&t](std::uint32_t at, std::uint32_t word) {
          return word_in(&t.desk.outgoing[at], word);
        });
    warp_sync();
    sent += wanted - left;
    if (left != 0) {
      break;
    }
  }
  StripeCounts& counts = t.state.counts;
  (t.desk.reading.peer[p].live != 0 ? counts.unsent : counts.lost) += total - sent;
}

// Whether what follows this header of a message of the only row of a turn is laid out already
// (RowTurn::lay, lay_out_alone).
template <typename Workspace>
GCOORD_HD bool is_laid(const Workspace& desk, const netcore::Slot& header) {
  const std::uint64_t names = consensus::load_chunk(&header).word[0];
  const LogIndex before{consensus::load_chunk(header.bytes + 16).word[1]};
  const auto kind = static_cast<consensus::MessageKind>(names >> 32 & 0xffu);
  return (kind == consensus::MessageKind::Append) & (before + 1 == desk.laid.first) &
         (static_cast<std::uint32_t>(names >> 48) == desk.laid.count);
}

// Lays out the slots that follow message k of the only row of a turn, `count` of them. What follows
// two messages of the same entries is laid out once. Apart, since what a leader has just appended
// lies there already.
template <typename Service>
GCOORD_HD_APART void lay_out_alone(const TurnNode<Service>& node,
                                   WorkspaceFor<Service>& desk,
                                   const ScratchFor<Service>& scratch,
                                   std::uint32_t k,
                                   std::uint32_t count) {
  const consensus::MessageSlot message{desk.outgoing[k].bytes, 1};
  const RowBehind<Service> behind{scratch.snapshot[0], node.page_named(desk.page[0])};
  warp_sync();  // What lies there was read.
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t at = warp_rank(); at < count * consensus::kMessageChunks; at += warp_lanes()) {
    const std::uint32_t part = 1 + at / consensus::kMessageChunks;
    const std::uint32_t c = at % consensus::kMessageChunks;
    const consensus::MessageChunk chunk = chunk_behind(behind, message, part, c);
    consensus::store_chunk(
        desk.outgoing[kBehindAlone<Service> + part - 1].bytes + c * sizeof(consensus::MessageChunk),
        chunk.word[0],
        chunk.word[1]);
  }
  if (warp_rank() == 0) {
    desk.laid.first = LogIndex{message.chunk(1).word[1]} + 1;
    desk.laid.count = static_cast<std::uint32_t>(message.chunk(0).word[0] >> 48);
  }
  warp_sync();
}

// What a turn of one row says, which the step put into desk.outgoing: no list.
template <typename Service>
GCOORD_HD void send_messages_alone(StripeTurn<Service>& t,
                                   netcore::LaneSender (&to)[kPeersOf<Service>]) {
  const std::uint32_t messages = t.desk.message_count[0];
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t k = 0; k < messages; ++k) {
    const netcore::Slot& header = t.desk.outgoing[k];
    const consensus::MessageChunk first = consensus::load_chunk(&header);
    const std::uint32_t behind = slots_behind(t, first.word[0]);
    GCOORD_ASSERT(kBehindAlone<Service> + behind <= kTurnSlots);
    if (behind != 0 && !is_laid(t.desk, header)) {
      lay_out_alone(t.node, t.desk, t.scratch, k, behind);
    }
    GCOORD_UNROLL
    for (std::uint32_t p = 0; p < kPeersOf<Service>; ++p) {
      if (static_cast<std::uint32_t>(first.word[1] >> 32) == t.node.peer[p].value) {
        const std::uint32_t left = publish_slots<kFewSlots>(
            to[p], 1 + behind, [&t, &header](std::uint32_t part, std::uint32_t word) {
              return word_in(
                  part == 0 ? &header : &t.desk.outgoing[kBehindAlone<Service> + part - 1], word);
            });
        (t.desk.reading.peer[p].live != 0 ? t.state.counts.unsent : t.state.counts.lost) += left;
      }
    }
  }
  warp_sync();
}

// Sends message k of the kept row to peer p. Who lives has room (StripeEndpoints::has_plenty).
template <typename Service>
GCOORD_HD_FLAT void send_kept_to(StripeTurn<Service>& t,
                                 std::uint32_t p,
                                 std::uint32_t k,
                                 netcore::LaneSender& to) {
  const netcore::Slot& header = t.desk.outgoing[k];
  const std::uint32_t slots = 1 + slots_behind(t, consensus::load_chunk(&header).word[0]);
  GCOORD_ASSERT(kBehindAlone<Service> + slots <= 1 + kTurnSlots);
  if ((slots != 1) & !is_laid(t.desk, header)) {
    lay_out_alone(t.node, t.desk, t.scratch, k, slots - 1);
  }
  const auto words = [&t, &header](std::uint32_t part, std::uint32_t word) {
    return word_in(part == 0 ? &header : &t.desk.outgoing[kBehindAlone<Service> + part - 1], word);
  };
  const std::uint32_t few = kFewSlots < warp_lanes() ? kFewSlots : warp_lanes();
  std::uint32_t sent = 0;
  std::uint32_t published = 0;
  GCOORD_UNROLL_BY(1)
  do {
    const std::uint32_t left = slots - sent;
    published = to.template publish_known<kFewSlots>(
        left < few ? left : few, [&words, sent](std::uint32_t part, std::uint32_t word) {
          return words(sent + part, word);
        });
    sent += published;
  } while ((sent < slots) & (published != 0));
  (t.desk.reading.peer[p].live != 0 ? t.state.counts.unsent : t.state.counts.lost) += slots - sent;
}

// What the kept row says, one message to each peer at most, which the step put into desk.outgoing.
template <typename Service>
GCOORD_HD_FLAT void send_kept(StripeTurn<Service>& t,
                              netcore::LaneSender (&to)[kPeersOf<Service>]) {
  const std::uint32_t messages = t.desk.message_count[0];
  GCOORD_ASSERT(messages <= kPeersOf<Service>);
  std::uint32_t meant[kPeersOf<Service>];
  GCOORD_UNROLL
  for (std::uint32_t k = 0; k < kPeersOf<Service>; ++k) {
    const std::uint64_t ends = consensus::load_chunk(&t.desk.outgoing[k]).word[1];
    meant[k] = k < messages ? static_cast<std::uint32_t>(ends >> 32) : 0;
  }
  GCOORD_UNROLL
  for (std::uint32_t p = 0; p < kPeersOf<Service>; ++p) {
    const std::uint32_t peer = t.node.peer[p].value;
    std::uint32_t which = kPeersOf<Service> - 1;
    bool speaks = false;
    GCOORD_UNROLL
    for (std::uint32_t k = kPeersOf<Service>; k-- > 0;) {
      which = meant[k] == peer ? k : which;
      speaks = speaks | (meant[k] == peer);
    }
    if (speaks) {
      send_kept_to(t, p, which, to[p]);
    }
  }
  warp_sync();
}

// Before all replies: see apply_together().
template <typename Service>
GCOORD_HD void send_noops(StripeTurn<Service>& t, netcore::LaneSender& to) {
  const std::uint32_t count = t.desk.noop_count;
  const std::uint32_t total = (count + kNoopsPerSlot - 1) / kNoopsPerSlot;
  for (std::uint32_t at = warp_rank(); at < total; at += warp_lanes()) {
    const std::uint32_t left = count - at * kNoopsPerSlot;
    t.scratch.noops[at].count = left < kNoopsPerSlot ? left : kNoopsPerSlot;
    t.scratch.noops[at].verdict = TurnVerdict::Noops;
  }
  warp_sync();
  const std::uint32_t lost =
      publish_slots<kFewSlots>(to, total, [&t](std::uint32_t at, std::uint32_t word) {
        return word_in(&t.scratch.noops[at], word);
      });
  GCOORD_ASSERT(lost == 0);  // Their room was put aside (divide_room).
  t.state.counts.replies += total;
}

template <typename Service>
GCOORD_HD void send_replies(StripeTurn<Service>& t, netcore::LaneSender& to) {
  const std::uint32_t wanted = t.desk.reply_count;
  const std::uint32_t told = wanted < t.desk.reply_room ? wanted : t.desk.reply_room;
  const std::uint32_t total = told + t.desk.refused_count;
  const std::uint32_t lost =
      publish_slots<kFewSlots>(to, total, [&t, told](std::uint32_t at, std::uint32_t word) {
        return word_in(at < told ? &reply_slot(t, at) : &t.scratch.refused[at - told], word);
      });
  t.state.counts.replies += total - lost;
  t.state.counts.unreplied += lost;
}

}  // namespace gcoord::server
