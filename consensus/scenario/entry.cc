#include "consensus/scenario/entry.h"

#include "common/assert.h"
#include "common/random.h"

#include <cstring>

namespace gcoord::consensus::scenario {

Entry encode_configuration(const Configuration& configuration) {
  Entry entry{EntryKind::Configuration, std::string(sizeof configuration, '\0')};
  std::memcpy(entry.bytes.data(), &configuration, sizeof configuration);
  return entry;
}

Configuration decode_configuration(const Entry& entry) {
  GCOORD_ASSERT(entry.kind == EntryKind::Configuration);
  GCOORD_ASSERT(entry.bytes.size() == sizeof(Configuration));
  Configuration configuration;
  std::memcpy(&configuration, entry.bytes.data(), sizeof configuration);
  return configuration;
}

void ServiceState::apply(const Entry& entry) {
  ++applied;
  if (entry.kind == EntryKind::Command) {
    commands.push_back({applied, entry.bytes});
  }
}

ServiceState ServiceState::at(LogIndex index) const {
  GCOORD_ASSERT(index <= applied);
  ServiceState earlier{index, {}};
  for (const AppliedCommand& command : commands) {
    if (command.index <= index) {
      earlier.commands.push_back(command);
    }
  }
  return earlier;
}

std::uint64_t ServiceState::digest() const {
  std::uint64_t digest = mix64(applied.value);
  for (const AppliedCommand& command : commands) {
    digest = mix64(digest ^ command.index.value);
    for (const char character : command.command) {
      digest = mix64(digest ^ static_cast<unsigned char>(character));
    }
  }
  return digest;
}

}  // namespace gcoord::consensus::scenario
