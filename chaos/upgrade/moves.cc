#include "chaos/upgrade/moves.h"

#include "chaos/random/draw.h"

namespace gcoord::chaos {

namespace {

constexpr Release kTimes[] = {Release::This, Release::Previous, Release::This};

}  // namespace

std::string_view release_name(Release release) {
  return release == Release::This ? "this release" : "the previous one";
}

std::vector<Move> upgrade_moves(std::uint32_t node_count, std::uint64_t seed) {
  std::vector<Move> moves;
  std::uint64_t time = 0;
  for (const Release to : kTimes) {
    Draw draw{seed, ++time};
    const std::uint32_t killed = draw.between(1, node_count);
    for (const std::uint32_t node : draw.some(node_count, node_count)) {
      const auto number = static_cast<std::uint32_t>(moves.size() + 1);
      moves.push_back({.number = number, .node = node, .to = to, .killed = node == killed});
    }
  }
  return moves;
}

std::string refusal_in(std::string_view log) {
  const std::size_t number = log.rfind("GC2007");
  if (number == std::string_view::npos) {
    return {};
  }
  const std::size_t before = log.rfind('\n', number);
  const std::size_t first = before == std::string_view::npos ? 0 : before + 1;
  return std::string{log.substr(first, log.find('\n', number) - first)};
}

}  // namespace gcoord::chaos
