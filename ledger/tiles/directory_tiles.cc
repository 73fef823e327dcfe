#include "ledger/tiles/directory_tiles.h"

#include "ledger/base/error_details.h"

#include <filesystem>
#include <fstream>

namespace gcoord::ledger {

Result<std::vector<std::byte>> DirectoryTiles::read(const std::string& path,
                                                    std::size_t bytes_max) const {
  const std::filesystem::path file = std::filesystem::path(directory_) / path;
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory) {
    return Status{StatusCode::NotFound, file.string(), kLedgerAbsent};
  }
  if (error) {
    return Status{
        StatusCode::Unavailable, file.string() + ": " + error.message(), kLedgerUnreachable};
  }
  if (size > bytes_max) {
    return Status{StatusCode::DataLoss,
                  file.string() + " has " + std::to_string(size) + " bytes, the most is " +
                      std::to_string(bytes_max),
                  kLedgerOversized};
  }
  std::vector<std::byte> bytes(size);
  std::ifstream stream(file, std::ios::binary);
  stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!stream || stream.peek() != std::ifstream::traits_type::eof()) {
    return Status{StatusCode::Unavailable, file.string() + " cannot be read", kLedgerUnreachable};
  }
  return bytes;
}

}  // namespace gcoord::ledger
