// The two ends of a ring that a client and a node share (layout.h): a writer and a reader.
//
// Each end keeps its own cursor in memory of its own and believes the other's word only within
// bounds: it is loaded once and judged as loaded. What lies in the ring is copied out before anyone
// looks at it, so the other side may scribble in it at any time and harms nobody but itself. A
// cursor or a piece that cannot be makes the ring broken, for ever; then nothing is taken or
// written any more. Neither end ever waits. What a reader has taken it overwrites with zeros before
// it says so, so that no secret stays behind.
//
// An end that has nothing to do says so with arm() and sleeps until the other side rings, which it
// does once per sleep: after a bell comes disarm(), and arm() for another sleep. All is ordered so
// that no wake-up is lost (WakeOrder). While both are busy nobody rings.
//
// Host and device. One thread, or on a device one thread of a group, has an end.
#pragma once

#include "common/hd.h"
#include "netcore/client_ring/layout.h"
#include "netcore/memory/order.h"
#include "netcore/memory/wake_order.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gcoord::netcore {

// One side's word for "I sleep", odd while it does, and the other side's memory of it.
class RingSleep {
 public:
  // Stores that this side sleeps; then what `other` holds.
  GCOORD_HD std::uint64_t begin(std::uint64_t& word, const std::uint64_t& other) {
    number_ += is_begun() ? 0 : 1;
    return WakeOrder::publish_then_look(word, number_, other);
  }

  GCOORD_HD void end(std::uint64_t& word) {
    if (is_begun()) {
      ++number_;
      SystemOrder::raise(word, number_);
    }
  }

  GCOORD_HD bool is_begun() const { return number_ % 2 != 0; }

 private:
  std::uint64_t number_ = 0;
};

// Whether the other side, whose word this is, is to be woken: once for each of its sleeps.
class RingWaker {
 public:
  GCOORD_HD bool wakes(std::uint64_t word) {
    const bool sleeps = word % 2 != 0 && word != woken_;
    woken_ = sleeps ? word : woken_;
    return sleeps;
  }

 private:
  std::uint64_t woken_ = 0;
};

class RingWriter {
 public:
  RingWriter() = default;

  // Of a ring in which nothing was written yet.
  GCOORD_HD explicit RingWriter(const ClientRingView& ring) : ring_(ring) {}

  // Copies as many of the bytes in as there is room for, as one piece; how many. The reader sees
  // them after publish(). 0: there is no room, or the ring is broken.
  GCOORD_HD std::uint32_t write(const std::byte* from, std::size_t count) {
    const std::uint64_t wanted =
        piece_span(count < ring_.capacity ? count : std::size_t{ring_.capacity});
    if (room() < wanted) {
      look_at_reader();
    }
    const std::uint64_t space = room();
    if (broken_ || count == 0 || (space < wanted && space < kRoomMin)) {
      return 0;
    }
    const std::uint64_t most = space - sizeof(RingPiece);
    RingPiece piece;
    piece.stamp = piece_stamp(written_);
    piece.bytes = static_cast<std::uint32_t>(count < most ? count : most);
    copy_in(written_, reinterpret_cast<const std::byte*>(&piece), sizeof(piece));
    copy_in(written_ + sizeof(piece), from, piece.bytes);
    written_ += piece_span(piece.bytes);
    return piece.bytes;
  }

  // Shows the reader what was written. Whether the reader sleeps and is to be woken.
  GCOORD_HD bool publish() {
    if (published_ == written_) {
      return false;
    }
    published_ = written_;
    return reader_.wakes(
        WakeOrder::publish_then_look(ring_.words->written, written_, ring_.words->reader_sleep));
  }

  // Says that it waits for room. False: there is some already, or the ring is broken; then it does
  // not wait.
  GCOORD_HD bool arm() {
    note_read(wait_.begin(ring_.words->writer_wait, ring_.words->read));
    if (broken_ || room() >= kRoomMin) {
      disarm();
      return false;
    }
    return true;
  }

  GCOORD_HD void disarm() { wait_.end(ring_.words->writer_wait); }

  GCOORD_HD bool is_armed() const { return wait_.is_begun(); }

  // Whether write() would take something that did not fit, or the ring is broken.
  GCOORD_HD bool has_room() {
    look_at_reader();
    return broken_ || room() >= kRoomMin;
  }

  // Whether the reader's word contradicts this side's.
  GCOORD_HD bool broken() const { return broken_; }

 private:
  // A stream that does not fit is cut at this size at least, so that no piece is mostly header.
  static constexpr std::uint64_t kRoomMin = 1024;

  GCOORD_HD std::uint64_t room() const { return ring_.capacity - (written_ - read_); }

  GCOORD_HD void look_at_reader() { note_read(SystemOrder::observe(ring_.words->read)); }

  // Only what lies between the last value and what was written can be.
  GCOORD_HD void note_read(std::uint64_t read) {
    if (read < read_ || read > published_ || read % kRingLineBytes != 0) {
      broken_ = true;
    } else if (!broken_) {
      read_ = read;
    }
  }

  GCOORD_HD void copy_in(std::uint64_t cursor, const std::byte* from, std::size_t count) {
    const std::size_t place = static_cast<std::size_t>(cursor & (ring_.capacity - 1));
    const std::size_t behind = ring_.capacity - place;
    const std::size_t first = count < behind ? count : behind;
    memcpy(ring_.bytes + place, from, first);
    memcpy(ring_.bytes, from + first, count - first);
  }

  ClientRingView ring_;
  std::uint64_t written_ = 0;
  std::uint64_t published_ = 0;
  std::uint64_t read_ = 0;  // As of the last look.
  RingSleep wait_;
  RingWaker reader_;
  bool broken_ = false;
};

// What a reader took at once.
struct RingTaken {
  std::uint32_t bytes = 0;
  bool wakes = false;  // The writer waits for room and is to be woken.
};

class RingReader {
 public:
  RingReader() = default;

  // Of a ring from which nothing was read yet.
  GCOORD_HD explicit RingReader(const ClientRingView& ring) : ring_(ring) {}

  // Room that take() needs at most for what is here now: not more than the ring's capacity.
  GCOORD_HD std::size_t waiting_bytes() {
    look_at_writer();
    return broken_ ? 0 : static_cast<std::size_t>(written_ - read_);
  }

  // Copies whole pieces out, as many as fit; `room`: at least what waiting_bytes() said. Pieces
  // that came since then stay where they do not fit.
  GCOORD_HD RingTaken take(std::byte* to, std::size_t room) {
    RingTaken taken;
    look_at_writer();
    while (!broken_ && read_ != written_) {
      RingPiece piece;
      copy_out(read_, reinterpret_cast<std::byte*>(&piece), sizeof(piece));
      const bool sound = piece.stamp == piece_stamp(read_) && piece.bytes > 0 &&
                         piece_span(piece.bytes) <= written_ - read_;
      if (!sound) {
        broken_ = true;
        break;
      }
      if (piece.bytes > room - taken.bytes) {
        break;
      }
      copy_out(read_ + sizeof(piece), to + taken.bytes, piece.bytes);
      overwrite(read_, piece_span(piece.bytes));
      read_ += piece_span(piece.bytes);
      taken.bytes += piece.bytes;
    }
    if (taken.bytes > 0) {
      taken.wakes = writer_.wakes(
          WakeOrder::publish_then_look(ring_.words->read, read_, ring_.words->writer_wait));
    }
    return taken;
  }

  // Says that it sleeps. False: something is here, or the ring is broken; then it does not sleep.
  GCOORD_HD bool arm() {
    note_written(sleep_.begin(ring_.words->reader_sleep, ring_.words->written));
    if (broken_ || read_ != written_) {
      disarm();
      return false;
    }
    return true;
  }

  GCOORD_HD void disarm() { sleep_.end(ring_.words->reader_sleep); }

  GCOORD_HD bool is_armed() const { return sleep_.is_begun(); }

  // Whether take() would bring something, or say that the ring is broken.
  GCOORD_HD bool has_input() {
    look_at_writer();
    return broken_ || read_ != written_;
  }

  // Whether the writer's word or a piece of it cannot be.
  GCOORD_HD bool broken() const { return broken_; }

 private:
  GCOORD_HD void look_at_writer() { note_written(SystemOrder::observe(ring_.words->written)); }

  GCOORD_HD void note_written(std::uint64_t written) {
    if (written < written_ || written - read_ > ring_.capacity || written % kRingLineBytes != 0) {
      broken_ = true;
    } else if (!broken_) {
      written_ = written;
    }
  }

  GCOORD_HD void copy_out(std::uint64_t cursor, std::byte* to, std::size_t count) const {
    const std::size_t place = static_cast<std::size_t>(cursor & (ring_.capacity - 1));
    const std::size_t behind = ring_.capacity - place;
    const std::size_t first = count < behind ? count : behind;
    memcpy(to, ring_.bytes + place, first);
    memcpy(to + first, ring_.bytes, count - first);
  }

  // The compiler keeps it: another process may look there as soon as the cursor is published.
  GCOORD_HD void overwrite(std::uint64_t cursor, std::uint64_t count) {
    const std::size_t place = static_cast<std::size_t>(cursor & (ring_.capacity - 1));
    const std::size_t behind = ring_.capacity - place;
    const std::size_t first = count < behind ? static_cast<std::size_t>(count) : behind;
    memset(ring_.bytes + place, 0, first);
    memset(ring_.bytes, 0, static_cast<std::size_t>(count) - first);
  }

  ClientRingView ring_;
  std::uint64_t read_ = 0;
  std::uint64_t written_ = 0;  // As of the last look.
  RingSleep sleep_;
  RingWaker writer_;
  bool broken_ = false;
};

}  // namespace gcoord::netcore
