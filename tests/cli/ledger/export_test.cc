#include "cli/ledger/export.h"

#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace gcoord::cli {
namespace {

TEST(WriteFile, ALinkAtThePartialFileIsNotFollowed) {
  const ScratchFolder folder;
  const std::string target = folder.path("target");
  std::ofstream(target) << "precious";
  std::filesystem::create_symlink(target, folder.path("tile.partial"));
  EXPECT_FALSE(write_file(folder.path("tile"), "bytes").ok());
  EXPECT_EQ(std::filesystem::file_size(target), 8u);
  EXPECT_FALSE(std::filesystem::exists(folder.path("tile")));
}

TEST(WriteFile, TakesThePlaceOfWhatAnInterruptedExportLeft) {
  const ScratchFolder folder;
  std::ofstream(folder.path("tile.partial")) << "longer than what is written";
  EXPECT_TRUE(write_file(folder.path("tile"), "bytes").ok());
  EXPECT_EQ(std::filesystem::file_size(folder.path("tile")), 5u);
}

}  // namespace
}  // namespace gcoord::cli
