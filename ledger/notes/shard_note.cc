#include "ledger/notes/shard_note.h"

#include "common/assert.h"
#include "ledger/base/error_details.h"

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace gcoord::ledger {
namespace {

constexpr std::string_view kWord = "cluster ";

Status refuse(const CheckpointNote& checkpoint, const std::string& why) {
  return Status{
      StatusCode::DataLoss,
      "the checkpoint of " + checkpoint.origin + " has " + why + " that leads to the cluster log",
      kHeadMalformed};
}

std::string line_of(const ClusterPosition& place) {
  return std::string{kWord} + std::to_string(place.leaf_index) + " " + std::to_string(place.size);
}

// What a line says; nothing if it says it in another way than line_of() does.
std::optional<ClusterPosition> read_line(const std::string& line) {
  ClusterPosition place;
  const char* const end = line.data() + line.size();
  const auto first = std::from_chars(line.data() + kWord.size(), end, place.leaf_index);
  if (first.ec != std::errc{} || first.ptr == end) {
    return std::nullopt;
  }
  std::from_chars(first.ptr + 1, end, place.size);
  return line_of(place) == line && place.leaf_index < place.size ? std::optional(place)
                                                                 : std::nullopt;
}

}  // namespace

CheckpointNote shard_checkpoint(std::uint64_t cluster_id,
                                const ShardHead& head,
                                const ClusterPosition& place) {
  GCOORD_ASSERT(place.leaf_index < place.size);
  return {.origin = shard_origin(cluster_id, head.shard.value),
          .size = head.size,
          .root = head.root,
          .extensions = {line_of(place)}};
}

Result<ClusterPosition> cluster_place(const CheckpointNote& checkpoint) {
  std::optional<ClusterPosition> place;
  for (const std::string& line : checkpoint.extensions) {
    if (!line.starts_with(kWord)) {
      continue;
    }
    const auto read = read_line(line);
    if (!read || place) {
      return refuse(checkpoint, read ? "two lines" : "a line that cannot be read");
    }
    place = read;
  }
  return place ? Result<ClusterPosition>{*place} : refuse(checkpoint, "no line");
}

}  // namespace gcoord::ledger
