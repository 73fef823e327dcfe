#include "chaos/live/bit_flip.h"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace gcoord::chaos {

namespace {

namespace fs = std::filesystem;

std::uint64_t used_bytes(const fs::path& file) {
  std::ifstream in{file, std::ios::binary};
  std::uint64_t used = 0;
  std::uint64_t at = 0;
  std::vector<char> part(1u << 20);
  while (in.read(part.data(), static_cast<std::streamsize>(part.size())) || in.gcount() > 0) {
    const auto end = part.begin() + in.gcount();
    const auto last =
        std::find_if(std::make_reverse_iterator(end), part.rend(), [](char c) { return c != 0; });
    if (last != part.rend()) {
      used = at + static_cast<std::uint64_t>(last.base() - part.begin());
    }
    at += static_cast<std::uint64_t>(in.gcount());
  }
  return used;
}

}  // namespace

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code failed;
  for (const auto& entry : fs::recursive_directory_iterator(folder, failed)) {
    if (entry.is_regular_file()) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

Result<BitFlip> flip_bit(const std::vector<fs::path>& files, Draw& draw) {
  std::vector<std::uint64_t> used;
  std::uint64_t total = 0;
  for (const fs::path& file : files) {
    used.push_back(used_bytes(file));
    total += used.back();
  }
  if (total == 0) {
    return Status{StatusCode::NotFound, "there is nothing in which a bit could flip"};
  }
  std::uint64_t place = draw.word() % total;
  std::size_t which = 0;
  while (place >= used[which]) {
    place -= used[which++];
  }
  BitFlip flip{.file = files[which], .offset = place};
  flip.mask = static_cast<std::uint8_t>(1u << draw.below(8));
  std::fstream stream{flip.file, std::ios::binary | std::ios::in | std::ios::out};
  stream.seekg(static_cast<std::streamoff>(flip.offset));
  flip.flipped = static_cast<std::uint8_t>(static_cast<unsigned>(stream.get()) ^ flip.mask);
  stream.seekp(static_cast<std::streamoff>(flip.offset));
  stream.put(static_cast<char>(flip.flipped));
  stream.flush();
  return stream.good() ? Result<BitFlip>{flip}
                       : Status{StatusCode::Unavailable, "cannot change " + flip.file.string()};
}

bool flip_back(const BitFlip& flip) {
  std::fstream stream{flip.file, std::ios::binary | std::ios::in | std::ios::out};
  stream.seekg(static_cast<std::streamoff>(flip.offset));
  if (!stream.good() || stream.get() != flip.flipped) {
    return false;
  }
  stream.seekp(static_cast<std::streamoff>(flip.offset));
  stream.put(static_cast<char>(flip.flipped ^ flip.mask));
  return stream.good();
}

}  // namespace gcoord::chaos
