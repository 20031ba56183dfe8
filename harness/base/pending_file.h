// A file that appears under its name when it is whole. Whoever reads the name sees what was there
// before or all of the new file, and a process that is killed while it writes leaves nothing beside
// it.
#pragma once

#include <filesystem>

namespace plumbline {

// In the folder of `path`, which must exist. Where the file system has files without a name
// (O_TMPFILE) it has none until commit(), so that the kernel removes it with the process. Elsewhere
// (NFS, FUSE) it is beside the path as NAME.PID.NUMBER.part.
class PendingFile {
 public:
  explicit PendingFile(std::filesystem::path path);
  ~PendingFile();
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  // Open and write this in place of the path, and close it before commit(). Opening it fails if
  // the folder cannot be written to.
  const std::filesystem::path& place() const { return place_; }

  // Gives the file its name; a file of that name is replaced. False where that fails: what was
  // there is as it was, with errno of the reason. Without it the destructor removes the file.
  bool commit();

 private:
  std::filesystem::path path_, place_, part_;
  int file_ = -1;          // without a name
  bool is_named_ = false;  // as part_
};

}  // namespace plumbline
