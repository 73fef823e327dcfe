// Where resident nodes wait for each other: in a folder of their user alone, however long its path.
#include "server/resident/links/socket_folder.h"

#include "tests/scratch_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace gcoord::server {
namespace {

namespace fs = std::filesystem;

class SocketFolderTest : public testing::Test {
 protected:
  fs::path make(const std::string& name, mode_t mode = 0700) const {
    const fs::path path = folder_.path() / name;
    fs::create_directory(path);
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }

  const ScratchFolder folder_;
};

TEST_F(SocketFolderTest, ASocketLiesInTheFolderAndIsOfThisUserAlone) {
  const fs::path path = make("node");
  const auto folder = find_socket_folder(path.string());
  ASSERT_TRUE(folder.ok()) << folder.status().to_string();
  const auto opened = open_socket_folder(folder.value());
  ASSERT_TRUE(opened.ok()) << opened.status().to_string();
  const auto listener = netcore::listen_at(socket_path(opened.value(), NodeId{3}));
  ASSERT_TRUE(listener.ok()) << listener.status().to_string();
  EXPECT_EQ(fs::status(path / "turn-3.sock").type(), fs::file_type::socket);
  EXPECT_EQ(fs::status(path / "turn-3.sock").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

// The name of a socket has 107 bytes.
TEST_F(SocketFolderTest, APathThatIsTooLongForASocketServesAllTheSame) {
  const fs::path path = make(std::string(200, 'd'));
  const auto folder = find_socket_folder(path.string());
  ASSERT_TRUE(folder.ok()) << folder.status().to_string();
  const auto here = open_socket_folder(folder.value());
  const auto there = open_socket_folder(folder.value());
  ASSERT_TRUE(here.ok() && there.ok());
  const auto listener = netcore::listen_at(socket_path(here.value(), NodeId{3}));
  ASSERT_TRUE(listener.ok()) << listener.status().to_string();
  EXPECT_TRUE(netcore::call_at(socket_path(there.value(), NodeId{3}), 1000).ok());
}

TEST_F(SocketFolderTest, AFolderThatOthersMayEnterALinkAndAFileAreRefused) {
  EXPECT_EQ(find_socket_folder(make("open", 0755).string()).status().code(),
            StatusCode::FailedPrecondition);
  fs::create_symlink(make("node"), folder_.path() / "link");
  EXPECT_FALSE(find_socket_folder((folder_.path() / "link").string()).ok());
  std::ofstream(folder_.path() / "file") << "x";
  EXPECT_FALSE(find_socket_folder((folder_.path() / "file").string()).ok());
  EXPECT_FALSE(find_socket_folder((folder_.path() / "absent").string()).ok());
  EXPECT_FALSE(open_socket_folder({}).ok());
}

TEST_F(SocketFolderTest, OnlyTheFolderThatWasMeantIsOpened) {
  const fs::path path = make("node");
  const SocketFolder folder = find_socket_folder(path.string()).value();
  fs::rename(path, folder_.path() / "before");
  EXPECT_EQ(open_socket_folder(folder).status().code(), StatusCode::Unavailable);
  make("node");
  EXPECT_EQ(open_socket_folder(folder).status().code(), StatusCode::FailedPrecondition);
  SocketFolder foreign = find_socket_folder(path.string()).value();
  EXPECT_TRUE(open_socket_folder(foreign).ok());
  ++foreign.owner;
  EXPECT_EQ(open_socket_folder(foreign).status().code(), StatusCode::FailedPrecondition);
}

TEST_F(SocketFolderTest, ItTravelsWhole) {
  const SocketFolder folder{"/var/lib/gcoord/node-1", 0x1122334455667788, 42, 1000};
  const std::vector<std::byte> message = write_socket_folder(folder);
  EXPECT_TRUE(is_socket_folder(message));
  const auto read = read_socket_folder(message);
  ASSERT_TRUE(read.has_value());
  EXPECT_TRUE(*read == folder);
}

TEST_F(SocketFolderTest, WhatNoNodeTellsIsNoFolder) {
  const std::vector<std::byte> good = write_socket_folder({"/a", 1, 2, 3});
  ASSERT_EQ(good.size(), 26u);
  for (std::size_t bytes = 0; bytes <= 24; ++bytes) {
    EXPECT_FALSE(read_socket_folder(std::span{good}.first(bytes)).has_value()) << bytes;
  }
  std::vector<std::byte> bad = good;
  bad[0] = std::byte{7};
  EXPECT_FALSE(read_socket_folder(bad).has_value()) << "another kind";
  bad = good;
  bad[24] = std::byte{'a'};
  EXPECT_FALSE(read_socket_folder(bad).has_value()) << "not absolute";
  bad = good;
  bad[25] = std::byte{0};
  EXPECT_FALSE(read_socket_folder(bad).has_value()) << "a zero";
  bad = good;
  bad.resize(24 + kSocketFolderPathMax, std::byte{'x'});
  EXPECT_TRUE(read_socket_folder(bad).has_value());
  bad.push_back(std::byte{'x'});
  EXPECT_FALSE(read_socket_folder(bad).has_value()) << "too long";
}

}  // namespace
}  // namespace gcoord::server
