/* Runs a command and appends its processor seconds to a file, as a line
 *   KIND<tab>GROUP<tab>SECONDS<tab>NAME
 * ci/cmake/Seconds.cmake puts it in front of build steps and tests; ci/seconds.py reads the file.
 *   measure_seconds FILE build OUTPUT -- COMMAND...
 *   measure_seconds FILE test NAME -- COMMAND...
 *   measure_seconds FILE gtest -- PROGRAM --gtest_filter=NAME...
 * SECONDS cover the command and every process that it waited for. GROUP is the process group. Ninja
 * makes one for each run of a step, so the lines of one GROUP belong to one run. NAME of a build
 * step is the absolute path of its output. Ends with the command's exit code or signal. A command
 * without a name is not measured: a custom target that makes no file, or a GoogleTest program that
 * lists its tests. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t child;

static void pass_on(int number) {
  if (child > 0) kill((pid_t)child, number);
}

static void append(const char* file, const char* kind, const char* name, double seconds) {
  char folder[2048] = "", line[8192];
  const int is_relative = strcmp(kind, "build") == 0 && name[0] != '/';
  if (is_relative && getcwd(folder, sizeof folder) == NULL) folder[0] = '\0';
  const int length = snprintf(line, sizeof line, "%s\t%ld\t%.3f\t%s%s%s\n", kind,
                              (long)getpgrp(), seconds, folder, is_relative ? "/" : "", name);
  const int log = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (log < 0 || length < 0 || length >= (int)sizeof line ||
      write(log, line, (size_t)length) != length)
    fprintf(stderr, "measure_seconds: %s: cannot be written: %s\n", file, strerror(errno));
  if (log >= 0) close(log);
}

int main(int argc, char** argv) {
  const char* name = NULL;
  char** command = NULL;
  if (argc > 4 && strcmp(argv[2], "gtest") == 0 && strcmp(argv[3], "--") == 0) {
    command = argv + 4;
    for (char** word = command; *word != NULL; ++word) {
      if (strncmp(*word, "--gtest_filter=", 15) == 0) name = *word + 15;
    }
  } else if (argc > 5 && strcmp(argv[4], "--") == 0) {
    name = argv[3];
    command = argv + 5;
  }
  if (command == NULL) {
    fprintf(stderr, "usage: measure_seconds FILE build|test NAME -- COMMAND...\n"
                    "       measure_seconds FILE gtest -- PROGRAM [--gtest_filter=NAME]...\n");
    return 2;
  }
  if (name == NULL || name[0] == '\0') {
    execvp(command[0], command);
    fprintf(stderr, "measure_seconds: %s: %s\n", command[0], strerror(errno));
    return 127;
  }

  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    perror("measure_seconds: fork");
    return 126;
  }
  if (pid == 0) {
    /* If CTest kills the launcher after a timeout, the command ends, too. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(126);
    execvp(command[0], command);
    fprintf(stderr, "measure_seconds: %s: %s\n", command[0], strerror(errno));
    _exit(127);
  }
  child = pid;
  signal(SIGTERM, pass_on);
  signal(SIGHUP, pass_on);
  signal(SIGINT, SIG_IGN); /* a terminal also sends it to the command */
  int status = 0;
  struct rusage used;
  while (wait4(pid, &status, 0, &used) < 0 && errno == EINTR) {
  }
  append(argv[1], strcmp(argv[2], "gtest") == 0 ? "test" : argv[2], name,
         (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
             (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
  if (WIFSIGNALED(status)) {
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
