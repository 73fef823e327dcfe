#include "cli/bundle/archive.h"

#include "common/host/child_process.h"
#include "tests/scratch_folder.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;

constexpr std::chrono::milliseconds kPatience{60'000};

std::string file_text(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// What tar prints.
std::string tar(const std::vector<std::string>& arguments) {
  ChildOptions options;
  options.arguments = {"/usr/bin/env", "tar"};
  options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
  options.capture_output = true;
  auto child = ChildProcess::start(options);
  EXPECT_TRUE(child.ok()) << child.status().to_string();
  const std::string out = child.value().read_all(kPatience);
  EXPECT_EQ(child.value().wait_for(kPatience), 0) << out;
  return out;
}

class ArchiveTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  const ScratchFolder folder_;
};

TEST_F(ArchiveTest, TarUnpacksWhatWentIn) {
  std::vector<ArchivedFile> files;
  for (const std::size_t size : {std::size_t{0},
                                 std::size_t{1},
                                 std::size_t{511},
                                 std::size_t{512},
                                 std::size_t{513},
                                 std::size_t{100'000},
                                 (std::size_t{16} << 20) + 1}) {
    std::string content;
    for (std::size_t at = 0; at < size; ++at) {
      content += static_cast<char>(at * 7 + at / 512);
    }
    files.push_back({"top/in/" + std::to_string(size), content, 1'790'000'000});
  }
  files.push_back({std::string(100, 'n'), "the longest name", 1'790'000'000});
  const auto archive = make_archive(files);
  ASSERT_TRUE(archive.ok());
  ASSERT_TRUE(write_new_file(path("a.tar.gz"), archive.value()).ok());
  tar({"-C", folder_.path().string(), "-xzf", path("a.tar.gz")});
  for (const ArchivedFile& file : files) {
    EXPECT_TRUE(file_text(folder_.path() / file.name) == file.content) << file.name;
  }
  const std::string listed =
      tar({"--utc", "--full-time", "--numeric-owner", "-tvzf", path("a.tar.gz")});
  EXPECT_THAT(listed, HasSubstr("-rw------- 0/0               1 2026-09-21 14:13:20 top/in/1\n"));
}

TEST_F(ArchiveTest, TheSameFilesAreTheSameBytes) {
  const std::vector<ArchivedFile> files{{"a", "one", 1}, {"b", "two", 2}};
  EXPECT_EQ(make_archive(files).value(), make_archive(files).value());
}

TEST_F(ArchiveTest, AFileIsNewAndItsUsersAlone) {
  ASSERT_TRUE(check_new_file(path("f")).ok());
  ASSERT_TRUE(write_new_file(path("f"), "bytes").ok());
  EXPECT_EQ(file_text(path("f")), "bytes");

  struct stat facts {};

  ASSERT_EQ(::stat(path("f").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0600u);
  EXPECT_FALSE(check_new_file(path("f")).ok());
  const Status again = write_new_file(path("f"), "others");
  EXPECT_EQ(again.code(), StatusCode::InvalidArgument);
  EXPECT_THAT(again.message(), HasSubstr("File exists"));
  EXPECT_EQ(file_text(path("f")), "bytes");
}

TEST_F(ArchiveTest, ALinkIsNotFollowedAlsoOneThatLeadsNowhere) {
  std::ofstream(path("victim")) << "theirs";
  std::filesystem::create_symlink(path("victim"), path("link"));
  std::filesystem::create_symlink(path("nothing"), path("nowhere"));
  for (const char* name : {"link", "nowhere"}) {
    EXPECT_FALSE(check_new_file(path(name)).ok()) << name;
    EXPECT_FALSE(write_new_file(path(name), "ours").ok()) << name;
  }
  EXPECT_EQ(file_text(path("victim")), "theirs");
  EXPECT_FALSE(std::filesystem::exists(path("nothing")));
  EXPECT_FALSE(check_new_file(path("no/such/folder")).ok());
}

}  // namespace
}  // namespace gcoord::cli
