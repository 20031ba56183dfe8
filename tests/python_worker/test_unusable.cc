// Providers, interpreters and workers that cannot be used: errors with place and remedy.
#include <filesystem>

#include "harness/provider/client/launch.h"
#include "tests/python_worker/python_fixture.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

using test::hello_error;
using test::provider_path;
using test::python_worker;
using test::PythonTest;
using test::Variable;
using testing::AllOf;
using testing::HasSubstr;

std::string unusable(const std::string& file) {
  return hello_error(provider_path("unusable/" + file));
}

TEST(SplitProvider, SplitsAfterSuffix) {
  using Parts = std::pair<std::string, std::string>;
  EXPECT_EQ(split_provider("a/b.py"), Parts("a/b.py", ""));
  EXPECT_EQ(split_provider("a/b.py:x=1:y.so:z"), Parts("a/b.py", "x=1:y.so:z"));
  EXPECT_EQ(split_provider("a:b/c.so:with=d.py:e"), Parts("a:b/c.so", "with=d.py:e"));
  EXPECT_EQ(split_provider("program:options"), Parts("program", "options"));
}

TEST_F(PythonTest, MissingFile) {
  const std::string error = hello_error("/nowhere/mine.py:options");
  EXPECT_THAT(error, AllOf(HasSubstr("/nowhere/mine.py: no such provider file"),
                           HasSubstr("check the path given to --provider")));
}

TEST_F(PythonTest, SyntaxErrorNamesFileAndLine) {
  EXPECT_THAT(unusable("syntax_error.py"), HasSubstr("unusable/syntax_error.py:4: "));
}

TEST_F(PythonTest, FileWithoutKernels) {
  EXPECT_THAT(unusable("no_kernel.py"),
              AllOf(HasSubstr("no_kernel.py declares no kernel"), HasSubstr("@kernel")));
}

TEST_F(PythonTest, DuplicateKernelName) {
  const std::string error = unusable("one_name_twice.py");
  EXPECT_THAT(error,
              AllOf(HasSubstr("two kernels named 'flash'"), HasSubstr("one_name_twice.py:5 and"),
                    HasSubstr("one_name_twice.py:10")));
}

TEST_F(PythonTest, InvalidWordInDeclaration) {
  EXPECT_THAT(unusable("unknown_word.py"),
              AllOf(HasSubstr("'causal' is not one of none, causal_top_left, causal_bottom_right"),
                    HasSubstr("unknown_word.py:5 in <module>")));
}

TEST_F(PythonTest, MissingLibrary) {
  EXPECT_THAT(unusable("missing_module.py"),
              AllOf(HasSubstr("No module named 'a_library_that_is_not_there'"),
                    HasSubstr("missing_module.py:2"), HasSubstr("PLUMBLINE_PYTHON")));
}

TEST_F(PythonTest, FileExitsOrDiesDuringLoading) {
  EXPECT_THAT(unusable("exits.py"), AllOf(HasSubstr("exits.py cannot be loaded: SystemExit: 7"),
                                          HasSubstr("exits.py:4")));
  EXPECT_THAT(unusable("aborts.py"), HasSubstr("crashed: SIGABRT in loading"));
}

TEST_F(PythonTest, InvalidNameOrVersion) {
  EXPECT_THAT(unusable("bad_name.py"), HasSubstr("'my kernels/1' is part of case ids"));
  EXPECT_THAT(unusable("bad_version.py"), HasSubstr("version() failed: OSError: no such library"));
}

TEST_F(PythonTest, RunReportsReason) {
  auto worker = python_worker("unusable/syntax_error.py");
  PlacedCase c(*worker, mean_problem());
  const RunReply reply = c.run("syntax_error/flash");
  EXPECT_EQ(reply.status, Status::error);
  EXPECT_THAT(reply.reason, HasSubstr("syntax_error.py:4"));
}

// ---- Interpreters and workers ----

class Scratch : public test::ScratchTest {
 protected:
  fs::path program(const std::string& name, const std::string& text) const {
    const fs::path path = write(name, text);
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  // Returns the interpreter that works here.
  static std::string interpreter() {
    auto worker = python_worker("behaved.py");
    PlacedCase c(*worker, mean_problem());
    const std::string launched = c.run("behaved/where_am_i").description.launched;
    return launched.substr(0, launched.find(" in process"));
  }
};

TEST_F(Scratch, MissingInterpreter) {
  const Variable python("PLUMBLINE_PYTHON", "/nowhere/python");
  EXPECT_THAT(hello_error(provider_path("behaved.py")),
              AllOf(HasSubstr("PLUMBLINE_PYTHON is /nowhere/python: no such program"),
                    HasSubstr("with numpy")));
}

TEST_F(Scratch, InterpreterWithoutNumpy) {
  const Variable python("PLUMBLINE_PYTHON",
                        program("bare", "#!/bin/sh\nexec '" + interpreter() + "' -S \"$@\"\n"));
  EXPECT_THAT(
      hello_error(provider_path("behaved.py")),
      AllOf(HasSubstr("has no usable numpy"), HasSubstr(" -m pip install numpy ml_dtypes")));
}

TEST_F(Scratch, InvalidInterpreter) {
  const Variable python("PLUMBLINE_PYTHON",
                        program("none", "#!/bin/sh\necho this is no Python\nexit 4\n"));
  EXPECT_THAT(hello_error(provider_path("behaved.py")),
              AllOf(HasSubstr("exit status 4"), HasSubstr("this is no Python")));
}

TEST_F(Scratch, InterpreterByNameOnPath) {
  const std::string real = interpreter();
  program("my-python", "#!/bin/sh\nexec '" + real + "' \"$@\"\n");
  const Variable path("PATH", folder_.string() + ":" + std::getenv("PATH")),
      python("PLUMBLINE_PYTHON", "my-python");
  EXPECT_EQ(hello_error(provider_path("behaved.py")), "");
}

TEST_F(Scratch, NoInterpreterNamesRemedy) {
  const Variable path("PATH", folder_), home("PLUMBLINE_HOME", folder_);
  if (fs::exists(fs::path(PLUMBLINE_SOURCE_DIRECTORY) / ".venv")) {
    EXPECT_EQ(hello_error(provider_path("behaved.py")), "") << "the source directory has one";
  } else {
    EXPECT_THAT(hello_error(provider_path("behaved.py")),
                AllOf(HasSubstr("no Python interpreter"), HasSubstr("ci/setup.sh --numpy")));
  }
}

TEST_F(Scratch, MissingOrIncompleteWorker) {
  {
    const Variable worker("PLUMBLINE_PYTHON_WORKER", "/nowhere/plumbline_worker.py");
    EXPECT_THAT(hello_error(provider_path("behaved.py")),
                HasSubstr("PLUMBLINE_PYTHON_WORKER is /nowhere/plumbline_worker.py: no such file"));
  }
  const Variable worker("PLUMBLINE_PYTHON_WORKER",
                        PLUMBLINE_SOURCE_DIRECTORY "/python/worker/plumbline_worker.py");
  EXPECT_THAT(hello_error(provider_path("behaved.py")),
              AllOf(HasSubstr("plumbline_python_support.so is not beside plumbline_worker.py"),
                    HasSubstr("build plumbline")));
}

TEST_F(Scratch, ProviderNextToWorkerFoundByName) {
  fs::copy(PLUMBLINE_PYTHON_FOLDER, folder_, fs::copy_options::recursive);
  fs::copy_file(provider_path("behaved.py"), folder_ / "only_here.py");
  const Variable worker("PLUMBLINE_PYTHON_WORKER", folder_ / "plumbline_worker.py");
  auto found = Worker::create({"", "only_here.py:scale=2"});
  ASSERT_TRUE(found) << to_string(found.error());
  const auto hello = (*found)->hello();
  ASSERT_TRUE(hello) << to_string(hello.error());
  EXPECT_EQ(hello->provider, "only_here");
}

}  // namespace
}  // namespace plumbline
