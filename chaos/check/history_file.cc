#include "chaos/check/history_file.h"

#include <utility>

namespace gcoord::chaos {

Result<std::unique_ptr<HistoryWriter>> HistoryWriter::open(const std::filesystem::path& file) {
  std::FILE* opened = std::fopen(file.c_str(), "we");
  if (opened == nullptr) {
    return Status{StatusCode::Unavailable, "cannot write " + file.string()};
  }
  return std::unique_ptr<HistoryWriter>{new HistoryWriter{opened}};
}

bool HistoryWriter::close() {
  const std::lock_guard lock{mutex_};
  if (file_ != nullptr) {
    failed_ |= std::fclose(file_) != 0;
    file_ = nullptr;
  }
  return !failed_;
}

HistoryWriter::~HistoryWriter() {
  close();
}

void HistoryWriter::write(const Operation& operation) {
  const std::string line = to_json_line(operation) + "\n";
  const std::lock_guard lock{mutex_};
  failed_ |= file_ == nullptr || std::fwrite(line.data(), 1, line.size(), file_) != line.size();
}

Status read_history(const std::filesystem::path& file, History& history) {
  return read_lines(file, "history", history, [&](const std::string& line, std::uint64_t) {
    GCOORD_TRY(auto operation, parse_operation(line));
    history.operations.push_back(std::move(operation));
    return Status{};
  });
}

}  // namespace gcoord::chaos
