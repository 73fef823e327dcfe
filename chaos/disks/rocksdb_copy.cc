#include "chaos/disks/rocksdb_copy.h"

#include "common/assert.h"
#include "common/random.h"
#include "ledger/checkpoint/checkpoint_batch.h"
#include "ledger/checkpoint/checkpoint_store.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::chaos {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSessions = 3;

std::string kind_of(const std::string& name) {
  if (name.ends_with(".sst")) {
    return "table";
  }
  if (name.ends_with(".log")) {
    return "log";
  }
  for (const auto& [prefix, kind] : {std::pair{"MANIFEST", "manifest"},
                                     std::pair{"CURRENT", "current"},
                                     std::pair{"OPTIONS", "options"},
                                     std::pair{"IDENTITY", "identity"},
                                     std::pair{"LOG", "messages"}}) {
    if (name.starts_with(prefix)) {
      return kind;
    }
  }
  return "other";
}

// Every third row of the medium; the last session also says what is covered.
ledger::CheckpointBatch batch_of(const ledger::CheckpointMedium& medium, std::size_t session) {
  ledger::CheckpointBatch batch;
  std::size_t place = 0;
  for (std::size_t which = 0; which < medium.columns.size(); ++which) {
    for (const auto& [key, stored] : medium.columns[which]) {
      if (place++ % kSessions != session) {
        continue;
      }
      const auto value = std::span<const std::byte>{stored}.subspan(ledger::kValueCrcBytes);
      const auto column = static_cast<ledger::CheckpointColumn>(which);
      if (column == ledger::CheckpointColumn::Meta) {
        batch.put_meta({reinterpret_cast<const char*>(key.data()), key.size()}, value);
      } else {
        batch.put(column, ledger::decode_shard_key(key), value);
      }
    }
  }
  if (session + 1 == kSessions) {
    batch.covers(ledger::Lsn{medium.covered_lsn});
  }
  return batch;
}

Status write_sessions(const std::string& directory, const ledger::CheckpointMedium& medium) {
  for (std::size_t session = 0; session < kSessions; ++session) {
    GCOORD_TRY(const auto store, ledger::CheckpointStore::open(directory));
    const ledger::CheckpointBatch batch = batch_of(medium, session);
    if (!batch.empty()) {
      GCOORD_TRY_STATUS(store->write(batch));
    }
  }
  return Status{};
}

}  // namespace

RocksDbCopies::RocksDbCopies(const std::string& parent, const ledger::CheckpointMedium& medium)
    : original_(parent + "/original"),
      copy_(parent + "/copy"),
      made_(write_sessions(original_, medium)) {}

RocksDbCopies::~RocksDbCopies() {
  std::error_code ignored;  // What is left goes with the scratch directory.
  fs::remove_all(original_, ignored);
  fs::remove_all(copy_, ignored);
}

std::string RocksDbCopies::copy() const {
  fs::remove_all(copy_);
  fs::copy(original_, copy_, fs::copy_options::recursive);
  return copy_;
}

FlippedFile RocksDbCopies::flip(std::uint64_t choice) const {
  std::map<std::string, std::vector<std::string>> names;
  for (const auto& entry : fs::directory_iterator(copy_)) {
    if (entry.is_regular_file() && entry.file_size() > 0) {
      const std::string name = entry.path().filename().string();
      names[kind_of(name)].push_back(name);
    }
  }
  GCOORD_ASSERT(!names.empty());
  auto chosen = names.begin();
  std::advance(chosen, static_cast<std::ptrdiff_t>(choice % names.size()));
  std::ranges::sort(chosen->second);
  const std::string& name = chosen->second[mix64(choice) % chosen->second.size()];
  const std::string path = copy_ + "/" + name;
  const std::uint64_t bit = mix64(choice + 1) % (fs::file_size(path) * 8);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(bit / 8));
  const auto byte = static_cast<char>(file.get() ^ (1 << (bit % 8)));
  file.seekp(static_cast<std::streamoff>(bit / 8));
  file.put(byte);
  file.flush();
  GCOORD_ASSERT(file.good());
  return {chosen->first,
          name + " byte " + std::to_string(bit / 8) + " bit " + std::to_string(bit % 8)};
}

}  // namespace gcoord::chaos
