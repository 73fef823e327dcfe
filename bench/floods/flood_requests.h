// The requests of a client that never reads: one kind of flood for each connection, without an end.
//
// A stream is made for one connection to one node and gives frames for it. Not thread-safe.
#pragma once

#include "common/ids.h"
#include "protocol/frame.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::bench {

// What a connection asks for again and again.
enum class FloodKind : std::uint8_t {
  Lists,     // Status of the node, pages of shards, leaders and locks.
  Gets,      // One lock with a long name and note.
  Acquires,  // Locks of one session, in many shards.
  Count,
};

const char* flood_kind_name(FloodKind kind);

// What a stream asks about.
struct FloodSubject {
  std::uint32_t shards = 0;
  std::uint64_t session = 0;    // Of Acquires.
  std::uint32_t ttl_ms = 0;     // Of that session.
  std::string lock;             // Of Gets; held, and led by the node.
  std::string names = "flood";  // How names of Acquires begin.
};

class FloodRequests {
 public:
  FloodRequests(FloodKind kind, FloodSubject subject);

  // Appends one frame, of some tens of requests.
  void append_frame(protocol::FrameBuilder& builder, std::vector<std::byte>& out);

 private:
  // A lock of the flood, in a shard of its own.
  struct Name {
    std::string text;
    std::uint32_t shard = 0;
    std::uint64_t sequence = 0;
  };

  void add_list(protocol::FrameBuilder& builder);
  void add_get(protocol::FrameBuilder& builder);
  void add_acquire(protocol::FrameBuilder& builder);

  FloodKind kind_;
  FloodSubject subject_;
  std::vector<Name> names_;
  std::size_t count_ = 0;
};

}  // namespace gcoord::bench
