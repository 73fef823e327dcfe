// A snapshot gets its name when it is whole and durable, and never before.
#include "ledger/snapshot/file.h"

#include "ledger/base/error_details.h"
#include "tests/ledger/snapshot/snapshot_samples.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

namespace gcoord::ledger {
namespace {

class SnapshotFileTest : public testing::Test {
 protected:
  void save(const std::vector<std::byte>& bytes) {
    auto writer = SnapshotFileWriter::create(path_);
    ASSERT_TRUE(writer.ok()) << writer.status().to_string();
    ASSERT_TRUE(writer.value()->write(bytes).ok());
    ASSERT_TRUE(writer.value()->commit().ok());
  }

  bool part_exists() const { return std::filesystem::exists(path_ + ".part"); }

  Result<SnapshotFacts> facts() const {
    SampleReader reader;
    return read_snapshot(path_, reader);
  }

  const ScratchFolder directory_;
  const std::string path_ = directory_.path("snapshot");
};

TEST_F(SnapshotFileTest, IsReadBackWithItsFacts) {
  const std::vector<std::byte> bytes = encode_sample(sample_header(), sample_shards());
  save(bytes);
  const auto read = facts();
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read.value().file_bytes, bytes.size());
  EXPECT_EQ(read.value().end.shard_count, 3u);
  EXPECT_FALSE(part_exists());
}

TEST_F(SnapshotFileTest, OneThatIsGivenUpLeavesWhatWasThere) {
  save(encode_sample(sample_header(), {}));
  {
    auto writer = SnapshotFileWriter::create(path_);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer.value()->write(sample_state(10, 1)).ok());
    EXPECT_TRUE(part_exists());
  }
  EXPECT_FALSE(part_exists());
  ASSERT_TRUE(facts().ok());
  EXPECT_EQ(facts().value().end.shard_count, 0u);
}

TEST_F(SnapshotFileTest, TakesThePlaceOfAPartThatAKilledSaveLeft) {
  std::ofstream(path_ + ".part") << "half of something longer than the next save will be at all";
  EXPECT_EQ(facts().status().detail(), kSnapshotUnreadable);
  save(encode_sample(sample_header(), {}));
  EXPECT_TRUE(facts().ok());
}

TEST_F(SnapshotFileTest, IsWrittenByOneProcessAtATime) {
  auto first = SnapshotFileWriter::create(path_);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(SnapshotFileWriter::create(path_).status().detail(), kSnapshotUnwritten);
}

TEST_F(SnapshotFileTest, SaysWhereItCannotBeWritten) {
  EXPECT_EQ(SnapshotFileWriter::create(directory_.path("none/file")).status().detail(),
            kSnapshotUnwritten);
}

TEST_F(SnapshotFileTest, ALinkAtThePartIsNotFollowed) {
  const std::string target = directory_.path("target");
  std::filesystem::create_symlink(target, path_ + ".part");
  const auto writer = SnapshotFileWriter::create(path_);
  EXPECT_EQ(writer.status().detail(), kSnapshotUnwritten);
  EXPECT_NE(writer.status().message().find("is a link"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(target));
}

// What this process writes to files is bounded, for the life of the object.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit limit{bytes, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }

  ~FileSizeLimit() {
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before_), 0);
    std::signal(SIGXFSZ, handler_);
  }

  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST_F(SnapshotFileTest, AWriteThatFailsFailsTheSave) {
  const FileSizeLimit limit{1024};
  auto writer = SnapshotFileWriter::create(path_);
  ASSERT_TRUE(writer.ok()) << writer.status().to_string();
  const Status status = writer.value()->write(sample_state(4096, 1));
  EXPECT_EQ(status.detail(), kSnapshotUnwritten) << status.to_string();
}

}  // namespace
}  // namespace gcoord::ledger
