#include "ledger/notes/checkpoint_note.h"

#include "common/assert.h"
#include "common/base64.h"
#include "ledger/base/error_details.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace gcoord::ledger {
namespace {

Status refuse(const std::string& why) {
  return Status{StatusCode::DataLoss, why, kHeadMalformed};
}

bool is_line(std::string_view text) {
  return !text.empty() && text.find('\n') == text.npos;
}

std::optional<std::uint64_t> decimal(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && std::to_string(number) == text ? std::optional(number) : std::nullopt;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    lines.push_back(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(lines.back().size() + 1, text.size()));
  }
  return lines;
}

}  // namespace

std::string cluster_origin(std::uint64_t cluster_id) {
  return "gcoord/" + std::to_string(cluster_id);
}

std::string shard_origin(std::uint64_t cluster_id, std::uint32_t shard) {
  return cluster_origin(cluster_id) + "/shard/" + std::to_string(shard);
}

std::string node_key_name(std::uint64_t cluster_id, std::uint32_t node_id) {
  return cluster_origin(cluster_id) + "/node/" + std::to_string(node_id);
}

std::string checkpoint_text(const CheckpointNote& checkpoint) {
  GCOORD_ASSERT(is_line(checkpoint.origin));
  std::string text = checkpoint.origin + "\n" + std::to_string(checkpoint.size) + "\n" +
                     to_base64(checkpoint.root) + "\n";
  for (const std::string& extension : checkpoint.extensions) {
    GCOORD_ASSERT(is_line(extension));
    text += extension + "\n";
  }
  return text;
}

Result<CheckpointNote> parse_checkpoint_text(std::string_view text) {
  const std::vector<std::string_view> lines = lines_of(text);
  if (!text.ends_with('\n') || lines.size() < 3) {
    return refuse("a checkpoint has at least three lines");
  }
  const auto empty =
      std::find_if(lines.begin(), lines.end(), [](std::string_view line) { return line.empty(); });
  if (empty != lines.end()) {
    return refuse("line " + std::to_string(empty - lines.begin() + 1) + " is empty");
  }
  const auto size = decimal(lines[1]);
  if (!size) {
    return refuse("line 2 is not a size");
  }
  const auto root = from_base64(lines[2]);
  if (!root || root->size() != kMerkleHashBytes) {
    return refuse("line 3 is not a hash in base64");
  }
  CheckpointNote checkpoint{.origin = std::string{lines[0]}, .size = *size};
  std::copy(root->begin(), root->end(), checkpoint.root.begin());
  checkpoint.extensions.assign(lines.begin() + 3, lines.end());
  return checkpoint;
}

Result<CheckpointNote> open_checkpoint(std::string_view note, const CheckpointTrust& trust) {
  GCOORD_TRY(const SignedNote parsed, parse_note(note));
  GCOORD_TRY(const auto signers, verify_note(parsed, trust.keys, trust.quorum));
  GCOORD_ASSERT(signers.size() >= trust.quorum);
  GCOORD_TRY(CheckpointNote checkpoint, parse_checkpoint_text(parsed.text));
  if (checkpoint.origin != trust.origin) {
    return Status{StatusCode::DataLoss,
                  "the checkpoint is of " + checkpoint.origin + ", not of " + trust.origin,
                  kHeadOrigin};
  }
  return checkpoint;
}

}  // namespace gcoord::ledger
