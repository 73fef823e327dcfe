// Prepared requests of one read: made by an I/O thread beforehand, so that the loop's thread need
// not do it: the verdict on their fields, the hash of their name, their command, and its entries
// for a log on a device (docs/adr/0144).
//
// The I/O thread decides nothing: who may ask, who leads and what a session may have is the loop's
// thread's to judge, which takes what is here in place of making it itself. Kinds that are not
// plain acquires and releases, and what came beyond kPreparedMax in one read, have nothing here and
// are served as ever, in the order of the stream with the others. Entries are made for names of up
// to kPreparedPieces pieces.
//
// Memory: grows with what one read brings and is kept up to kPreparedKept requests. It belongs to
// one thread at a time (CheckedInput). Not thread-safe.
#pragma once

#include "locks/commands/command.h"
#include "locks/commands/entry_layout.h"
#include "protocol/error_codes.h"
#include "protocol/frame.h"
#include "protocol/validate.h"
#include "server/ingress/way.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::server {

// Requests of one read that are prepared: more would weigh several times the bytes of a read.
inline constexpr std::size_t kPreparedMax = 256;

// Of a client that sends a few at a time.
inline constexpr std::size_t kPreparedKept = 64;

// Pieces of a name before its command's entry: names of up to 128 bytes.
inline constexpr std::uint32_t kPreparedPieces = 3;

// By what a node's I/O threads prepare; the same for its whole life.
struct IngressRules {
  protocol::RequestLimits limits;
  bool entries = false;  // Its log lies on a device.
};

struct PreparedRequest {
  protocol::ErrorCode error = protocol::ErrorCode::None;  // As check_request() says.
  IngressWay way = IngressWay::Checked;
  locks::LockCommand command;  // Where there is no error. Its name lies in the frame.
  std::span<const locks::LockEntry> entries;  // Of the command, pieces first; perhaps none.
};

class PreparedRequests {
 public:
  explicit PreparedRequests(const std::optional<IngressRules>& rules) : rules_(rules) {}

  // --- The I/O thread, after a read.

  // Nothing is here.
  void clear();

  // The next frame's requests; of a frame that outlives what is here.
  void add(const protocol::FrameView& frame);

  // After the last frame.
  void seal();

  // --- The loop's thread, in the order of the frames.

  // The next frame is the one that at() is about.
  void next_frame();

  // Of a slot of that frame; nullptr: nothing was prepared. Valid until clear().
  const PreparedRequest* at(std::size_t slot) const;

  std::size_t memory_bytes() const;

  // Gives back what a large read took; all memory. Nothing is here then.
  void shrink();
  void release();

 private:
  struct Place {
    std::uint32_t request = 0;  // 1 + its number; 0: none.
  };

  struct Entries {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };

  void prepare(const protocol::RequestSlot& slot, std::span<const std::byte> payload);
  Entries write_entries(const locks::LockCommand& command);

  std::optional<IngressRules> rules_;
  std::vector<Place> places_;               // By slot, over all frames.
  std::vector<std::uint32_t> frame_first_;  // By frame: its first slot's place.
  std::vector<PreparedRequest> requests_;
  std::vector<Entries> of_requests_;  // Beside them, until seal().
  std::vector<locks::LockEntry> entries_;
  std::size_t frame_next_ = 0;
  std::size_t slot_first_ = 0;  // Of the frame that at() is about,
  std::size_t slot_end_ = 0;    // and behind it.
};

}  // namespace gcoord::server
