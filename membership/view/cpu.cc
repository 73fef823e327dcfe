#include "membership/view/cpu.h"

#include "common/assert.h"
#include "common/bytes.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace gcoord::membership {

namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kBaseBytesMax = std::size_t{128} << 10;

ViewCode apply_bytes(ClusterView& view, std::span<const std::byte> bytes) {
  const auto command = decode_view_command(bytes);
  return command ? apply(view, *command) : ViewCode::Malformed;
}

}  // namespace

ViewCode ViewCpu::apply(std::span<const std::byte> command) {
  const ViewCode code = apply_bytes(table_.view, command);
  if (code != ViewCode::Applied) {
    return code;
  }
  table_.changes.emplace_back(command.begin(), command.end());
  if (table_.changes.size() > kViewChangesMax) {
    const ViewCode again = apply_bytes(table_.base, table_.changes.front());
    GCOORD_ASSERT(again == ViewCode::Applied);
    table_.changes.pop_front();
  }
  return code;
}

ViewCode ViewCpu::preview(const ViewCommand& command, ClusterView& view) const {
  view = table_.view;
  return membership::apply(view, command);
}

std::optional<ClusterView> ViewCpu::at(std::uint64_t epoch) const {
  if (epoch == 0 || epoch < table_.base.epoch || epoch > table_.view.epoch) {
    return std::nullopt;
  }
  ClusterView view = table_.base;
  for (std::size_t k = 0; view.epoch < epoch; ++k) {
    const ViewCode code = apply_bytes(view, table_.changes[k]);
    GCOORD_ASSERT(code == ViewCode::Applied);
  }
  return view;
}

std::uint64_t ViewCpu::oldest() const {
  return table_.base.epoch == 0 && !is_empty() ? 1 : table_.base.epoch;
}

bool ViewCpu::has_made(const MemberChange& change) const {
  const std::uint64_t base = table_.base.epoch;
  if (change.expected < base || change.expected >= table_.view.epoch) {
    return false;
  }
  const auto made = decode_view_command(table_.changes[change.expected - base]);
  return made && made->kind == ViewCommandKind::Update && made->change == change;
}

std::optional<std::uint64_t> ViewCpu::made_by(ViewCommandKind kind, std::uint64_t number) const {
  std::uint64_t epoch = table_.base.epoch;
  for (const std::vector<std::byte>& change : table_.changes) {
    ++epoch;
    const auto made = decode_view_command(change);
    if (made && made->kind == kind && is_member_step(kind) && made->step.number == number) {
      return epoch;
    }
  }
  return std::nullopt;
}

bool ViewCpu::has_steps() const {
  const bool in_changes =
      std::ranges::any_of(table_.changes, [](const std::vector<std::byte>& change) {
        return is_member_step(static_cast<ViewCommandKind>(change.front()));
      });
  const auto says_more = [](const ClusterView& view) { return protocol::plain_view(view) != view; };
  return in_changes || says_more(table_.view) || says_more(table_.base);
}

bool ViewCpu::has_admission(const std::function<bool(const MemberStep&)>& wanted) const {
  return std::ranges::any_of(table_.changes, [&wanted](const std::vector<std::byte>& change) {
    const auto made = decode_view_command(change);
    return made && made->kind == ViewCommandKind::Admit && wanted(made->step);
  });
}

bool ViewCpu::has_spent(const protocol::JoinToken& token) const {
  const protocol::JoinProof proof = protocol::join_token_proof(token);
  return has_admission([&proof](const MemberStep& step) { return step.proof == proof; });
}

bool ViewCpu::has_admitted(std::uint64_t directory, const protocol::JoinToken& token) const {
  const protocol::JoinProof proof = protocol::join_token_proof(token);
  return has_admission(
      [&](const MemberStep& step) { return step.directory == directory && step.proof == proof; });
}

void ViewCpu::serialize(std::vector<std::byte>& bytes) const {
  if (is_empty()) {
    return;
  }
  ByteWriter writer{bytes};
  const std::vector<std::byte> base = protocol::encode_view(table_.base);
  writer.integer(kVersion);
  writer.integer(static_cast<std::uint32_t>(base.size()));
  writer.bytes(base.data(), base.size());
  writer.integer(static_cast<std::uint32_t>(table_.changes.size()));
  for (const std::vector<std::byte>& change : table_.changes) {
    writer.text({reinterpret_cast<const char*>(change.data()), change.size()});
  }
}

std::optional<ViewCpu> ViewCpu::parse(std::span<const std::byte> bytes) {
  if (bytes.empty()) {
    return ViewCpu{};
  }
  ByteReader reader{bytes};
  const auto version = reader.integer<std::uint8_t>();
  const std::string_view base_bytes = reader.blob(kBaseBytesMax);
  auto base = protocol::decode_view(std::as_bytes(std::span{base_bytes}));
  const std::uint32_t count = reader.count(2, kViewChangesMax);
  if (!base || version != kVersion) {
    return std::nullopt;
  }
  ViewCpu state{*std::move(base)};
  for (std::uint32_t k = 0; k < count; ++k) {
    const std::string_view change = reader.text(kViewCommandBytesMax);
    if (state.apply(std::as_bytes(std::span{change})) != ViewCode::Applied) {
      return std::nullopt;
    }
  }
  const bool whole = reader.complete() && !state.is_empty();
  return whole ? std::optional(std::move(state)) : std::nullopt;
}

}  // namespace gcoord::membership
