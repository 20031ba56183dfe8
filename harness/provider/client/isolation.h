// What keeps workers apart from plumbline: processes that outlive their worker are ended, and
// plumbline's memory cannot be read by a worker.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace plumbline {

// Starts a worker by `spawn`, which sets its process id and returns an errno, and remembers the id
// until end_orphans_of. Before that, in this process:
//   - it becomes the parent of processes whose own parent ended (PR_SET_CHILD_SUBREAPER),
//   - its memory and environment in /proc become unreadable for other processes of the user
//     (PR_SET_DUMPABLE), and root's workers lose CAP_SYS_PTRACE. With CAP_SYS_ADMIN or CAP_PERFMON
//     they can still read the environment. With PLUMBLINE_ALLOW_PTRACE=1 both stay as they are.
// What the kernel does not know or allow is left out.
int start_isolated(const std::function<int(pid_t&)>& spawn, pid_t& worker);

// Call it after `worker` has ended and was waited for. Kills and waits for every child of this
// process that is no worker, came after the first one and is not in our process group: what workers
// that ended left behind.
void end_orphans_of(pid_t worker);

// The names of the programs that end_orphans_of killed, in this order.
std::vector<std::string> ended_orphans();

}  // namespace plumbline
