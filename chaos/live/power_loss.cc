#include "chaos/live/power_loss.h"

#include "chaos/live/shim/undo_format.h"
#include "common/random.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace gcoord::chaos {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSectorBytes = 512;

// Streams of random numbers.
enum Stream : std::uint64_t { kOfDisk = 1, kOfDirectories = 2, kOfSizes = 3 };

std::string read_whole(const fs::path& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

// What a disk does to writes that were under way.
enum class Fate : std::uint8_t { AllLost, SomeLost, AllKept };

Fate fate_of_disk(std::uint64_t seed) {
  const std::uint32_t drawn = random_below(random64(seed, kOfDisk, 0), 8);
  return drawn < 3 ? Fate::AllLost : drawn < 7 ? Fate::SomeLost : Fate::AllKept;
}

// Lowest first; `at` is where the old bytes begin in the journal.
struct Change {
  UndoRecord record;
  std::size_t at = 0;
};

std::vector<Change> changes_of(const std::string& journal) {
  std::vector<Change> changes;
  UndoHeader header;
  if (journal.size() < sizeof(header)) {
    return changes;
  }
  std::memcpy(&header, journal.data(), sizeof(header));
  UndoRecord record;
  for (std::size_t at = header.first; at + sizeof(record) <= journal.size();) {
    std::memcpy(&record, journal.data() + at, sizeof(record));
    const std::size_t kept = record.kind == UndoKind::Bytes ? record.bytes : 0;
    if (record.magic != kUndoMagic || at + sizeof(record) + kept > journal.size()) {
      break;
    }
    changes.push_back({record, at + sizeof(record)});
    at += sizeof(record) + kept;
  }
  return changes;
}

// Takes the changes of one file back.
class FileUndo {
 public:
  FileUndo(int fd, std::uint64_t seed, PowerLoss& loss)
      : fd_(fd), seed_(seed), fate_(fate_of_disk(seed)), loss_(loss) {}

  void run(const std::string& journal) {
    const std::vector<Change> changes = changes_of(journal);
    for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
      take_back(*change, journal);
    }
    if (!changes.empty()) {
      ++loss_.files_changed;
      take_back_size(changes.front().record.old_size);
    }
  }

 private:
  // One answer per sector, so that of several writes to it all or none survive.
  bool is_lost(std::uint64_t sector) const {
    return fate_ == Fate::AllLost ||
           (fate_ == Fate::SomeLost && (random64(seed_, kOfDisk, sector + 1) & 1u) != 0);
  }

  void take_back(const Change& change, const std::string& journal) {
    const UndoRecord& record = change.record;
    const std::string zeros(kSectorBytes, '\0');
    for (std::uint64_t done = 0; done < record.bytes;) {
      const std::uint64_t at = record.offset + done;
      const std::uint64_t part = std::min(kSectorBytes - at % kSectorBytes, record.bytes - done);
      const char* old =
          record.kind == UndoKind::Bytes ? journal.data() + change.at + done : zeros.data();
      const bool lost = is_lost(at / kSectorBytes);
      if (lost && ::pwrite(fd_, old, part, static_cast<off_t>(at)) < 0) {
        failed_ = true;
      }
      (lost ? loss_.bytes_lost : loss_.bytes_kept) += part;
      done += part;
    }
  }

  // What was beyond the durable end is gone, or long and full of holes.
  void take_back_size(std::uint64_t durable_size) {
    struct stat attributes {};

    const bool known = ::fstat(fd_, &attributes) == 0;
    const auto size = static_cast<std::uint64_t>(attributes.st_size);
    if (!known || size <= durable_size || fate_ == Fate::AllKept) {
      return;
    }
    const bool cut = fate_ == Fate::AllLost || (random64(seed_, kOfSizes, 0) & 1u) != 0;
    if (cut) {
      loss_.bytes_lost += size - durable_size;
      failed_ |= ::ftruncate(fd_, static_cast<off_t>(durable_size)) != 0;
      return;
    }
    const std::string zeros(kSectorBytes, '\0');
    for (std::uint64_t at = durable_size; at < size;) {
      const std::uint64_t part = std::min(kSectorBytes - at % kSectorBytes, size - at);
      const bool lost = is_lost(at / kSectorBytes);
      if (lost && ::pwrite(fd_, zeros.data(), part, static_cast<off_t>(at)) < 0) {
        failed_ = true;
      }
      (lost ? loss_.bytes_lost : loss_.bytes_kept) += part;
      at += part;
    }
  }

 public:
  bool failed() const { return failed_; }

 private:
  int fd_;
  std::uint64_t seed_;
  Fate fate_;
  PowerLoss& loss_;
  bool failed_ = false;
};

struct NamedChange {
  DirectoryRecord record;
  fs::path path;
  fs::path target;
};

std::vector<NamedChange> directory_changes(const std::string& bytes) {
  std::vector<NamedChange> changes;
  DirectoryRecord record;
  for (std::size_t at = 0; at + sizeof(record) <= bytes.size();) {
    std::memcpy(&record, bytes.data() + at, sizeof(record));
    const std::size_t names = std::size_t{record.path_bytes} + record.target_bytes;
    if (record.magic != kUndoMagic || at + sizeof(record) + names > bytes.size()) {
      break;
    }
    at += sizeof(record);
    changes.push_back({record,
                       bytes.substr(at, record.path_bytes),
                       bytes.substr(at + record.path_bytes, record.target_bytes)});
    at += names;
  }
  return changes;
}

void take_back(const NamedChange& change, const fs::path& graves) {
  std::error_code ignored;
  const fs::path grave = graves / std::to_string(change.record.grave);
  switch (change.record.change) {
    case DirectoryChange::Create:
    case DirectoryChange::Make:
      fs::remove_all(change.path, ignored);
      break;
    case DirectoryChange::Remove:
      if (!fs::exists(change.path) && change.record.grave != 0) {
        fs::rename(grave, change.path, ignored);
      }
      break;
    case DirectoryChange::Rename:
      if (!fs::exists(change.path) && fs::exists(change.target)) {
        fs::rename(change.target, change.path, ignored);
      }
      if (!fs::exists(change.target) && change.record.grave != 0) {
        fs::rename(grave, change.target, ignored);
      }
      break;
    case DirectoryChange::Synced:
      break;
  }
}

// Of each directory's changes since its sync the last ones are lost; how many, the seed says.
void lose_directory_changes(const PowerLossOptions& options, PowerLoss& loss) {
  const auto changes = directory_changes(read_whole(options.undo / kDirectoriesFile));
  std::map<std::uint64_t, std::uint32_t> pending;
  for (const NamedChange& change : changes) {
    auto& count = pending[change.record.directory];
    count = change.record.change == DirectoryChange::Synced ? 0 : count + 1;
  }
  const Fate fate = fate_of_disk(options.seed);
  for (auto& [directory, count] : pending) {
    const std::uint32_t some =
        random_below(random64(options.seed, kOfDirectories, directory), count + 1);
    count = fate == Fate::AllLost ? count : fate == Fate::SomeLost ? some : 0;
  }
  for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
    auto& left = pending[change->record.directory];
    if (change->record.change != DirectoryChange::Synced && left > 0) {
      --left;
      ++loss.directory_changes_lost;
      take_back(*change, options.undo / kGravesFolder);
    }
  }
}

Status lose_file_changes(const fs::path& file,
                         const fs::path& journal,
                         std::uint64_t seed,
                         PowerLoss& loss) {
  const std::string records = read_whole(journal);
  if (records.size() <= sizeof(UndoHeader)) {
    return Status{};
  }
  const int fd = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    return Status{StatusCode::Unavailable,
                  "cannot open " + file.string() + ": " + std::strerror(errno)};
  }
  FileUndo undo{fd, seed, loss};
  undo.run(records);
  ::close(fd);
  return undo.failed() ? Status{StatusCode::Unavailable, "cannot change " + file.string()}
                       : Status{};
}

}  // namespace

Result<PowerLoss> lose_power(const PowerLossOptions& options) {
  PowerLoss loss;
  lose_directory_changes(options, loss);
  for (const auto& entry : fs::recursive_directory_iterator(options.disk)) {
    struct stat attributes {};

    if (!entry.is_regular_file() || ::stat(entry.path().c_str(), &attributes) != 0) {
      continue;
    }
    const fs::path journal = options.undo / (std::to_string(attributes.st_ino) + kUndoSuffix);
    GCOORD_TRY_STATUS(
        lose_file_changes(entry.path(), journal, mix64(options.seed ^ attributes.st_ino), loss));
  }
  GCOORD_TRY_STATUS(clear_undo(options.undo));
  return loss;
}

Status clear_undo(const std::filesystem::path& undo) {
  std::error_code failed;
  fs::remove_all(undo, failed);
  fs::create_directories(undo / kGravesFolder, failed);
  return failed ? Status{StatusCode::Unavailable, undo.string() + ": " + failed.message()}
                : Status{};
}

}  // namespace gcoord::chaos
