// The nightly workflow: its YAML, and its steps as far as they run without GitHub.
#include <gmock/gmock.h>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Workflow : public test::CommandTest {
 protected:
  // Runs a Python script with the workflow as `w` and the steps of its nightly job as `steps`.
  test::CommandResult python(const std::string& script) const {
    write("w.py", "import yaml\nw = yaml.safe_load(open('" +
                      (test::source_directory / ".github/workflows/nightly.yml").string() +
                      "'))\nsteps = w['jobs']['nightly']['steps']\n" + script);
    return shell("python3 w.py");
  }
  // Writes a fake gh that prints files: `listing` for the list of artifacts, `zip` for the download
  // of one.
  void write_gh() const {
    write("bin/gh",
          "#!/bin/sh\ncase \"$*\" in\n  *artifacts/*/zip*) cat \"$FAKE/zip\" ;;\n  *artifacts*) "
          "while [ \"$1\" != --jq ]; do shift; done; jq -r \"$2\" \"$FAKE/listing\" ;;\n  *) exit "
          "1 ;;\nesac\n");
    shell("chmod +x bin/gh");
  }
  test::CommandResult restore() const {
    return shell(
        "FAKE=\"$PWD\" PATH=\"$PWD/bin:$PATH\" GITHUB_REPOSITORY=o/r GITHUB_REF_NAME=main '" +
        (test::source_directory / "ci" / "restore_history.sh").string() + "' history.db");
  }
};

TEST_F(Workflow, HistoryIsRestoredBeforeNight) {
  if (shell("python3 -c 'import yaml'").code != 0) GTEST_SKIP() << "no PyYAML";
  const auto order =
      python("print([s.get('uses', s.get('run', '')).split('@')[0] for s in steps])");
  ASSERT_EQ(order.code, 0) << order.text;
  const auto at = [&](const std::string& text) { return order.text.find(text); };
  for (const char* step : {"install", "actions/checkout", "actions/cache/restore",
                           "restore_history.sh", "nightly.sh", "upload-artifact"})
    EXPECT_NE(at(step), std::string::npos) << step << " in " << order.text;
  EXPECT_LT(at("install"), at("actions/checkout"));
  EXPECT_LT(at("actions/cache/restore"), at("restore_history.sh"))
      << "the artifact counts where both are";
  EXPECT_LT(at("restore_history.sh"), at("nightly.sh"));
  EXPECT_EQ(python("print(' '.join(s['with']['path'] for s in steps if s.get('with', "
                   "{}).get('name') == 'history'))")
                .text,
            "history.db\n");
  EXPECT_EQ(python("print(w['permissions']['actions'])").text, "read\n");
}

// The command of the measuring step; nightly.sh has tests of its own.
TEST_F(Workflow, NightReceivesCommitAndFirstFlag) {
  if (shell("python3 -c 'import yaml'").code != 0) GTEST_SKIP() << "no PyYAML";
  write("ci/nightly.sh", "#!/bin/sh\necho \"$@\"\n");
  const auto step =
      python("print([s['run'] for s in steps if 'nightly.sh' in s.get('run', '')][0])");
  ASSERT_EQ(step.code, 0) << step.text;
  write("step.sh", step.text);
  EXPECT_EQ(shell("chmod +x ci/nightly.sh; GITHUB_SHA=abc FIRST_NIGHT= bash -e step.sh").text,
            "--history history.db --commit abc\n");
  EXPECT_EQ(shell("GITHUB_SHA=abc FIRST_NIGHT=--first-night bash -e step.sh").text,
            "--history history.db --commit abc --first-night\n");
}

TEST_F(Workflow, NewestBranchArtifactIsRestored) {
  if (shell("command -v jq && command -v unzip && command -v zip").code != 0)
    GTEST_SKIP() << "needs jq, zip and unzip";
  write_gh();
  write("listing", R"({"artifacts": [
    {"id": 1, "expired": false, "created_at": "2026-01-01T00:00:00Z", "workflow_run": {"head_branch": "main"}},
    {"id": 3, "expired": false, "created_at": "2026-01-03T00:00:00Z", "workflow_run": {"head_branch": "somebody/else"}},
    {"id": 4, "expired": true, "created_at": "2026-01-04T00:00:00Z", "workflow_run": {"head_branch": "main"}},
    {"id": 2, "expired": false, "created_at": "2026-01-02T00:00:00Z", "workflow_run": {"head_branch": "main"}}]})");
  shell(
      "echo the history > history.db; zip -q archive.zip history.db; mv archive.zip zip; echo of "
      "the cache > history.db");
  const auto restored = restore();
  EXPECT_EQ(restored.code, 0) << restored.text;
  EXPECT_THAT(restored.text, HasSubstr("artifact 2 restored"));
  EXPECT_EQ(read("history.db"), "the history\n");

  write("listing", R"({"artifacts": []})");
  const auto none = restore();
  EXPECT_EQ(none.code, 0) << none.text;
  EXPECT_THAT(none.text, AllOf(HasSubstr("no night of branch main"),
                               HasSubstr("the history in the cache is used")));
  EXPECT_EQ(read("history.db"), "the history\n");
}

}  // namespace
}  // namespace plumbline
