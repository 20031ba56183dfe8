// Tables of user errors. Each row is a command, its exit code, and what the message must say: the
// file or option, the cause, the remedy. No message exceeds a screen of 20 lines or prints a number
// that the user did not type. Stored files stay unchanged.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>

#include "tests/cli/bad_files.h"
#include "tests/cli/command.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

struct BadInput {
  std::string command;  // arguments of `plumbline`; empty: none
  int code;
  std::vector<std::string> says;
};

std::vector<BadInput> verbs() {
  return {
      {"", 2, {"name a command", "plumbline --help"}},
      {"foo", 2, {"there is no command foo", "plumbline --help"}},
      {"rnu s.toml", 2, {"there is no command rnu", "did you mean run?"}},
      {"--versoin", 2, {"there is no option --versoin", "did you mean --version?"}},
      {"run", 2, {"name suite files or --case ids", "plumbline run cases/smoke.toml"}},
      {"run s.toml --juint x.xml", 2, {"there is no option --juint", "did you mean --junit?"}},
      {"run s.toml --nothing-like-it",
       2,
       {"there is no option --nothing-like-it", "plumbline run --help"}},
      {"run s.toml --format yaml", 2, {"--format", "yaml", "text"}},
      {"run s.toml --junit", 2, {"--junit", "plumbline run --help"}},
      {"run s.toml --seed x", 2, {"--seed", "x", "for example --seed 20261123"}},
      {"list s.toml --seed -1", 2, {"--seed"}},
      {"run --case " + std::string(bad::case_id) + " --seed 7", 2, {"--case", "--seed"}},
      {"support", 2, {"plumbline support: name a command", "plumbline support --help"}},
      {"support sugest", 2, {"did you mean suggest?"}},
      {"run s.toml --resume --no-store", 2, {"--resume", "--no-store"}},
      {"run --case " + std::string(bad::case_id) + " --shard 1/2", 2, {"--case", "--shard"}},
      {"run s.toml --case " + std::string(bad::case_id),
       2,
       {"name suite files or --case ids, one or the other"}},
      {"run s.toml --invariances=solos --no-store",
       2,
       {"there is no invariance \"solos\"", "solo"}},
      {"list", 2, {"name suite files, --kernels or --suites"}},
      {"list s.toml --count --expected", 2, {"--expected", "--count"}},
      {"check",
       2,
       {"check: files is missing: Dumps", "plumbline check dump.safetensors", "--help"}},
      {"diff a.safetensors",
       2,
       {"b is missing: The other dump or kernel", "plumbline diff prefill.safetensors"}},
      {"diff cpu/flash cpu/naive", 2, {"two kernels and suite files"}},
      {"diff good.safetensors cpu/flash s.toml", 2, {"name two dumps"}},
      {"diff cpu/flash cpu/naive s.toml --mask none", 2, {"do not apply to suites"}},
      {"history", 2, {"case", "plumbline history --help"}},
      {"merge", 2, {"out is missing: Database to merge into", "plumbline merge --help"}},
      {"merge all.db", 2, {"shards", "plumbline merge --help"}},
      {"prune", 2, {"database", "plumbline prune --help"}},
      {"prune good.db --nights 0", 2, {"--nights"}},
      {"prune good.db --dry-run --vacuum", 2, {"--dry-run", "leave one of them out"}},
      {"query", 2, {"give SQL or the name of an example query", "--list"}},
      {"query runz --db good.db", 2, {"no example query \"runz\"", "did you mean runs?"}},
      {"reduce", 2, {"plumbline reduce --help"}},
      {"show --format pdf --db good.db", 2, {"--format", "pdf"}},
      {"completion csh", 2, {"csh", "bash"}},
      {"completion", 2, {"shell", "plumbline completion --help"}},
      {"manual", 2, {"folder", "plumbline manual --help"}},
      {"init --provider rust", 2, {"--provider", "rust", "python"}},
      {"list --suites --kernels", 2, {"--suites", "--kernels"}},
      {"run s.toml --color sometimes", 2, {"--color", "sometimes", "auto"}},
      {"run s.toml --config nowhere.toml", 2, {"nowhere.toml", "--config", "--no-config"}},
      {"run s.toml --colr never", 2, {"there is no option --colr", "did you mean --color?"}},
      {"doctor now", 2, {"plumbline doctor does not take the word \"now\""}},
      {"compare a b c --db good.db", 2, {"does not take the word \"c\""}},
      {"baseline", 2, {"plumbline baseline: name a command"}},
      {"baseline acept --why x", 2, {"there is no command acept", "did you mean accept?"}},
      {"baseline accept --db good.db", 2, {"--why"}},
      {"audit --seeds 5", 2, {"--seeds", "--calibrate"}},
      {"resources --run latest", 2, {"--run needs a database", "--db"}},
      {"resources --accept", 2, {"--accept needs --reason"}},
      {"resources --reports nowhere", 2, {"nowhere", "is not a folder", "--reports"}},
  };
}

std::vector<BadInput> numbers() {
  return {
      {"run s.toml --timeout 0", 2, {"--timeout", "0 is not a number of seconds above 0"}},
      {"run s.toml --timeout -5", 2, {"--timeout", "-5 is not a number of seconds above 0"}},
      {"run s.toml --timeout soon", 2, {"--timeout", "soon"}},
      {"run s.toml --timeout nan", 2, {"--timeout", "nan"}},
      {"run s.toml --timeout 1e400", 2, {"--timeout", "1e400"}},
      {"diff cpu/flash cpu/naive s.toml --timeout 0", 2, {"--timeout", "above 0"}},
      {"reduce " + std::string(bad::case_id) + " --timeout 0", 2, {"--timeout", "above 0"}},
      {"run s.toml --jobs 0", 2, {"--jobs", "0 is not a number from 1 to 256"}},
      {"run s.toml --jobs many", 2, {"--jobs", "many"}},
      {"run s.toml --jobs 9999999999999999999999", 2, {"--jobs", "from 1 to 256"}},
      {"run s.toml --repetitions 2", 2, {"--repetitions", "2 is not a number from 3 to 1000"}},
      {"run s.toml --memory-limit -3", 2, {"--memory-limit", "-3"}},
      {"run s.toml --reference-cost 0",
       2,
       {"--reference-cost", "0 is not a number from 1 to 1e+18"}},
      {"run s.toml --cause-seconds -1",
       2,
       {"--cause-seconds", "-1 is not a number of seconds above 0"}},
      {"run s.toml --cause-seconds soon", 2, {"--cause-seconds", "soon"}},
      {"run s.toml --row-seed -1", 2, {"--row-seed", "-1 is not a number from 0 to 1e+15"}},
      {"history 'cpu/*' --db good.db --limit -3",
       2,
       {"--limit", "-3 is not a number of rows of 1 or more"}},
      {"history 'cpu/*' --db good.db --limit 0", 2, {"--limit", "0 is not"}},
      {"history 'cpu/*' --db good.db --limit 2.5", 2, {"--limit", "2.5"}},
      {"run s.toml --shard 3/2", 2, {"--shard \"3/2\" is not I/N", "--shard 1/4"}},
      {"run s.toml --shard 0/2", 2, {"--shard \"0/2\""}},
      {"run s.toml --shard a/b", 2, {"--shard \"a/b\""}},
      {"run s.toml --shard 1/2/3", 2, {"--shard \"1/2/3\""}},
      {"run s.toml --tier nightl", 2, {"--tier \"nightl\" is not a tier", "did you mean nightly?"}},
      {"audit --calibrate --seeds 9..1", 2, {"9..1"}},
      {"audit --calibrate --seeds some", 2, {"some"}},
  };
}

std::vector<BadInput> suites() {
  return {
      {"run missing.toml", 2, {"missing.toml: no such suite file", "cases/smoke.toml"}},
      {"run cases/smok.toml",
       2,
       {"cases/smok.toml: no such suite file", "did you mean cases/smoke.toml?"}},
      {"run .", 2, {".: is a folder", "*.toml"}},
      {"list missing.toml", 2, {"missing.toml: no such suite file"}},
      {"run empty.toml", 2, {"empty.toml", "schema is missing", "add schema = 1"}},
      {"run no_toml.toml", 2, {"no_toml.toml:1"}},
      {"run binary.toml", 2, {"binary.toml"}},
      {"run schema_99.toml", 2, {"schema_99.toml:1", "schema 99 is not known", "schema = 1"}},
      {"run unknown_key.toml", 2, {"unknown_key.toml:7", "dtyp", "did you mean dtype?"}},
      {"run unknown_group_key.toml",
       2,
       {"unknown_group_key.toml:6", "kernel", "did you mean kernels?"}},
      {"run bad_value.toml", 2, {"bad_value.toml:7", "fp17"}},
      {"run huge_number.toml", 2, {"huge_number.toml:7"}},
      {"run negative.toml", 2, {"negative.toml:7", "seq"}},
      {"run heads.toml", 2, {"heads.toml", "heads"}},
      {"run no_kernels.toml", 2, {"no_kernels.toml:3", "kernels is missing", "kernels = ["}},
      {"run no_reason.toml", 2, {"no_reason.toml:3", "reason is missing"}},
      {"run twice.toml", 2, {"twice.toml:8", "the name \"g\" is taken"}},
      {"run kernel_line.toml",
       2,
       {"kernel_line.toml:8", "no kernel matches \"cpu/flsh\"", "did you mean cpu/flash?"}},
      {"run diff_kernel.toml",
       2,
       {"diff_kernel.toml:8", "no kernel matches \"cpu/splitkv\"", "did you mean cpu/split_kv?"}},
      {"run no_glob.toml", 2, {"no_glob.toml:6", "\"flash\" is not a kernel", "provider/name"}},
      {"run include_missing.toml", 2, {"include_missing.toml:3", "nowhere.toml"}},
      {"run include_itself.toml", 2, {"include_itself.toml:3", "itself"}},
      {"run arch.toml", 2, {"arch.toml:7", "sm_42", "sm_80"}},
      {"run arch_and_devices.toml",
       2,
       {"arch_and_devices.toml:7", "arch and devices are both given"}},
      {"run device.toml", 2, {"device.toml:7", "\"gpu\" is not a device", "cuda:N"}},
      {"run emulated_device.toml", 2, {"emulated_device.toml:7", "emulated:sm_42", "sm_80"}},
      {"run tensor_cores.toml", 2, {"tensor_cores.toml:7", "maybe", "on, off, none"}},
      {"run timed.toml", 2, {"timed.toml:7", "timed is not true or false", "timed = true"}},
      {"run tier.toml", 2, {"tier.toml:7", "weekly", "nightly"}},
      {"run expect.toml", 2, {"expect.toml:6", "equal", "bitwise"}},
      {"run same_sides.toml", 2, {"same_sides.toml:3", "are the same case"}},
      {"run nothing.toml", 2, {"nothing.toml:3", "expands to nothing", "exclude"}},
      {"run too_many.toml", 2, {"too_many.toml:3", "more than 100000 combinations", "pairwise"}},
      {"run no_issue.toml", 2, {"no_issue.toml:8", "issue"}},
      {"run bad_day.toml", 2, {"bad_day.toml:11", "expires", "next week"}},
      {"run no_inputs.toml --no-store", 2, {"no_inputs.toml", "nowhere"}},
      {"run s.toml --match nothing", 4, {"the filters leave no case", "plumbline list"}},
      {"run cases/pr.toml --tier smoke", 4, {"--tier smoke leaves no case", "plumbline list"}},
      {"diff cpu/flash cpu/naive s.toml --case nothing", 4, {"the filters leave no problem"}},
      {"audit s.toml --match nothing", 4, {"the filters leave no case"}},
  };
}

std::vector<BadInput> cases_and_kernels() {
  return {
      {"run --case nonsense", 2, {"nonsense"}},
      {"run --case ''", 2, {"case id"}},
      {"run --case cpu/flash/fp17/b1-h1-s16-d64", 2, {"fp17"}},
      {"run --case cpu/flash/bf16/b1-h0-s16-d64", 2, {"heads"}},
      {"run --case cpu/flash/bf16/b1-h1-s16-d64/mask=casual_top_left", 2, {"casual_top_left"}},
      {"run --case cpu/flash/bf16/b1-h1-s16-d64/msk=none", 2, {"msk", "mask"}},
      {"run --case cpu/flsh/bf16/b1-h1-s16-d64",
       2,
       {"there is no kernel cpu/flsh", "did you mean cpu/flash?"}},
      {"run --case mine/flash/bf16/b1-h1-s16-d64",
       2,
       {"no provider called \"mine\" is loaded", "--provider"}},
      {"run --case emulated/naive/bf16/b1-h1-s16-d64/device=emulated:sm_42",
       2,
       {"emulated:sm_42", "emulated:sm_80"}},
      {"run --case emulated/naive/bf16/b1-h1-s16-d64/device=cuda:0",
       2,
       {"cuda:0", "emulated:sm_90"}},
      {"reduce nonsense", 2, {"nonsense"}},
      {"reduce cpu/flsh/bf16/b1-h1-s16-d64", 2, {"did you mean cpu/flash?"}},
      {"reduce " + std::string(bad::case_id),
       4,
       {"does not fail: there is nothing to reduce", "plumbline run"}},
      {"run s.toml --kernel cpu/flsh",
       2,
       {"no kernel matches \"cpu/flsh\"", "did you mean cpu/flash?"}},
      {"run s.toml --kernel 'mine/*'",
       2,
       {"no kernel matches \"mine/*\"", "no provider called \"mine\" is loaded", "cpu/*"}},
      {"run s.toml --kernel 'cuda/*'", 2, {"cuda/*", "--device emulated:sm_90"}},
      {"run cases/smoke.toml --provider mutants --kernel 'mutants/drop*'",
       2,
       {"mutants/drop*", "mutants has", "plumbline list --kernels"}},
      {"run cases/nightly.toml --provider mutants --kernel 'mutants/drop*'",
       2,
       {"mutants/drop*", "plumbline list --kernels"}},
      {"list s.toml --kernel cpu/flsh", 2, {"did you mean cpu/flash?"}},
      {"diff cpu/flash cpu/nave s.toml",
       2,
       {"there is no kernel cpu/nave", "did you mean cpu/naive?"}},
      {"run cases/smoke.toml --device emulated:sm_42",
       2,
       {"--device \"emulated:sm_42\"", "no such device here", "emulated:sm_80"}},
      {"run cases/pr.toml --device emulated:sm_98", 2, {"did you mean emulated:sm_"}},
      {"run cases/smoke.toml --device cuda:0",
       2,
       {"--device \"cuda:0\"", "emulated:sm_90", "plumbline doctor"}},
      {"run cases/pr.toml --device cuda:x", 2, {"--device \"cuda:x\""}},
      {"run cases/pr.toml --device gpu", 2, {"--device \"gpu\"", "emulated:sm_80"}},
      {"run cases/pr.toml --device cpu", 2, {"--device \"cpu\" is not a GPU"}},
      {"run s.toml --device emulated:sm_80",
       2,
       {"--device emulated:sm_80 changes nothing", "cases/pr.toml"}},
      {"resources --arch sm_42 --reports reports", 4, {"no resource reports", "--reports"}},
  };
}

std::vector<BadInput> providers() {
  return {
      {"run s.toml --provider ./none.so",
       3,
       {"./none.so: no such provider file", "check the path given to --provider", "cpu"}},
      {"run s.toml --provider none.py", 3, {"none.py: no such provider file", "torch"}},
      {"run s.toml --provider cup", 3, {"cup: no such provider file", "did you mean cpu?"}},
      {"run s.toml --provider ./plumbline_cpu.so:drop_last_key=1",
       3,
       {"no such provider file", "did you mean cpu?"}},
      {"run s.toml --provider folder", 3, {"folder: is a folder and no provider file"}},
      {"run s.toml --provider text.so", 3, {"text.so"}},
      {"run s.toml --no-store --provider cpu:drop_last=1",
       2,
       {"cpu: unknown option 'drop_last'", "drop_last_key", "--provider cpu:drop_last=1"}},
      {"run s.toml --no-store --provider cpu:p_dtype=fp17",
       2,
       {"p_dtype=fp17", "expected fp32, fp16"}},
      {"list s.toml --provider cpu:bogus=1", 2, {"cpu: unknown option 'bogus'"}},
      {"list --kernels --provider mutants:bogus=1",
       2,
       {"mutants: unknown option 'bogus' of the mutants (known: mode, splits)"}},
      {"list --kernels --provider mma_mutants:bogus=1", 2, {"mma_mutants", "it takes none"}},
      {"list --kernels --provider merge_mutants:bogus=1", 2, {"merge_mutants", "no options"}},
      {"list --kernels --provider emulated:bogus=1", 2, {"emulated: unknown option 'bogus'"}},
      {"reduce " + std::string(bad::case_id) + " --provider cpu:bogus=1", 2, {"'bogus'"}},
      {"run s.toml --provider syntax.py", 3, {"syntax.py:3"}},
      {"run s.toml --provider no_kernel.py", 3, {"no_kernel.py declares no kernel", "@kernel"}},
      {"run s.toml --provider no_module.py", 3, {"a_module_that_is_not_there"}},
      {"run s.toml --provider leaves.py", 3, {"leaves.py cannot be loaded", "SystemExit"}},
      {"run s.toml --provider no_kernel.py --provider text.so", 3, {"no_kernel.py", "text.so"}},
      {"run s.toml --no-default-provider", 2, {"cpu/flash"}},
      {"run s.toml --baselines nowhere", 2, {"nowhere", "contracts.toml"}},
      {"run s.toml --baselines broken", 2, {"contracts.toml:1"}},
      {"run s.toml --reference ./none.so", 2, {"./none.so"}},
      {"list --kernels --provider ./none.so", 3, {"./none.so: no such provider file"}},
      {"audit --catalogue none.toml", 2, {"none.toml"}},
  };
}

std::vector<BadInput> databases() {
  return {
      {"run s.toml --db text.db", 3, {"text.db"}},
      {"run s.toml --db folder", 3, {"folder"}},
      {"run s.toml --db newer.db", 3, {"newer.db", "upgrade plumbline"}},
      {"run s.toml --db foreign.db", 3, {"foreign.db"}},
      {"run s.toml --db nowhere/deep/runs.db --resume", 3, {"there is no run to resume"}},
      {"run s.toml --db good.db --resume",
       3,
       {"there is no unfinished run to resume", "leave --resume out"}},
      {"show --db missing.db", 3, {"missing.db"}},
      {"show --db text.db", 3, {"text.db"}},
      {"show zzzz --db good.db", 2, {"zzzz"}},
      {"show latest~9 --db good.db", 2, {"latest~9"}},
      {"show latest 'no/such*' --db good.db", 2, {"no case of run", "plumbline show"}},
      {"judge --db typo.db", 3, {"typo.db"}},
      {"judge zzzz --db good.db", 2, {"zzzz"}},
      {"judge latest --db text.db", 3, {"text.db"}},
      {"compare --db good.db", 2, {"latest~1"}},
      {"compare --db missing.db", 3, {"missing.db"}},
      {"history 'no/such*' --db good.db", 4, {"no stored case matches \"no/such*\"", "glob"}},
      {"history 'cpu/*' --db missing.db", 3, {"missing.db"}},
      {"matrix --db good.db", 4, {"ran on a GPU or an emulated one", "--device emulated:sm_90"}},
      {"matrix latest~3 --db good.db", 2, {"latest~3"}},
      {"merge all.db missing.db", 3, {"missing.db"}},
      {"prune missing.db", 3, {"missing.db"}},
      {"prune text.db", 3, {"text.db"}},
      {"merge all.db text.db", 3, {"text.db"}},
      {"merge text.db good.db", 3, {"text.db"}},
      {"query 'SELEC 1' --db good.db", 2, {"SELEC"}},
      {"query 'SELECT * FROM nope' --db good.db", 2, {"nope"}},
      {"query 'DELETE FROM run' --db good.db", 2, {"the query would write", "only SELECT"}},
      {"query 'SELECT 1; SELECT 2' --db good.db", 2, {"one statement"}},
      {"query 'SELECT 1' --db missing.db", 3, {"missing.db"}},
      {"baseline accept --why '' --db good.db", 2, {"--why"}},
      {"baseline accept zzzz --why because --who me --db good.db", 2, {"zzzz"}},
      {"baseline accept --why because --who '' --db good.db", 2, {"--who"}},
      {"baseline accept --cases 'no/such*' --why because --who me --db good.db", 2, {"no/such*"}},
      {"baseline accept --why because --who me --db missing.db", 3, {"missing.db"}},
      {"baseline list --db missing.db", 3, {"missing.db"}},
      {"support suggest --db missing.db", 3, {"missing.db"}},
      {"support suggest zzzz --db good.db", 2, {"zzzz"}},
      {"support suggest --kernel 'no/*' --db good.db",
       2,
       {"--kernel \"no/*\"", "has no such kernel", "plumbline show"}},
  };
}

std::vector<BadInput> reports() {
  return {
      {"run s.toml --junit folder --db new.db",
       2,
       {"folder: --junit needs a file", "name a file in it"}},
      {"run s.toml --markdown folder --db new.db", 2, {"folder: --markdown needs a file"}},
      {"run s.toml --save-failures report.xml --db new.db",
       2,
       {"report.xml: --save-failures needs a folder", "name a folder"}},
      {"run s.toml --reference-cache report.xml --db new.db",
       2,
       {"report.xml: --reference-cache needs a folder"}},
      {"run s.toml --junit report.xml/deeper.xml --db new.db",
       2,
       {"--junit", "report.xml is a file, not a folder"}},
      {"run s.toml --junit folder --markdown folder --db new.db", 2, {"--junit", "--markdown"}},
      {"run s.toml --junit report.xml --kernel cpu/flsh", 2, {"did you mean cpu/flash?"}},
      {"run unknown_key.toml --markdown report.xml --db good.db", 2, {"did you mean dtype?"}},
  };
}

std::vector<BadInput> dumps() {
  return {
      {"check missing.safetensors", 2, {"missing.safetensors"}},
      {"check folder", 2, {"folder"}},
      {"check no_toml.toml", 2, {"no_toml.toml"}},
      {"check truncated.safetensors", 2, {"truncated.safetensors"}},
      {"check huge_header.safetensors", 2, {"huge_header.safetensors"}},
      {"check no_q.safetensors", 2, {"no_q.safetensors", "q"}},
      {"check no_out.safetensors", 2, {"no_out.safetensors", "out"}},
      {"check integers.safetensors", 2, {"integers.safetensors", "tensor q has dtype I32"}},
      {"check odd_heads.safetensors", 2, {"odd_heads.safetensors"}},
      {"check other_dim.safetensors", 2, {"other_dim.safetensors"}},
      {"check bad_layout.safetensors",
       2,
       {"attribute layout", "\"bhsdd\" is not known", "padded_bhsd"}},
      {"check misspelt.safetensors", 2, {"attribute casual", "did you mean causal?"}},
      {"check mask_unknown.safetensors", 2, {"attribute mask", "triangular", "causal_top_left"}},
      {"check is_causal.safetensors", 2, {"attribute is_causal", "perhaps"}},
      {"check good.safetensors --layout bshdd", 2, {"layout", "padded_bshd"}},
      {"check good.safetensors --mask casual_top_left", 2, {"did you mean causal_top_left?"}},
      {"check good.safetensors --causal true", 2, {"true", "--causal takes no value"}},
      {"check good.safetensors --mask none --causal", 2, {"causal", "contradicts mask = none"}},
      {"check good.safetensors --scale -1", 2, {"scale", "-1"}},
      {"check good.safetensors --window a,b", 2, {"window"}},
      {"check good.safetensors --lse-base 10", 2, {"lse_base", "10"}},
      {"check good.safetensors --page-size 0", 2, {"page_size"}},
      {"check good.safetensors --dtype fp17", 2, {"dtype", "fp17", "fp16"}},
      {"check good.safetensors --softcap -1", 2, {"softcap", "-1"}},
      {"check good.safetensors --spec FlashAttention-22",
       2,
       {"FlashAttention-22", "FlashAttention-2"}},
      {"check good.safetensors --format xml", 2, {"--format", "xml"}},
      {"diff good.safetensors missing.safetensors", 2, {"missing.safetensors"}},
      {"diff good.safetensors good.safetensors s.toml", 2, {"name two dumps"}},
  };
}

// Returns the lines that a text takes on a terminal of 80 columns.
std::size_t screen_lines(const std::string& text) {
  std::size_t lines = 0, column = 0;
  for (const char c : text) {
    if (c == '\n') {
      lines += 1 + (column > 0 ? (column - 1) / 80 : 0);
      column = 0;
    } else if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) {
      ++column;
    }
  }
  return lines + (column > 0 ? 1 : 0);
}

std::size_t longest_run_of_digits(const std::string& text) {
  std::size_t longest = 0, run = 0;
  for (const char c : text) {
    run = c >= '0' && c <= '9' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

class BadInputs : public test::CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    bad::write_files(directory_);
    const auto run = plumbline("run s.toml --db good.db --junit report.xml -q");
    ASSERT_EQ(run.code, 0) << run.text;
    // Databases of a later plumbline and of another program: PRAGMA user_version is at byte 60 of
    // the file, application_id at byte 68.
    write_changed("newer.db", 63, '\x7f');
    write_changed("foreign.db", 69, '\x01');
  }

  void write_changed(const std::string& name, std::size_t at, char byte) const {
    std::string bytes = read("good.db");
    bytes.at(at) = byte;
    bad::write_file(directory_ / name, bytes);
  }

  void try_all(const std::vector<BadInput>& rows) {
    for (const BadInput& row : rows) {
      SCOPED_TRACE("plumbline " + row.command);
      const std::string database = read("good.db"), report = read("report.xml"),
                        text = read("text.db");
      const auto result = shell("env -u USER '" + program().string() + "' " + row.command);
      EXPECT_EQ(result.code, row.code) << result.text;
      for (const std::string& words : row.says) EXPECT_THAT(result.text, HasSubstr(words));
      EXPECT_LE(screen_lines(result.text), 20U) << result.text;
      EXPECT_LE(longest_run_of_digits(result.text), 26U) << result.text;
      EXPECT_EQ(read("good.db") == database, true) << "the database was changed";
      EXPECT_EQ(read("report.xml") == report, true) << "the report was changed";
      EXPECT_EQ(read("text.db") == text, true) << "a file that is no database was changed";
      for (const char* file : {"typo.db", "missing.db", "new.db"}) {
        EXPECT_FALSE(std::filesystem::exists(directory_ / file)) << file << " was made";
      }
    }
  }
};

TEST_F(BadInputs, Verbs) { try_all(verbs()); }
TEST_F(BadInputs, Numbers) { try_all(numbers()); }
TEST_F(BadInputs, Suites) { try_all(suites()); }
TEST_F(BadInputs, CasesKernelsAndDevices) { try_all(cases_and_kernels()); }
TEST_F(BadInputs, Providers) { try_all(providers()); }
TEST_F(BadInputs, Databases) { try_all(databases()); }
TEST_F(BadInputs, Reports) { try_all(reports()); }
TEST_F(BadInputs, Dumps) { try_all(dumps()); }

TEST(BadInputTable, HasMinimumRowCount) {
  std::size_t rows = 0;
  for (const auto& part : {verbs(), numbers(), suites(), cases_and_kernels(), providers(),
                           databases(), reports(), dumps()})
    rows += part.size();
  EXPECT_GE(rows, 120U);
}

}  // namespace
}  // namespace plumbline
