#include "ledger/tiles/tile_path.h"

#include "ledger/base/error_details.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

namespace gcoord::ledger {
namespace {

constexpr std::string_view kPrefix = "tile/";
constexpr std::string_view kEntries = "entries/";
constexpr std::string_view kPartial = ".p/";
constexpr std::size_t kShown = 80;

std::string three_digits(std::uint64_t number) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "%03u", static_cast<unsigned>(number));
  return text.data();
}

std::string spelled_index(std::uint64_t index) {
  std::string text = three_digits(index % 1000);
  for (index /= 1000; index != 0; index /= 1000) {
    text.insert(0, "x" + three_digits(index % 1000) + "/");
  }
  return text;
}

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

// A number of at most three digits.
std::optional<std::uint64_t> small_number(std::string_view text) {
  if (text.empty() || text.size() > 3 || !std::all_of(text.begin(), text.end(), is_digit)) {
    return std::nullopt;
  }
  std::uint64_t number = 0;
  for (const char digit : text) {
    number = number * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  return number;
}

// No index of a tile is above: 2^64 entries are 2^56 tiles.
constexpr std::uint64_t kIndexMax = (std::uint64_t{1} << 56) - 1;

std::optional<std::uint64_t> index_of(std::string_view text) {
  std::uint64_t index = 0;
  while (text.starts_with('x') && text.size() > 5 && text[4] == '/' && index <= kIndexMax) {
    const auto group = small_number(text.substr(1, 3));
    if (!group) {
      return std::nullopt;
    }
    index = index * 1000 + *group;
    text.remove_prefix(5);
  }
  const auto last = small_number(text);
  if (!last || index > kIndexMax) {
    return std::nullopt;
  }
  return index * 1000 + *last;
}

std::optional<TilePath> read_path(std::string_view text) {
  if (!text.starts_with(kPrefix)) {
    return std::nullopt;
  }
  text.remove_prefix(kPrefix.size());
  TilePath path;
  if (text.starts_with(kEntries)) {
    path.kind = TilePath::Kind::Entries;
    text.remove_prefix(kEntries.size());
  } else {
    const auto level = small_number(text.substr(0, text.find('/')));
    if (!level || *level >= kTileLevels || text.size() < 2) {
      return std::nullopt;
    }
    path.level = static_cast<std::uint32_t>(*level);
    text.remove_prefix(2);
  }
  if (const std::size_t partial = text.find(kPartial); partial != text.npos) {
    const auto width = small_number(text.substr(partial + kPartial.size()));
    if (!width || *width == 0 || *width >= kTileWidth) {
      return std::nullopt;
    }
    path.width = static_cast<std::uint32_t>(*width);
    text = text.substr(0, partial);
  }
  const auto index = index_of(text);
  if (!index || *index > kIndexMax >> (kTileHeight * path.level)) {
    return std::nullopt;
  }
  path.index = *index;
  return path;
}

}  // namespace

std::string to_string(const TilePath& path) {
  std::string text{kPrefix};
  text += path.kind == TilePath::Kind::Entries ? std::string{kEntries}
                                               : std::to_string(path.level) + "/";
  text += spelled_index(path.index);
  if (path.width != kTileWidth) {
    text += std::string{kPartial} + std::to_string(path.width);
  }
  return text;
}

Result<TilePath> parse_tile_path(std::string_view text) {
  const std::optional<TilePath> path = read_path(text);
  if (path && to_string(*path) == text) {
    return *path;
  }
  return Status{
      StatusCode::InvalidArgument, "'" + std::string{text.substr(0, kShown)} + "'", kTilePath};
}

}  // namespace gcoord::ledger
