#include "chaos/live/shim/shim_state.h"

#include "chaos/live/shim/raw_calls.h"

#include <sys/mman.h>
#include <time.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace gcoord::chaos {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string{} : std::string{value};
}

ShimControl* map_control(const std::string& path) {
  const int fd = raw::openat(AT_FDCWD, path.c_str(), O_RDWR | O_CLOEXEC, 0);
  if (fd < 0) {
    return nullptr;
  }
  void* mapped = ::mmap(nullptr, sizeof(ShimControl), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  raw::close(fd);
  return mapped == MAP_FAILED ? nullptr : static_cast<ShimControl*>(mapped);
}

std::string folder_of(int fd) {
  char path[PATH_MAX];
  const std::string link =
      fd == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/" + std::to_string(fd);
  const ssize_t bytes = ::readlink(link.c_str(), path, sizeof(path));
  return bytes <= 0 ? std::string{} : std::string(path, static_cast<std::size_t>(bytes));
}

std::uint64_t inode_of(const std::string& path) {
  struct stat attributes {};

  return ::stat(path.c_str(), &attributes) == 0 ? attributes.st_ino : 0;
}

}  // namespace

ShimState& ShimState::of_process() {
  // Never destroyed: threads write until the process ends.
  static ShimState& state = *new ShimState;
  return state;
}

ShimState::ShimState() : tracked_(new std::atomic<bool>[kDescriptorsMax]()) {
  const std::string control = variable(kShimControlVariable);
  disk_ = variable(kShimDiskVariable);
  undo_ = variable(kShimUndoVariable);
  if (control.empty() || disk_.empty() || undo_.empty()) {
    disk_.clear();
    return;
  }
  control_ = map_control(control);
  const std::string directories = undo_ + "/" + kDirectoriesFile;
  directories_fd_ =
      raw::openat(AT_FDCWD, directories.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  // Graves of earlier lives stay; these are told apart by when this life began.
  timespec now{};
  ::syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  graves_ = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000 +
            static_cast<std::uint64_t>(now.tv_nsec) / 1000;
}

std::shared_ptr<UndoJournal> ShimState::journal(int fd) {
  if (fd < 0 || fd >= kDescriptorsMax || !tracked_[static_cast<std::size_t>(fd)].load()) {
    return nullptr;
  }
  const std::lock_guard lock{mutex_};
  const auto found = journals_.find(fd);
  return found == journals_.end() ? nullptr : found->second;
}

std::string ShimState::on_disk(int folder, const char* path) const {
  if (disk_.empty() || path == nullptr) {
    return {};
  }
  std::string whole = absolute(folder, path);
  const bool inside = whole.size() > disk_.size() && whole.compare(0, disk_.size(), disk_) == 0 &&
                      whole[disk_.size()] == '/';
  return inside ? whole : std::string{};
}

bool ShimState::is_disk(int folder, const char* path) const {
  return !disk_.empty() && path != nullptr && absolute(folder, path) == disk_;
}

bool ShimState::is_directory_of_disk(int fd) const {
  if (disk_.empty()) {
    return false;
  }
  const std::string folder = folder_of(fd);
  return folder == disk_ || folder.rfind(disk_ + "/", 0) == 0;
}

// Files come and go meanwhile: those that are gone take nothing.
std::uint64_t ShimState::used_bytes() const {
  std::uint64_t sum = 0;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator file{disk_, error}, end; file != end;) {
    std::error_code gone;
    if (file->is_regular_file(gone)) {
      const std::uint64_t bytes = file->file_size(gone);
      sum += gone ? 0 : bytes;
    }
    file.increment(error);
  }
  return sum;
}

std::string ShimState::absolute(int folder, const char* path) {
  const bool whole = path[0] == '/';
  return whole ? std::string{path} : folder_of(folder) + "/" + path;
}

void ShimState::disk_put_aside() {
  const std::lock_guard lock{mutex_};
  raw::ftruncate(directories_fd_, 0);
}

void ShimState::opened(int fd, const std::string& path, bool fresh) {
  struct stat attributes {};

  if (fd >= kDescriptorsMax || ::fstat(fd, &attributes) != 0 || !S_ISREG(attributes.st_mode)) {
    return;
  }
  const std::lock_guard lock{mutex_};
  std::weak_ptr<UndoJournal>& known = journal_of_inode_[attributes.st_ino];
  std::shared_ptr<UndoJournal> journal = known.lock();
  if (journal == nullptr || fresh) {
    const bool log_of_record = path.find("/wal/") != std::string::npos;
    journal = std::make_shared<UndoJournal>(undo_, fd, fresh, log_of_record);
    known = journal;
  }
  journals_[fd] = std::move(journal);
  tracked_[static_cast<std::size_t>(fd)].store(true);
}

void ShimState::closing(int fd) {
  if (fd < 0 || fd >= kDescriptorsMax || !tracked_[static_cast<std::size_t>(fd)].exchange(false)) {
    return;
  }
  const std::lock_guard lock{mutex_};
  journals_.erase(fd);
}

void ShimState::copied(int fd, int copy) {
  std::shared_ptr<UndoJournal> same = journal(fd);
  if (same == nullptr || copy < 0 || copy >= kDescriptorsMax) {
    return;
  }
  const std::lock_guard lock{mutex_};
  journals_[copy] = std::move(same);
  tracked_[static_cast<std::size_t>(copy)].store(true);
}

std::uint64_t ShimState::bury(const std::string& path) {
  const std::uint64_t grave = ++graves_;
  const std::string where = undo_ + "/" + kGravesFolder + "/" + std::to_string(grave);
  return ::link(path.c_str(), where.c_str()) == 0 ? grave : 0;
}

void ShimState::changing(DirectoryChange change,
                         const std::string& path,
                         const std::string& target) {
  const std::lock_guard lock{mutex_};
  DirectoryRecord record{.change = change, .directory = inode_of(path.substr(0, path.rfind('/')))};
  if (change == DirectoryChange::Remove || change == DirectoryChange::Rename) {
    record.grave = bury(change == DirectoryChange::Remove ? path : target);
  }
  append(record, path, target);
}

void ShimState::directory_synced(int fd) {
  struct stat attributes {};

  if (disk_.empty() || ::fstat(fd, &attributes) != 0 || !S_ISDIR(attributes.st_mode)) {
    return;
  }
  const std::lock_guard lock{mutex_};
  append({.change = DirectoryChange::Synced, .directory = attributes.st_ino}, {}, {});
}

void ShimState::append(DirectoryRecord record, std::string_view path, std::string_view target) {
  record.path_bytes = static_cast<std::uint32_t>(path.size());
  record.target_bytes = static_cast<std::uint32_t>(target.size());
  std::string bytes(reinterpret_cast<const char*>(&record), sizeof(record));
  bytes += path;
  bytes += target;
  raw::write(directories_fd_, bytes.data(), bytes.size());
}

}  // namespace gcoord::chaos
