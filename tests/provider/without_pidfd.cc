// Runs a program with pidfd_open refused, as in some sandboxes. Usage: without_pidfd ENOSYS|EPERM
// PROGRAM ARGUMENTS…; the first argument is the error. Exit code 3 if pidfd_open cannot be refused.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <string_view>

int main(int count, char** arguments) {
  const std::string_view word = count > 2 ? arguments[1] : "";
  if (word != "ENOSYS" && word != "EPERM") {
    std::fputs("usage: without_pidfd ENOSYS|EPERM program [arguments]\n", stderr);
    return 3;
  }
  const int error = word == "ENOSYS" ? ENOSYS : EPERM;
  std::array<sock_filter, 4> filter{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    std::perror("without_pidfd: seccomp");
    return 3;
  }
  errno = 0;
  if (syscall(SYS_pidfd_open, getpid(), 0) != -1 || errno != error) {
    std::fputs("without_pidfd: pidfd_open still answers\n", stderr);
    return 3;
  }
  execvp(arguments[2], arguments + 2);
  std::perror(arguments[2]);
  return 3;
}
