// A file without a name, which linkat names when it is complete.
#include "harness/base/pending_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

namespace plumbline {

namespace fs = std::filesystem;

PendingFile::PendingFile(fs::path path) : path_(std::move(path)) {
  static std::atomic<unsigned> count = 0;
  part_ = fmt::format("{}.{}.{}.part", path_.string(), ::getpid(), count++);
  const fs::path folder = path_.has_parent_path() ? path_.parent_path() : fs::path(".");
  file_ = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  place_ = fmt::format("/proc/self/fd/{}", file_);
  // Linking the file also needs /proc.
  if (file_ >= 0 && ::access(place_.c_str(), W_OK) == 0) return;
  if (file_ >= 0) ::close(file_);
  file_ = -1;
  place_ = part_;
  is_named_ = true;
}

PendingFile::~PendingFile() {
  if (file_ >= 0) ::close(file_);
  std::error_code ignored;
  if (is_named_) fs::remove(part_, ignored);
}

bool PendingFile::commit() {
  if (!is_named_) {
    // linkat() does not replace a file, but rename() does. If the path exists, the new file
    // therefore gets a temporary name first.
    if (::linkat(AT_FDCWD, place_.c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) == 0)
      return true;
    if (errno != EEXIST) return false;
    if (::linkat(AT_FDCWD, place_.c_str(), AT_FDCWD, part_.c_str(), AT_SYMLINK_FOLLOW) != 0)
      return false;
    is_named_ = true;
  }
  if (std::rename(part_.c_str(), path_.c_str()) != 0) return false;
  is_named_ = false;
  return true;
}

}  // namespace plumbline
