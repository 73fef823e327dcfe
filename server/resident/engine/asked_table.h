// Requests under way to a device, by their tags, in a table that allocates nothing for a request.
//
// Tags count up and are never used twice. A tag's low bits name its place and the whole tag stands
// there, so that one that ended, or never was, finds nothing; a place that is still taken is passed
// over, and with it its tag. The requests of a shard are linked through their places in the order
// of their tags. Reads that share an answer lie in a pool of their own behind the first of them.
//
// Where tags say who asked and when (entry_stamp.h), only their low kStampCountBits count. Such a
// tag comes again only where so many requests later a clock has gone back by just the time between;
// no answer is under way for so long. Which request came before which one says its order.
//
// Memory: twice the places of the requests that were under way at once, as a power of two; it grows
// and is kept. One thread.
#pragma once

#include "common/ids.h"
#include "common/random.h"
#include "common/tables/mapped_column.h"
#include "locks/commands/entry_layout.h"
#include "server/interfaces/entry_stamp.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace gcoord::server {

enum class AskedKind : std::uint8_t { Command, Read };

// A request that ended, or is still under way.
struct Asked {
  AskedKind kind = AskedKind::Command;
  ShardId shard;
  std::uint32_t weight = 1;
  std::uint64_t cookie = 0;  // Of a command, or of the first read that waits for an answer.
  std::uint64_t mark = 0;    // Of its entry: entry_mark().
  std::uint32_t rider = 0;   // The next read that shares the answer; 0: none.
};

// Tells entries apart, as far as a request says them: a device that answers one has to have the
// entry that was asked for.
inline std::uint64_t entry_mark(const locks::LockEntry& entry) {
  std::uint64_t mark = entry.head;
  for (const std::uint64_t word : entry.word) {
    mark = mix64(mark ^ word);
  }
  return mark;
}

class AskedTable {
 public:
  // So many have places by the low bits of tags with a stamp, half of them free. Whoever adds sees
  // to it that there are no more, and that reads, which no lane bounds, leave room for commands.
  static constexpr std::size_t kAskedMax = std::size_t{1} << (kStampCountBits - 1);
  static constexpr std::size_t kAskedBeforeReadMax = kAskedMax / 2;

  explicit AskedTable(std::uint32_t shard_count);

  // A tag that names nothing here: of a probe.
  std::uint64_t skip() { return tag_last_ = ++order_last_; }

  // Adds a request behind all others of its shard. Its tag, in front of which `before` tags in a
  // row are those of its pieces. `stamp`: what a tag says beside its count (stamp_bits()); 0: it is
  // the count alone, as releases before Feature::DeviceLedger have it.
  std::uint64_t add(const Asked& asked, std::uint32_t before, std::uint64_t stamp = 0);

  // The entry of a request that was added just now.
  void set_entry(std::uint64_t tag, const locks::LockEntry& entry) {
    place(tag).asked.mark = entry_mark(entry);
  }

  // Adds a read to one that is under way.
  void ride(std::uint64_t read, std::uint64_t cookie);

  // Where a tag's request would stand comes nearer.
  void expect(std::uint64_t tag) const { __builtin_prefetch(&place(tag)); }

  // Whether a request of this tag is under way.
  bool has(std::uint64_t tag) const { return tag != 0 && place(tag).tag == tag; }

  // What is under way by this tag; nothing: it ended, or was never made.
  std::optional<AskedKind> kind_of(std::uint64_t tag) const {
    return has(tag) ? std::optional{place(tag).asked.kind} : std::nullopt;
  }

  // The shard of a request that is under way.
  ShardId shard_of(std::uint64_t tag) const { return place(tag).asked.shard; }

  // Of a request that is under way: grows from each request to the next.
  std::uint64_t order_of(std::uint64_t tag) const { return place(tag).order; }

  // Whether a request, or a piece of one, may have had this tag.
  bool was_given(std::uint64_t tag) const;

  // The tag and the order that were given last.
  std::uint64_t tag_last() const { return tag_last_; }

  std::uint64_t order_last() const { return order_last_; }

  // Ends the request of a tag. Nothing: there is none, or it ended before.
  std::optional<Asked> take(std::uint64_t tag);

  // The oldest request of a shard; 0: none.
  std::uint64_t first_of(ShardId shard) const { return first_[shard.value]; }

  // The next read that shared the answer, whose cookie `asked` has then. False: that was all.
  bool next_rider(Asked& asked);

  std::size_t size() const { return count_; }

  // Whether a command, or a read, may be added.
  bool takes_command() const { return count_ < kAskedMax; }

  bool takes_read() const { return count_ < kAskedBeforeReadMax; }

 private:
  struct Place {
    std::uint64_t tag = 0;  // 0: free.
    std::uint64_t order = 0;
    Asked asked;
    std::uint32_t last_rider = 0;
    std::uint64_t next = 0;  // Tags of the same shard, in a ring.
    std::uint64_t previous = 0;
  };

  struct Rider {
    std::uint64_t cookie = 0;
    std::uint32_t next = 0;
  };

  Place& place(std::uint64_t tag) { return places_[tag & (places_.size() - 1)]; }

  const Place& place(std::uint64_t tag) const { return places_[tag & (places_.size() - 1)]; }

  void grow();
  void link(Place& added);
  void unlink(const Place& ended);

  std::vector<Place> places_;
  std::size_t count_ = 0;
  std::uint64_t order_last_ = 0;
  std::uint64_t tag_last_ = 0;
  std::uint64_t stamped_first_ = 0;    // The order of the first tag with a stamp; 0: there is none.
  std::uint64_t stamp_least_ = 0;      // Of the stamps that were given,
  std::uint64_t stamp_most_ = 0;       // as numbers.
  MappedColumn<std::uint64_t> first_;  // By shard; pages of idle ones cost nothing.
  std::vector<Rider> riders_;          // The first one is none.
  std::uint32_t rider_free_ = 0;
};

}  // namespace gcoord::server
