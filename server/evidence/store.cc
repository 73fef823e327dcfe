#include "server/evidence/store.h"

#include "ledger/disk/posix_disk.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <system_error>

namespace gcoord::server {
namespace {

constexpr std::string_view kPrefix = "votes-";

// Nothing for a file that is no evidence under its own name.
std::optional<DoubleVote> read_one(ledger::Disk& disk, const std::string& name) {
  const auto file = disk.open(name);
  if (!file.ok()) {
    return std::nullopt;
  }
  const auto size = file.value()->size_bytes();
  if (!size.ok() || size.value() > kDoubleVoteTextMax) {
    return std::nullopt;
  }
  const auto bytes = ledger::read_all(*file.value());
  if (!bytes.ok()) {
    return std::nullopt;
  }
  const auto evidence =
      parse_evidence({reinterpret_cast<const char*>(bytes.value().data()), bytes.value().size()});
  const bool named = evidence.ok() && name_of(evidence.value().shown) == name;
  return named ? std::optional(evidence.value().shown) : std::nullopt;
}

}  // namespace

Status EvidenceStore::load(std::vector<std::string>& damaged) {
  const std::string path = directory_ + "/" + kFolder;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return Status{};
  }
  GCOORD_TRY(const auto disk, ledger::PosixDisk::open_directory(path));
  GCOORD_TRY(const auto names, disk->list());
  for (const std::string& name : names) {
    if (!name.starts_with(kPrefix) || list_.size() == kFilesMax) {
      continue;
    }
    if (const auto shown = read_one(*disk, name)) {
      list_.push_back(*shown);
    } else {
      damaged.push_back(name);
    }
  }
  return Status{};
}

bool EvidenceStore::has(const DoubleVote& shown) const {
  return std::ranges::any_of(list_, [&](const DoubleVote& each) {
    return each.voter == shown.voter && each.life == shown.life && each.of == shown.of;
  });
}

bool EvidenceStore::has_room(NodeId voter) const {
  const auto of_voter = std::ranges::count(list_, voter, &DoubleVote::voter);
  return list_.size() < kFilesMax && static_cast<std::size_t>(of_voter) < kVoterFilesMax;
}

Status EvidenceStore::add(const VoteEvidence& evidence) {
  list_.push_back(evidence.shown);
  GCOORD_TRY(const auto disk, ledger::PosixDisk::open_directory(directory_ + "/" + kFolder));
  const std::string text = print_evidence(evidence);
  return ledger::write_atomically(*disk, name_of(evidence.shown), std::as_bytes(std::span(text)));
}

}  // namespace gcoord::server
