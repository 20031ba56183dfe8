// Isolates plumbline from its workers: kills processes that outlive their worker, and hides
// plumbline's memory from workers.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace plumbline {

// Starts a worker by `spawn`, which sets its process id and returns an errno. Remembers the id
// until end_orphans_of. Before the start it changes this process:
//   - it becomes the parent of processes whose own parent ended (PR_SET_CHILD_SUBREAPER),
//   - its memory and environment in /proc become unreadable for other processes of the user
//     (PR_SET_DUMPABLE), and root's workers lose CAP_SYS_PTRACE. Workers with CAP_SYS_ADMIN or
//     CAP_PERFMON can still read the environment. PLUMBLINE_ALLOW_PTRACE=1 turns this off.
// Steps that the kernel does not support or permit are skipped.
int start_isolated(const std::function<int(pid_t&)>& spawn, pid_t& worker);

// Call this after `worker` has ended and was waited for. Kills and waits for orphans of ended
// workers: children of this process that are not workers, are newer than the first worker, and are
// not in our process group.
void end_orphans_of(pid_t worker);

// Returns the names of the programs that end_orphans_of killed, in order.
std::vector<std::string> ended_orphans();

}  // namespace plumbline
