// A file that appears under its name when it is complete. Readers see either the previous file or
// all of the new one. On most file systems, a process killed while it writes leaves no other file.
#pragma once

#include <filesystem>

namespace plumbline {

// A file in the folder of `path`, which must exist. If the file system supports O_TMPFILE, the file
// has no name until commit(), so the operating system removes it with the process. Otherwise (NFS,
// FUSE) it is next to the path as NAME.PID.NUMBER.part.
class PendingFile {
 public:
  explicit PendingFile(std::filesystem::path path);
  ~PendingFile();
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  // Open and write this path instead of the final one, and close it before commit(). Opening fails
  // if the folder is not writable.
  const std::filesystem::path& place() const { return place_; }

  // Gives the file its name, replacing any file of that name. Returns false on failure, with the
  // reason in errno and the previous file unchanged. Without commit() the destructor removes the
  // file.
  bool commit();

 private:
  std::filesystem::path path_, place_, part_;
  int file_ = -1;          // descriptor of a file without a name, or -1
  bool is_named_ = false;  // file is named part_
};

}  // namespace plumbline
