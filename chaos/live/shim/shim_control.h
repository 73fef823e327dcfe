// Control block that the preloaded shim of one node shares with its nemesis: a small file that both
// map.
//
// The nemesis writes wishes, the shim obeys them and counts what it did. Every member is a
// lock-free atomic of its own except the clock, whose members change together under
// `clock_sequence` (odd while they change; a seqlock with one writer). Zeros wish for nothing, so a
// fresh file is a perfect disk and a perfect clock. Linux; any thread of either program.
#pragma once

#include <atomic>
#include <cstdint>

namespace gcoord::chaos {

// Names of the environment: the file above, the directory whose files are on the faulty disk, and
// the directory beside it in which the shim remembers what is not durable yet.
inline constexpr const char* kShimControlVariable = "GCOORD_SHIM_CONTROL";
inline constexpr const char* kShimDiskVariable = "GCOORD_SHIM_DISK";
inline constexpr const char* kShimUndoVariable = "GCOORD_SHIM_UNDO";

struct ShimControl {
  // CLOCK_BOOTTIME reads shown_base + (real - real_base) * rate / 10^6; rate 0 is the real clock.
  // CLOCK_REALTIME reads wall_offset_ns more than it is.
  std::atomic<std::uint32_t> clock_sequence;
  std::atomic<std::uint32_t> rate_millionths;
  std::atomic<std::int64_t> real_base_ns;
  std::atomic<std::int64_t> shown_base_ns;
  std::atomic<std::int64_t> wall_offset_ns;

  std::atomic<std::uint32_t> sync_delay_us;   // Added to every fsync and fdatasync.
  std::atomic<std::uint32_t> sync_fails_in;   // The n-th sync from now on fails with EIO. 0: none.
  std::atomic<std::uint32_t> write_tears_in;  // The n-th write of the log of record is torn, and
                                              // the process ends in it by SIGKILL. 0: none.
  std::atomic<std::uint32_t> space_is_gone;   // What needs space fails with ENOSPC.
  std::atomic<std::uint64_t> tear_seed;
  // Size of the disk, of which its files take as many bytes as they are long: statvfs says so, and
  // what does not fit fails with ENOSPC. 0: it is as large as the real one. Where space_is_gone,
  // statvfs knows nothing of that, like that of a quota.
  std::atomic<std::uint64_t> capacity_bytes;

  // Counts, for the record that a fault was more than a wish.
  std::atomic<std::uint64_t> clock_reads_changed;
  std::atomic<std::uint64_t> syncs;
  std::atomic<std::uint64_t> syncs_delayed;
  std::atomic<std::uint64_t> syncs_failed;
  std::atomic<std::uint64_t> writes;
  std::atomic<std::uint64_t> writes_torn;
  std::atomic<std::uint64_t> space_refusals;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "two processes share it");
static_assert(std::atomic<std::int64_t>::is_always_lock_free, "two processes share it");

}  // namespace gcoord::chaos
