#include "cli/bundle/manifest.h"

#include "ledger/base/sha256_stream.h"
#include "server/platform/version.h"

#include <cstdint>
#include <optional>
#include <span>

namespace gcoord::cli {
namespace {

constexpr std::uint32_t kFormat = 1;

Json clock_json(const NodeFacts& facts) {
  const auto offset = clock_offset(facts);
  if (!offset.has_value()) {
    return nullptr;
  }
  return {{"ahead_ms", offset->ahead_ms}, {"error_ms", offset->error_ms}};
}

Json node_json(const CollectedNode& node) {
  return {{"node", node.target.view.node_id},
          {"folder", node.folder},
          {"endpoint", node.target.view.address},
          {"pages", node.url},
          {"also_at", Json(node.target.also_at)},
          {"reachable", node.facts.reachable()},
          {"error", node.facts.error},
          {"version", node.facts.text("version")},
          {"clock", clock_json(node.facts)}};
}

Json file_json(const BundleFile& file) {
  return {{"name", file.name},
          {"bytes", std::to_string(file.content.size())},
          {"sha256", sha256_hex(file.content)},
          {"source", file.source},
          {"begun_ms", std::to_string(file.begun_ms)},
          {"took_ms", std::to_string(file.took_ms)},
          {"cut", file.cut}};
}

Json gap_json(const BundleGap& gap) {
  return {{"name", gap.name}, {"node", gap.node}, {"why", gap.why}, {"failed", gap.failed}};
}

template <typename Items, typename ToJson>
Json list_of(const Items& items, const ToJson& to_json) {
  Json list = Json::array();
  for (const auto& item : items) {
    list.push_back(to_json(item));
  }
  return list;
}

}  // namespace

std::string sha256_hex(const std::string& bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  ledger::Sha256Stream stream;
  stream.add(std::as_bytes(std::span(bytes)));
  std::string hex;
  for (const std::byte byte : stream.finish()) {
    hex += kDigits[std::to_integer<unsigned>(byte) >> 4];
    hex += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return hex;
}

Json manifest_of(const Collection& collection) {
  return {{"format", kFormat},
          {"gcoordctl", server::kVersion},
          {"begun_ms", std::to_string(collection.begun_ms)},
          {"took_ms", std::to_string(collection.took_ms)},
          {"sample_seconds", collection.sample.count()},
          {"complete", collection.complete()},
          {"nodes", list_of(collection.nodes, node_json)},
          {"files", list_of(collection.content.files, file_json)},
          {"gaps", list_of(collection.content.gaps, gap_json)}};
}

std::vector<ArchivedFile> archived_files(const Collection& collection) {
  const std::uint64_t end_ms = collection.begun_ms + collection.took_ms;
  std::vector<ArchivedFile> files{{.name = std::string(kBundleFolder) + "manifest.json",
                                   .content = manifest_of(collection).dump(1) + "\n",
                                   .unix_seconds = end_ms / 1000}};
  for (const BundleFile& file : collection.content.files) {
    files.push_back({.name = kBundleFolder + file.name,
                     .content = file.content,
                     .unix_seconds = file.begun_ms / 1000});
  }
  return files;
}

}  // namespace gcoord::cli
